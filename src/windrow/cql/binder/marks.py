"""Sub-queries inside expressions: each becomes a join that marks or extends the rows, and a value over its columns.

A scalar sub-query is an aggregate: what it says of each value that ties it to the query around it is one row to join
with, and of nothing it says what the aggregate says of no rows. EXISTS becomes an outer join with the values that
are there, and is true where one was found; IN also asks whether there are rows at all, and nulls among them. The joins
are ordinary ones, so their patterns are derived and their printed text is read back as the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from windrow.cql.binder.calls import Aggregates
from windrow.cql.binder.expressions import ExpressionBinder
from windrow.cql.binder.output_columns import position
from windrow.cql.binder.scope import BoundSource, RelationScope, Scope
from windrow.cql.syntax import Relation, span_of
from windrow.errors import CqlMeaningError, CqlTypeError
from windrow.plan.aggregates import aggregate_call, built_in
from windrow.plan.expressions import (
    Call,
    Case,
    ColumnReference,
    Expression,
    Literal,
    Named,
    NamedAggregate,
    columns_of,
    transform,
)
from windrow.plan.functions import SignatureError, call, conjunction
from windrow.plan.nodes import Alias, Distinct, GroupBy, Join, JoinKind, Node, Project
from windrow.types import BOOLEAN, INT, NULL

if TYPE_CHECKING:
    from windrow.cql.binder.queries import QueryBinder

_FALSE, _TRUE, _UNKNOWN, _ZERO = Literal(False, BOOLEAN), Literal(True, BOOLEAN), Literal(None, NULL), Literal(0, INT)
_WHOLE = ("limit", "with_", "output")
_ONE = "write an aggregate, such as MAX(x), which gives one row whatever the rows are"


class _Correlation(NamedTuple):
    """An equality between a sub-query and the query around it."""

    inner: Expression
    outer: Expression


class _WaitingJoin(NamedTuple):
    right: Node
    condition: Expression | None
    kind: JoinKind


class Marks:
    """The sub-queries in the expressions of one block; the joins they need wait until they are put on its plan."""

    def __init__(self, queries: QueryBinder, scope: Scope, internal: bool) -> None:
        self._queries, self._scope, self._internal = queries, scope, internal
        self._waiting: list[_WaitingJoin] = []

    def joined(self, plan: Node) -> Node:
        """A plan with the columns that expressions bound so far use."""
        for right, condition, kind in self._waiting:
            plan = Join(plan, right, condition, kind)
        self._waiting.clear()
        return plan

    def bind(self, node: exp.Expr, binder: ExpressionBinder) -> Expression:
        """The value of a scalar sub-query, EXISTS or IN over the columns of its join."""
        if isinstance(node, exp.In):
            return self._in(node, binder)
        if isinstance(node, exp.Exists):
            source = self._source(node.this)
            return self._exists(source, self._ties(source, node))
        return self._scalar(node)

    def _source(self, tree: exp.Expr) -> BoundSource:
        """FROM and WHERE of a plain sub-query."""
        select = _select(tree)
        block = self._queries.block(self._internal)
        if select is None or block.is_grouped(select):
            name = self._queries.fresh_mark()
            plan = Alias(self._queries.nested(tree, self._internal), name)
            return BoundSource(plan, Scope.over(RelationScope.of(name, plan)), ())
        return block.source(select, self._scope)

    def _ties(self, source: BoundSource, node: exp.Expr) -> tuple[_Correlation, ...]:
        inside = frozenset(source.plan.schema.names)
        ties = []
        for condition in source.correlated:
            tie = _tie(condition, inside)
            if tie is None:
                hint = "compare with = here; any condition can stand where EXISTS is joined to the others by AND"
                raise CqlMeaningError("this sub-query is tied by more than equalities", span_of(node), hint)
            ties.append(tie)
        return tuple(ties)

    def _exists(self, source: BoundSource, ties: Sequence[_Correlation]) -> Expression:
        if not ties:
            return call(">", self._counted(source, (), ())[0], _ZERO)
        return self._found(source, ties)

    def _found(self, source: BoundSource, ties: Sequence[_Correlation]) -> Expression:
        """Whether the sub-query has a row with these values: an outer join finds them, and they are not null."""
        name = self._queries.fresh_mark()
        keys = tuple(Named(f"k{number}", tie.inner) for number, tie in enumerate(ties, 1))
        right = Alias(Distinct(Project(source.plan, keys)), name)
        columns = self._tied(right, ties, JoinKind.LEFT)
        return call("NOT", call("IS NULL", columns[0]))

    def _tied(self, right: Alias, ties: Sequence[_Correlation], kind: JoinKind) -> list[ColumnReference]:
        """Have a join by equality wait; the columns of the right."""
        columns = list(right.schema.columns)
        equal = [call("=", tie.outer, column) for tie, column in zip(ties, columns, strict=False)]
        self._waiting.append(_WaitingJoin(right, conjunction(equal), kind))
        return columns

    def _counted(
        self, source: BoundSource, ties: Sequence[_Correlation], counted: Sequence[Expression]
    ) -> list[Expression]:
        """How many rows the sub-query has, and for each expression how often it is not null."""
        calls = [aggregate_call("COUNT", ()), *(aggregate_call("COUNT", (one,)) for one in counted)]
        named = tuple(NamedAggregate(f"_aggregate{n}", one) for n, one in enumerate(calls, 1))
        return self._aggregated(source, ties, named)

    def _aggregated(
        self, source: BoundSource, ties: Sequence[_Correlation], named: Sequence[NamedAggregate]
    ) -> list[Expression]:
        """Aggregates of the rows of a sub-query with the values that tie it; of no rows COUNT is 0."""
        keys = tuple(Named(_name(tie.inner, number), tie.inner) for number, tie in enumerate(ties, 1))
        groups = GroupBy(source.plan, keys, tuple(named))
        shown = [Named(f"k{n}", ColumnReference(key.name, key.expression.type)) for n, key in enumerate(keys, 1)]
        shown += [Named(f"a{n}", ColumnReference(one.name, one.call.type)) for n, one in enumerate(named, 1)]
        right = Alias(Project(groups, tuple(shown)), self._queries.fresh_mark())
        columns = self._tied(right, ties, JoinKind.LEFT if ties else JoinKind.INNER)[len(ties) :]
        return [_of_no_rows(one, column) if ties else column for one, column in zip(named, columns, strict=True)]

    def _in(self, node: exp.In, binder: ExpressionBinder) -> Expression:
        value, tree = binder.bind(node.this), node.args["query"]
        source = self._source(tree)
        ties, member = self._ties(source, node), self._member(source, tree)
        try:
            call("=", value, member)
        except SignatureError as error:
            raise CqlTypeError(str(error), span_of(node), error.hint) from None
        rows, known = self._counted(source, ties, (member,))
        found = self._found(source, (_Correlation(member, value), *ties))
        none = call("=", rows, _ZERO)
        unknown = call("OR", call("IS NULL", value), call("<", known, rows))
        return Case(((found, _TRUE), (none, _FALSE), (unknown, _UNKNOWN)), _FALSE, BOOLEAN)

    def _member(self, source: BoundSource, tree: exp.Expr) -> Expression:
        select = _select(tree)
        if select is None or self._queries.block(self._internal).is_grouped(select):
            columns: list[Expression] = list(source.plan.schema.columns)
        else:
            items = self._queries.block(self._internal).items(select.expressions, source.scope)
            columns = [item.expression for item in items]
        if len(columns) != 1:
            raise CqlTypeError("the sub-query of IN has one column", span_of(tree), "select one column")
        return columns[0]

    def _scalar(self, node: exp.Expr) -> Expression:
        select = _select(node)
        block = self._queries.block(self._internal)
        wrong = select is None or any(select.args.get(part) for part in ("group", "having", "distinct", "order"))
        if select is None or wrong or not block.is_grouped(select):
            raise CqlMeaningError("a sub-query that is one value may give several rows", span_of(node), _ONE)
        if len(select.expressions) != 1:
            raise CqlTypeError("a sub-query that is one value has one column", span_of(node), "select one column")
        source, aggregates = block.source(select, self._scope), Aggregates()
        item = block.grouped_item(select, source, aggregates)
        if columns_of(item) & source.scope.outer_columns:
            hint = "use them in its WHERE"
            raise CqlMeaningError("the value of this sub-query uses the query around it", span_of(node), hint)
        values = self._aggregated(source, self._ties(source, node), aggregates.named)
        by_name = dict(zip(aggregates.calls.values(), values, strict=True))
        return transform(item, lambda part: by_name.get(part.name) if isinstance(part, ColumnReference) else None)


def _of_no_rows(named: NamedAggregate, column: ColumnReference) -> Expression:
    aggregate = built_in(named.call)
    return call("COALESCE", column, _ZERO) if aggregate is not None and aggregate.counts else column


def _name(expression: Expression, number: int) -> str:
    return expression.name if isinstance(expression, ColumnReference) else f"_key{number}"


def _tie(condition: Expression, inside: frozenset[str]) -> _Correlation | None:
    """An equality with the sub-query on one side, and the query around it on the other."""
    if not isinstance(condition, Call) or condition.function != "=":
        return None
    one, other = condition.arguments
    for inner, outer in ((one, other), (other, one)):
        if columns_of(inner) and columns_of(inner) <= inside and not columns_of(outer) & inside:
            return _Correlation(inner, outer)
    return None


def _select(tree: exp.Expr) -> exp.Select | None:
    """A SELECT whose rows are those of its FROM and WHERE, or one group of them."""
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    plain = isinstance(tree, exp.Select) and not any(
        tree.args.get(part) is not None for part in ("limit", "with_", "output")
    )
    return tree if plain and isinstance(tree, exp.Select) else None


_GROUPS = "_groups"


def has_subquery(expressions: Sequence[exp.Expr], is_aggregate: Callable[[exp.Expr], bool]) -> bool:
    """Outside the aggregates."""
    return any(isinstance(node, exp.Query) for one in expressions for node in one.walk(prune=is_aggregate))


def with_groups_below(select: exp.Select, is_aggregate: Callable[[exp.Expr], bool]) -> exp.Select:
    """A query with groups and sub-queries as values: the groups in FROM, everything else over their columns."""
    group = select.args.get("group")
    keys = [_key(key, select) for key in group.expressions] if group else []
    if group and group.args.get("all"):
        keys = [_of_item(one) for one in select.expressions if not any(map(is_aggregate, one.walk()))]
        keys = [key for key in keys if not has_subquery([key], is_aggregate)]
    columns: dict[exp.Expr, str] = {key: f"k{number}" for number, key in enumerate(keys, 1)}

    def over_groups(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Query):
            return node
        if node not in columns and is_aggregate(node):
            columns[node] = f"a{len(columns) + 1}"
        if node in columns:
            column = exp.Column(this=exp.to_identifier(columns[node]), table=exp.to_identifier(_GROUPS))
            return column.update_positions(node)
        for name, below in list(node.args.items()):
            if isinstance(below, exp.Expression):
                node.set(name, over_groups(below))
            elif isinstance(below, list):
                node.set(name, [over_groups(one) if isinstance(one, exp.Expression) else one for one in below])
        return node

    outer = select.copy()
    items = [_named(over_groups, item) for item in outer.expressions]
    having = outer.args.get("having")
    where = None if having is None else over_groups(having)
    shown = [exp.Alias(this=one.copy(), alias=exp.to_identifier(name)) for one, name in columns.items()]
    grouping = exp.Group(expressions=[key.copy() for key in keys], all=False) if keys else None
    inner = exp.Select(expressions=shown, from_=select.args["from_"], where=select.args.get("where"), group=grouping)
    relation = Relation(this=inner, alias=exp.to_identifier(_GROUPS))
    distinct = select.args.get("distinct")
    return exp.Select(expressions=items, from_=exp.From(this=relation), where=where, distinct=distinct)


def _key(key: exp.Expr, select: exp.Select) -> exp.Expr:
    """A key that is a number stands for a column of the select list."""
    number = position(key)
    if number is None or not 1 <= number <= len(select.expressions):
        return key
    return _of_item(select.expressions[number - 1])


def _of_item(item: exp.Expr) -> exp.Expr:
    found: exp.Expr = item.this if isinstance(item, exp.Alias) else item
    return found


def _named(over_groups: Callable[[exp.Expr], exp.Expr], item: exp.Expr) -> exp.Expr:
    """A column keeps the name that it has without an alias."""
    if isinstance(item, exp.Alias):
        item.set("this", over_groups(item.this))
        return item
    name = item.name.lower() if isinstance(item, exp.Anonymous) else item.name if isinstance(item, exp.Column) else ""
    value = over_groups(item)
    return exp.Alias(this=value, alias=exp.to_identifier(name)).update_positions(value) if name else value
