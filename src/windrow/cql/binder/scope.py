"""Scopes: which columns a name can mean at one place of a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.errors import CqlMeaningError, CqlNameError, Span, nearest
from windrow.plan.expressions import ColumnReference, Expression, columns_of
from windrow.plan.nodes import Node
from windrow.plan.schema import unqualified

if TYPE_CHECKING:
    from windrow.cql.binder.marks import Marks


@dataclass(frozen=True)
class RelationScope:
    """A relation in FROM: the name it is called by, and its columns by their own names in lower case."""

    name: str
    columns: dict[str, ColumnReference]

    @staticmethod
    def of(name: str, node: Node) -> RelationScope:
        return RelationScope(name, {unqualified(column.name).lower(): column for column in node.schema.columns})


@dataclass(frozen=True)
class ScopeColumn:
    """What a name without a relation stands for: a column, or for USING in a FULL JOIN that of either side."""

    name: str
    expression: Expression


@dataclass
class Scope:
    """The relations of one FROM; a sub-query in EXISTS or IN also sees those of the query around it.

    `columns` are those of `*`, in order, and what names without a relation mean: USING makes one of two.
    """

    relations: list[RelationScope] = field(default_factory=list)
    outer: Scope | None = None
    columns: list[ScopeColumn] = field(default_factory=list)
    outer_columns: set[str] = field(default_factory=set)  # what was resolved outside
    marks: Marks | None = None  # where rows can be joined with sub-queries

    @staticmethod
    def over(relation: RelationScope) -> Scope:
        scope = Scope()
        scope.add(relation, None)
        return scope

    def add(self, relation: RelationScope, span: Span | None) -> None:
        if any(known.name.lower() == relation.name.lower() for known in self.relations):
            hint = f"give one of them another alias, such as AS {relation.name}_2"
            raise CqlNameError(f"two relations are called {relation.name}", span, hint)
        self.relations.append(relation)
        self.columns.extend(_unmerged(relation))

    def resolve(self, name: str, qualifier: str | None, span: Span | None) -> Expression:
        own = self._find(name, qualifier, span)
        if own is not None:
            return own
        if self.outer is not None:
            outer = self.outer._find(name, qualifier, span)
            if outer is not None:
                self.outer_columns |= columns_of(outer)
                return outer
            if self.outer.outer is not None and self.outer.outer._find(name, qualifier, span) is not None:
                hint = "use it in the query between them, or join there"
                raise CqlMeaningError(f"{name} belongs to a query two levels up", span, hint)
        raise self._unknown(name, qualifier, span)

    def _find(self, name: str, qualifier: str | None, span: Span | None) -> Expression | None:
        if qualifier is not None:
            relation = next((known for known in self.relations if known.name.lower() == qualifier.lower()), None)
            return None if relation is None else relation.columns.get(name.lower())
        meanings = [column.expression for column in self.columns if column.name.lower() == name.lower()]
        if len(meanings) > 1:
            holders = [relation for relation in self.relations if name.lower() in relation.columns]
            choices = " or ".join(f"{holder.name}.{name}" for holder in holders)
            raise CqlNameError(f"{name} is ambiguous", span, f"write {choices}")
        return meanings[0] if meanings else None

    def has_relation(self, name: str) -> bool:
        return any(relation.name.lower() == name.lower() for relation in self._visible())

    def has_column(self, name: str) -> bool:
        return name.lower() in (known.lower() for known in self._column_names())

    def spelling(self, name: str) -> str:
        """A column's name as it was declared."""
        return next(column.name for column in self.columns if column.name.lower() == name.lower())

    def _unknown(self, name: str, qualifier: str | None, span: Span | None) -> CqlNameError:
        if qualifier is None:
            return CqlNameError(f"there is no column {name}", span, nearest(name, self._column_names(), "columns"))
        relation = next((r for r in self._visible() if r.name.lower() == qualifier.lower()), None)
        if relation is None:
            names = [known.name for known in self._visible()]
            return CqlNameError(
                f"there is no relation {qualifier} in FROM", span, nearest(qualifier, names, "relations")
            )
        own = [unqualified(column.name) for column in relation.columns.values()]
        return CqlNameError(f"{qualifier} has no column {name}", span, nearest(name, own, "columns"))

    def _visible(self) -> Iterator[RelationScope]:
        yield from self.relations
        if self.outer is not None:
            yield from self.outer.relations

    def _column_names(self) -> list[str]:
        return [unqualified(column.name) for relation in self._visible() for column in relation.columns.values()]

    def star(self, qualifier: str | None, span: Span | None) -> list[ScopeColumn]:
        """The columns of `*` or `s.*`."""
        if qualifier is None:
            return self.columns
        for relation in self.relations:
            if relation.name.lower() == qualifier.lower():
                return _unmerged(relation)
        names = [known.name for known in self.relations]
        raise CqlNameError(f"there is no relation {qualifier} in FROM", span, nearest(qualifier, names, "relations"))


@dataclass(frozen=True)
class BoundSource:
    """FROM and WHERE of a block; `correlated` are the conditions that use columns of the query around it."""

    plan: Node
    scope: Scope
    correlated: tuple[Expression, ...]


def _unmerged(relation: RelationScope) -> list[ScopeColumn]:
    return [ScopeColumn(unqualified(column.name), column) for column in relation.columns.values()]
