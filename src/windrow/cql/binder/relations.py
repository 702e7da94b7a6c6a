"""Binding FROM: relations with their windows, joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from windrow.catalog import Entry, QueryEntry, StreamEntry, TableEntry, fields_of
from windrow.cql.binder.expressions import ExpressionBinder
from windrow.cql.binder.scope import RelationScope, Scope, ScopeColumn
from windrow.cql.binder.windows import bind_window
from windrow.cql.syntax import JoinSyntax, Relation, span_of
from windrow.errors import CqlMeaningError, CqlNameError, CqlTypeError, nearest
from windrow.plan.expressions import Expression, columns_of
from windrow.plan.functions import SignatureError, call, conjunction
from windrow.plan.nodes import Alias, Join, JoinKind, Node, Stream, Table, Windowed, aliased

if TYPE_CHECKING:
    from windrow.cql.binder.queries import QueryBinder


class FromBinder:
    """Binds one FROM; `taken` are aliases of the query around it, which the plan must not use twice."""

    def __init__(self, queries: QueryBinder, outer: Scope | None, internal: bool) -> None:
        self._queries = queries
        self._catalog = queries.catalog
        self._internal = internal
        self.scope = Scope(outer=outer)
        self._taken = {name.partition(".")[0].lower() for name in _column_names(outer)}

    def bind(self, node: exp.Expr) -> Node:
        if isinstance(node, JoinSyntax):
            return self._join(node)
        assert isinstance(node, Relation), node
        return self._relation(node)

    def _relation(self, node: Relation) -> Node:
        alias = node.args.get("alias")
        named = isinstance(node.this, exp.Identifier)
        visible = alias.name if alias else node.this.name if named else self._queries.fresh_alias()
        name = self._free_alias(visible)
        windowed = node.args.get("window") is not None
        plan = self._named(node.this, name, windowed) if named else self._subquery(node.this, name, windowed)
        if windowed:
            plan = bind_window(self._catalog, plan, visible, node.args["window"], self._internal)
        self.scope.add(RelationScope.of(visible, plan), span_of(node))
        return plan

    def _free_alias(self, name: str) -> str:
        """The alias itself unless the query around this one uses it; then a numbered one."""
        number, free = 0, name
        while free.lower() in self._taken:
            number += 1
            free = f"{name}_{number}"
        return free

    def _subquery(self, query: exp.Expr, name: str, windowed: bool) -> Node:
        """Windows below a windowed sub-query decide for themselves whether they are internal."""
        plan = self._queries.nested(query, internal=self._internal and not windowed)
        shown = aliased(plan, name)
        # A window on a window is written, and read again, with the sub-query between them.
        return Alias(plan, name) if windowed and isinstance(shown, Windowed) else shown

    def _named(self, identifier: exp.Identifier, alias: str, windowed: bool) -> Node:
        common = self._queries.common(identifier.name)
        if common is not None:
            return aliased(common, alias)
        entry = self._catalog.get(identifier.name)
        if entry is None:
            known = [*self._catalog.names(), *self._queries.common_names()]
            hint = nearest(identifier.name, known, "streams, tables, windows and queries")
            message = f"there is no stream, table, window or query {identifier.name}"
            raise CqlNameError(message, span_of(identifier), hint)
        self._queries.uses.append(entry.name)
        if self._queries.over_kept and not windowed and isinstance(entry, QueryEntry | TableEntry):
            return _kept(entry, alias)
        return self._entry(entry, alias)

    def _entry(self, entry: Entry, alias: str) -> Node:
        # A relation that is called by its name in another case keeps the name it was created with.
        alias = entry.name if alias.lower() == entry.name.lower() else alias
        if isinstance(entry, StreamEntry):
            columns = fields_of(entry)
            return Stream(entry.name, alias, columns, entry.timestamp, entry.lifetime, entry.punctuated, entry.ties)
        if isinstance(entry, TableEntry):
            return Table(entry.name, alias, fields_of(entry), entry.primary_key, entry.retroactive)
        assert entry.plan is not None, f"{entry.name} has not been bound"
        return aliased(entry.plan, alias)

    def _join(self, node: JoinSyntax) -> Node:
        first = _Place.end_of(self.scope)
        left = self.bind(node.this)
        middle = _Place.end_of(self.scope)
        right = self.bind(node.expression)
        kind = JoinKind.INNER if node.args["kind"] == "CROSS" else JoinKind[node.args["kind"]]
        if node.args.get("using"):
            condition = self._using(node.args["using"], kind, first, middle)
        else:
            condition = self._on(node.args.get("on"), left, right)
        return Join(left, right, condition, kind)

    def _on(self, on: exp.Expr | None, left: Node, right: Node) -> Expression | None:
        if on is None:
            return None
        inner = replace(self.scope, outer=None)
        condition = ExpressionBinder(self._catalog, inner, "ON").condition(on)
        visible = {*left.schema.names, *right.schema.names}
        strangers = [name for name in sorted(columns_of(condition)) if name not in visible]
        if strangers:
            hint = "move the condition to WHERE"
            raise CqlMeaningError(f"ON uses {strangers[0]}, which is not part of this join", span_of(on), hint)
        return condition

    def _using(
        self, names: Sequence[exp.Identifier], kind: JoinKind, first: _Place, middle: _Place
    ) -> Expression | None:
        """The condition of USING; in the scope the columns it names come first, once."""
        left = Scope(
            self.scope.relations[first.relation : middle.relation],
            None,
            self.scope.columns[first.column : middle.column],
        )
        right = Scope(self.scope.relations[middle.relation :], None, self.scope.columns[middle.column :])
        equalities: list[Expression] = []
        merged: dict[str, ScopeColumn] = {}
        for name in names:
            ours = left.resolve(name.name, None, span_of(name))
            theirs = right.resolve(name.name, None, span_of(name))
            equalities.append(_equality(ours, theirs, name))
            spelled = (right if kind is JoinKind.RIGHT else left).spelling(name.name)
            merged[name.name.lower()] = ScopeColumn(spelled, _MERGED[kind](ours, theirs))
        others = [column for column in self.scope.columns[first.column :] if column.name.lower() not in merged]
        self.scope.columns[first.column :] = [*merged.values(), *others]
        return conjunction(equalities)


def _kept(entry: QueryEntry | TableEntry, alias: str) -> Node:
    """What a name holds at present, whatever it means for rows to come."""
    fields = fields_of(entry) if isinstance(entry, TableEntry) else entry.fields
    return Table(entry.name, entry.name if alias.lower() == entry.name.lower() else alias, fields)


class _Place(NamedTuple):
    """A position in a scope: how many relations and columns stand before it."""

    relation: int
    column: int

    @staticmethod
    def end_of(scope: Scope) -> _Place:
        return _Place(len(scope.relations), len(scope.columns))


# What a column of USING stands for: the side all of whose rows are in the answer has it, and of two such either.
_MERGED: dict[JoinKind, Callable[[Expression, Expression], Expression]] = {
    JoinKind.INNER: lambda left, right: left,
    JoinKind.LEFT: lambda left, right: left,
    JoinKind.RIGHT: lambda left, right: right,
    JoinKind.FULL: lambda left, right: call("COALESCE", left, right),
}


def _equality(left: Expression, right: Expression, name: exp.Identifier) -> Expression:
    try:
        return call("=", left, right)
    except SignatureError as error:
        hint = f"join by ON in place of USING, with CAST({name.name} AS {left.type}) on the right side"
        raise CqlTypeError(str(error), span_of(name), hint) from None


def _column_names(scope: Scope | None) -> list[str]:
    relations = [] if scope is None else scope.relations
    return [column.name for relation in relations for column in relation.columns.values()]
