"""Binding conditions: plain ones become a selection, EXISTS and IN with a sub-query become semi- and anti-joins.

Conditions inside a sub-query that use columns of the query around it become the condition of that join.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.cql.binder.expressions import ExpressionBinder, flattened
from windrow.cql.binder.scope import Scope
from windrow.cql.syntax import span_of
from windrow.errors import CqlMeaningError, CqlTypeError
from windrow.plan.expressions import Expression, columns_of
from windrow.plan.functions import SignatureError, call, conjunction
from windrow.plan.nodes import AntiJoin, Filter, Node, SemiJoin, aliased

if TYPE_CHECKING:
    from windrow.cql.binder.queries import QueryBinder


@dataclass(frozen=True)
class Membership:
    """One EXISTS, NOT EXISTS, IN or NOT IN."""

    plan: Node
    condition: Expression | None
    negated: bool
    not_in: tuple[Expression, Expression] | None = None


@dataclass(frozen=True)
class BoundConditions:
    plain: tuple[Expression, ...]
    correlated: tuple[Expression, ...]
    memberships: tuple[Membership, ...]


class ConditionBinder:
    """Binds one WHERE or HAVING."""

    def __init__(
        self, queries: QueryBinder, scope: Scope, clause: str, binder: ExpressionBinder | None, internal: bool
    ) -> None:
        self._queries = queries
        self._scope = scope
        self._clause = clause
        self._binder = binder or ExpressionBinder(queries.catalog, scope, clause)
        self._internal = internal

    def bind(self, node: exp.Expr) -> BoundConditions:
        plain: list[Expression] = []
        correlated: list[Expression] = []
        memberships: list[Membership] = []
        for part in flattened(node) if isinstance(_bare(node), exp.And) else [node]:
            membership = self._membership(part)
            if membership is not None:
                memberships.append(membership)
                continue
            before = set(self._scope.outer_columns)
            self._scope.outer_columns.clear()
            bound = self._binder.condition(part)
            uses_outer = columns_of(bound) & self._scope.outer_columns
            self._scope.outer_columns |= before
            (correlated if uses_outer else plain).append(bound)
        return BoundConditions(tuple(plain), tuple(correlated), tuple(memberships))

    def applied(self, plan: Node, bound: BoundConditions) -> Node:
        """The selection first, then the semi- and anti-joins in the order written."""
        if self._scope.marks is not None:
            plan = self._scope.marks.joined(plan)
        predicate = conjunction(bound.plain)
        if predicate is not None:
            plan = Filter(plan, predicate)
        for membership in bound.memberships:
            if membership.negated:
                plan = AntiJoin(plan, membership.plan, membership.condition, membership.not_in)
            else:
                plan = SemiJoin(plan, membership.plan, membership.condition)
        return plan

    def _membership(self, node: exp.Expr) -> Membership | None:
        inner, negated = _bare(node), False
        while isinstance(inner, exp.Not):
            inner, negated = _bare(inner.this), not negated
        if self._clause != "WHERE" and isinstance(inner, exp.Exists | exp.In) and _query_of(inner) is not None:
            hint = "put the grouped query into FROM and the condition into WHERE"
            raise CqlMeaningError(f"a sub-query cannot stand in {self._clause}", span_of(inner), hint)
        if isinstance(inner, exp.Exists):
            plan, _, condition = self._subquery(inner.this)
            return Membership(plan, condition, negated)
        if isinstance(inner, exp.In) and inner.args.get("query") is not None:
            return self._in(inner, negated)
        return None

    def _in(self, node: exp.In, negated: bool) -> Membership:
        value = self._binder.bind(node.this)
        plan, column, condition = self._subquery(node.args["query"])
        if column is None:
            raise CqlTypeError("the sub-query of IN has one column", span_of(node.args["query"]), "select one column")
        try:
            equal = call("=", value, column)
        except SignatureError as error:
            raise CqlTypeError(str(error), span_of(node), error.hint) from None
        if negated:
            return Membership(plan, condition, True, (value, column))
        return Membership(plan, conjunction([equal, *([condition] if condition else [])]), False)

    def _subquery(self, tree: exp.Expr) -> tuple[Node, Expression | None, Expression | None]:
        """The plan to match with, its only column (if it has one), and the condition that ties it to this query."""
        select = _plain_select(tree)
        if select is None:
            return self._whole_subquery(tree)
        block = self._queries.block(self._internal)
        if block.is_grouped(select):
            return self._whole_subquery(tree)
        source = block.source(select, self._scope)
        items = block.items(select.expressions, source.scope)
        column = items[0].expression if len(items) == 1 else None
        if column is not None and columns_of(column) & source.scope.outer_columns:
            hint = "compare it in WHERE instead"
            raise CqlMeaningError("the select list of this sub-query uses the query around it", span_of(tree), hint)
        return source.plan, column, conjunction(source.correlated)

    def _whole_subquery(self, tree: exp.Expr) -> tuple[Node, Expression | None, Expression | None]:
        """A sub-query with groups, set operations or a limit: matched as a whole, so it cannot look outside."""
        plan = aliased(self._queries.nested(tree, self._internal), self._queries.fresh_alias())
        columns = plan.schema.columns
        return plan, columns[0] if len(columns) == 1 else None, None


def _query_of(node: exp.Exists | exp.In) -> exp.Expr | None:
    found: exp.Expr | None = node.this if isinstance(node, exp.Exists) else node.args.get("query")
    return found


def _plain_select(tree: exp.Expr) -> exp.Select | None:
    """A SELECT whose rows are those of its FROM and WHERE; RSTREAM names the same answer."""
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if not isinstance(tree, exp.Select) or any(tree.args.get(part) is not None for part in ("limit", "with_")):
        return None
    output = tree.args.get("output")
    return tree if output is None or (output.this == "RSTREAM" and not output.args.get("restore")) else None


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node
