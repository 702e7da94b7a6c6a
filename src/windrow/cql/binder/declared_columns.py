"""Columns that a declaration has just named, for its other clauses."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from windrow.catalog import ColumnDefinition
from windrow.cql.syntax import span_of
from windrow.errors import CqlNameError, CqlTypeError, nearest
from windrow.types import Type


def column_of(name: exp.Identifier, columns: Sequence[ColumnDefinition], wanted: Type | None) -> str:
    """The column of that name, of the wanted type."""
    found = next((column for column in columns if column.name.lower() == name.name.lower()), None)
    if found is None:
        hint = nearest(name.name, [column.name for column in columns], "columns")
        raise CqlNameError(f"there is no column {name.name}", span_of(name), hint)
    if wanted is not None and found.type != wanted:
        raise CqlTypeError(
            f"{found.name} is {found.type}, it should be {wanted}", span_of(name), f"declare it {wanted}"
        )
    return found.name
