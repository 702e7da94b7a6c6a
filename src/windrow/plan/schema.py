"""Schemas: the named, typed columns of an edge, each name once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from windrow.errors import PlanError
from windrow.plan.expressions import ColumnReference
from windrow.types import Type


@dataclass(frozen=True)
class Field:
    name: str
    type: Type


@dataclass(frozen=True)
class Schema:
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        if len(self._by_name) != len(self.fields):
            names = [field.name for field in self.fields]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise PlanError(f"columns with the same name: {', '.join(twice)}")

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {field.name: field for field in self.fields}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(field.type for field in self.fields)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def column(self, name: str) -> ColumnReference:
        return ColumnReference(name, self._by_name[name].type)

    @property
    def columns(self) -> tuple[ColumnReference, ...]:
        return tuple(ColumnReference(field.name, field.type) for field in self.fields)

    def __add__(self, other: Schema) -> Schema:
        return Schema(self.fields + other.fields)


def unqualified(name: str) -> str:
    """`price` of `s.price`."""
    return name.rpartition(".")[2]
