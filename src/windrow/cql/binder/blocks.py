"""Binding one SELECT block: FROM, WHERE, GROUP BY, HAVING, the select list, DISTINCT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.catalog import Catalog
from windrow.cql.binder.calls import Aggregates
from windrow.cql.binder.expressions import ExpressionBinder
from windrow.cql.binder.marks import Marks, has_subquery, with_groups_below
from windrow.cql.binder.nested_output import as_subquery, nested_outputs
from windrow.cql.binder.output_columns import Item, named_columns, position, positions
from windrow.cql.binder.relations import FromBinder
from windrow.cql.binder.scope import BoundSource, Scope
from windrow.cql.binder.subqueries import ConditionBinder
from windrow.cql.syntax import CastSyntax, ElementSyntax, FieldSyntax, WindowedCall, WindowSyntax, span_of
from windrow.errors import CqlMeaningError, CqlNameError, Span, nearest
from windrow.plan.aggregates import AGGREGATE_ALIASES, AGGREGATES, is_ordered
from windrow.plan.expressions import ColumnReference, Expression, Literal, Named, transform, walk
from windrow.plan.functions.aggregate_rewrites import AGGREGATE_REWRITES
from windrow.plan.interval_joins import with_interval_windows
from windrow.plan.nodes import Distinct, GroupBy, Node, Project
from windrow.plan.row_time import with_row_time
from windrow.plan.schema import unqualified

if TYPE_CHECKING:
    from windrow.cql.binder.queries import QueryBinder


class BlockBinder:
    def __init__(self, queries: QueryBinder, internal: bool) -> None:
        self._queries = queries
        self._catalog = queries.catalog
        self._internal = internal

    def bind(self, select: exp.Select) -> Node:
        nested = nested_outputs(select)
        if nested:
            for call in nested:
                self._check_nested(call)
            return self.bind(as_subquery(select, nested))
        shown = [*select.expressions, *filter(None, [select.args.get("having")])]
        if self.is_grouped(select) and has_subquery(shown, self._is_aggregate):
            return self.bind(with_groups_below(select, self._is_aggregate))
        source = self.source(select, None)
        if not self.is_grouped(select) and not select.args.get("distinct"):
            source = replace(source, plan=with_interval_windows(source.plan))
        return self._selected(select, source)

    def _check_nested(self, call: WindowedCall) -> None:
        around = call.parent
        while around is not None and not isinstance(around, exp.Select):
            if self._is_aggregate(around):
                return
            around = around.parent
        hint = "write SUM(WSTREAM(SUM(a))[ROWS 10]), or SELECT WSTREAM(SUM(a))[ROWS 10] FROM ..."
        raise CqlMeaningError("WSTREAM(...)[...] stands inside an aggregate", span_of(call), hint)

    def source(self, select: exp.Select, outer: Scope | None) -> BoundSource:
        """FROM and WHERE; with an outer scope when the block is a sub-query in EXISTS or IN."""
        relations = FromBinder(self._queries, outer, self._internal)
        plan = relations.bind(select.args["from_"].this)
        scope = relations.scope
        scope.marks = Marks(self._queries, scope, self._internal)
        where = select.args.get("where")
        if where is None:
            return BoundSource(plan, scope, ())
        conditions = ConditionBinder(self._queries, scope, "WHERE", None, self._internal)
        bound = conditions.bind(where)
        return BoundSource(conditions.applied(plan, bound), scope, bound.correlated)

    def _selected(self, select: exp.Select, source: BoundSource) -> Node:
        if not self.is_grouped(select):
            items, marks = self.items(select.expressions, source.scope), source.scope.marks
            plan: Node = Project(source.plan if marks is None else marks.joined(source.plan), named_columns(items))
        else:
            plan = self._grouped(select, source)
        return Distinct(plan) if select.args.get("distinct") else plan

    def is_grouped(self, select: exp.Select) -> bool:
        if select.args.get("group") or select.args.get("having"):
            return True
        return any(self._is_aggregate(node) for item in select.expressions for node in own_nodes(item))

    def _is_aggregate(self, node: exp.Expr) -> bool:
        if not isinstance(node, exp.Anonymous):
            return False
        name = node.name.upper()
        tables = (AGGREGATES, AGGREGATE_ALIASES, AGGREGATE_REWRITES, self._catalog.aggregates)
        return any(name in table for table in tables)

    def _grouped(self, select: exp.Select, source: BoundSource) -> Node:
        source.scope.marks = None
        keys = self._keys(select, source.scope)
        by_expression = {key.expression: ColumnReference(key.name, key.expression.type) for key in keys}
        aggregates = Aggregates()
        binder = _GroupedBinder(self._catalog, source.scope, "SELECT", aggregates, by_expression)
        items = self._bound_items(select.expressions, source.scope, binder)
        having = select.args.get("having")
        binder = _GroupedBinder(self._catalog, source.scope, "HAVING", aggregates, by_expression)
        conditions = ConditionBinder(self._queries, source.scope, "HAVING", binder, self._internal)
        bound = None if having is None else conditions.bind(having)
        plan: Node = GroupBy(source.plan, keys, aggregates.named)
        self._check_times(select, source.plan, aggregates)
        if bound is not None:
            plan = conditions.applied(plan, bound)
        return Project(plan, named_columns(items))

    def grouped_item(self, select: exp.Select, source: BoundSource, aggregates: Aggregates) -> Expression:
        """The one column of a sub-query that aggregates all of its rows, over its aggregates."""
        source.scope.marks = None
        item = select.expressions[0]
        binder = _GroupedBinder(self._catalog, source.scope, "SELECT", aggregates, {})
        bound = binder.bind(item.this if isinstance(item, exp.Alias) else item)
        self._check_times(select, source.plan, aggregates)
        return bound

    def _check_times(self, select: exp.Select, grouped: Node, aggregates: Aggregates) -> None:
        """FIRST and LAST go by the time of rows; not all rows have one."""
        if not any(is_ordered(named.call) for named in aggregates.named) or with_row_time(grouped):
            return
        ordered = [name for name, entry in AGGREGATES.items() if entry.ordered]
        spellings = (*ordered, *(alias for alias, name in AGGREGATE_ALIASES.items() if name in ordered))
        written = (node for node in select.find_all(exp.Anonymous) if node.name.upper() in spellings)
        message = "FIRST and LAST choose by the time of rows, and these have none of their own"
        hint = "group the rows before they are made distinct, combined, limited or grouped; or use MIN or MAX"
        raise CqlMeaningError(message, span_of(next(written)), hint)

    def _keys(self, select: exp.Select, scope: Scope) -> tuple[Named, ...]:
        group = select.args.get("group")
        keys: list[Named] = []
        for expression in self._key_expressions(group, select, scope) if group else ():
            name = expression.name if isinstance(expression, ColumnReference) else f"_key{len(keys) + 1}"
            if all(key.expression != expression for key in keys):
                keys.append(Named(name, expression))
        return tuple(keys)

    def _key_expressions(self, group: exp.Group, select: exp.Select, scope: Scope) -> Iterator[Expression]:
        """What is written; for ALL every item of the select list without an aggregate."""
        for node in group.expressions:
            if not _is_window_column(node, select):  # the same for all rows of a refresh
                yield self._key(node, select, scope)
        if not group.args.get("all"):
            return
        plain = [item for item in select.expressions if not any(map(self._is_aggregate, item.walk()))]
        for item in self.items(plain, scope):
            if not isinstance(item.expression, Literal):
                yield item.expression

    def _key(self, node: exp.Expr, select: exp.Select, scope: Scope) -> Expression:
        """A key by position, by the alias of a select item, or as an expression."""
        source = node
        number = position(node)
        if number is not None:
            if not 1 <= number <= len(select.expressions):
                hint = f"use {positions(len(select.expressions))}, or a column"
                raise CqlMeaningError("the select list has no such column", span_of(node), hint)
            source = select.expressions[number - 1]
        elif isinstance(node, exp.Column) and not node.table and not self._is_column(node, scope):
            aliased = (item for item in select.expressions if isinstance(item, exp.Alias))
            source = next((item for item in aliased if item.alias.lower() == node.name.lower()), node)
        source = source.this if isinstance(source, exp.Alias) else source
        key = ExpressionBinder(self._catalog, scope, "GROUP BY").bind(source)
        if isinstance(key, Literal):
            hint = "group by columns; a constant may stand in the select list without being a key"
            raise CqlMeaningError("a constant makes no groups", span_of(node), hint)
        return key

    def _is_column(self, node: exp.Column, scope: Scope) -> bool:
        return any(node.name.lower() in relation.columns for relation in scope.relations)

    def items(self, nodes: Sequence[exp.Expr], scope: Scope) -> list[Item]:
        """A select list without aggregates."""
        return self._bound_items(nodes, scope, _RowBinder(self._catalog, scope, "SELECT"))

    def _bound_items(self, nodes: Sequence[exp.Expr], scope: Scope, binder: _RowBinder | _GroupedBinder) -> list[Item]:
        items: list[Item] = []
        for number, node in enumerate(nodes, 1):
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                items.extend(self._star(node, scope, binder))
                continue
            given = node.alias if isinstance(node, exp.Alias) else None
            source = node.this if isinstance(node, exp.Alias) else node
            items.append(Item(binder.bind(source), given, _proposed_name(source, number), span_of(node)))
        return items

    def _star(self, node: exp.Expr, scope: Scope, binder: _RowBinder | _GroupedBinder) -> list[Item]:
        qualifier = node.args["table"].name if isinstance(node, exp.Column) else None
        star = node.this if isinstance(node, exp.Column) else node
        span, items, found = span_of(node), [], set()
        left_out = {name.name.lower(): name for name in star.args.get("except_") or ()}
        replaced = {alias.alias.lower(): alias for alias in star.args.get("replace") or ()}
        for column in scope.star(qualifier, span):
            name = column.name.lower()
            if name in left_out:
                found.add(name)
                continue
            other = replaced.pop(name, None)
            value = column.expression if other is None else binder.bind(other.this)
            items.append(Item(binder.grouped(value, span), None, column.name, span))
        for unknown in (
            *(left_out[name] for name in left_out.keys() - found),
            *(alias.args["alias"] for alias in replaced.values()),
        ):
            names = [column.name for column in scope.star(qualifier, span)]
            hint = nearest(unknown.name, names, "columns")
            raise CqlNameError(f"* has no column {unknown.name}", span_of(unknown), hint)
        if not items:
            raise CqlMeaningError("no column is left", span, "leave EXCEPT out")
        return items


class _RowBinder(ExpressionBinder):
    """Expressions over rows."""

    def grouped(self, expression: Expression, span: Span | None) -> Expression:
        return expression


class _GroupedBinder(ExpressionBinder):
    """Expressions over groups: only keys and aggregates are left of the rows."""

    def __init__(
        self,
        catalog: Catalog,
        scope: Scope,
        clause: str,
        aggregates: Aggregates,
        keys: dict[Expression, ColumnReference],
    ) -> None:
        super().__init__(catalog, scope, clause, aggregates)
        self._keys, self._calls = keys, aggregates.calls

    def bind(self, node: exp.Expr) -> Expression:
        bound = super().bind(node)
        return self.grouped(bound, span_of(node)) if self.is_outermost else bound

    def grouped(self, expression: Expression, span: Span | None) -> Expression:
        replaced = transform(expression, self._keys.get)
        known = {column.name for column in self._keys.values()} | {*self._calls.values()}
        for part in walk(replaced):
            if isinstance(part, ColumnReference) and part.name not in known:
                place = self.places.get(part.name, span)
                hint = f"add it to GROUP BY, or use an aggregate such as MAX({unqualified(part.name)})"
                raise CqlMeaningError(f"{unqualified(part.name)} is neither a key nor an aggregate", place, hint)
        return replaced


def _is_window_column(node: exp.Expr, select: exp.Select) -> bool:
    """`window_start` and `window_end` of TUMBLE and HOP."""
    named = isinstance(node, exp.Column) and node.name.lower() in ("window_start", "window_end")
    return named and any(window.args.get("time") for window in select.args["from_"].find_all(WindowSyntax))


def own_nodes(item: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, without those of sub-queries in it."""
    return item.walk(prune=lambda node: isinstance(node, exp.Query))


def _proposed_name(node: exp.Expr, position: int) -> str:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column):
        return node.name
    if isinstance(node, FieldSyntax):
        return str(node.args["field"])
    if isinstance(node, CastSyntax | ElementSyntax):
        return _proposed_name(node.this, position)
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return f"column{position}"
