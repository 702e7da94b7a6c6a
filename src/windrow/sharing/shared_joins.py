"""One join for several queries: the same two windows, joined by the same condition, whatever else the queries do.

Each query is optimized alone, so selections and the choice of columns have been pushed below the join and make equal
joins differ. Here joins are compared in the terms of their streams. Queries that start together get one join with the
columns of all of them and the weakest of their selections, and select and choose columns above it, where that is less
work by the cost model than several joins; a query that comes later is written over a join that runs, if that has all
the columns and rows that it needs. A column that nobody has asked for before begins with a join of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from windrow.optimizer.cost import PASSING, work_of
from windrow.plan.analysis.per_node import per_node
from windrow.plan.analysis.rates import Rates
from windrow.plan.expressions import Call, ColumnReference, Expression, Named, columns_of, rename_columns, transform
from windrow.plan.functions import conjunction, conjuncts
from windrow.plan.nodes import Join, JoinKind, Node, Project, Stream, Windowed
from windrow.plan.printer import expression_text
from windrow.plan.rewrite import bottom_up, without_exchanges
from windrow.plan.windows import Window
from windrow.sharing.starting import Plans, Starting
from windrow.sharing.stream_rows import StreamRows, in_order, selected, stream_rows
from windrow.sharing.weakest_selection import implies, weakest


@dataclass(frozen=True)
class _Side:
    """Rows of one stream in a window; `columns` are those of the stream that are needed."""

    stream: Stream
    window: Window
    conditions: tuple[Expression, ...]
    columns: frozenset[str]

    @cached_property
    def plan(self) -> Node:
        rows = selected(Windowed(self.stream, self.window), self.conditions)
        names = [name for name in self.stream.schema.names if name in self.columns]
        if len(names) == len(rows.schema):
            return rows
        return Project(rows, tuple(Named(name, rows.schema.column(name)) for name in names))

    def serves(self, other: _Side) -> bool:
        """Whether it has all rows and columns of the other one."""
        tested = (one for one in other.conditions if one not in self.conditions)
        needed = other.columns.union(*map(columns_of, tested))
        return needed <= self.columns and all(implies(other.conditions, one) for one in self.conditions)


@dataclass(frozen=True)
class _SharedJoin:
    """A join in the terms of its streams; the two sides have other names."""

    left: _Side
    right: _Side
    conditions: tuple[Expression, ...]

    @property
    def pairs(self) -> object:
        """What joins have in common that can be one: windows and condition."""
        sides = ((side.stream, side.window) for side in (self.left, self.right))
        return (*sides, self.conditions)

    @cached_property
    def plan(self) -> Join:
        return Join(self.left.plan, self.right.plan, conjunction(self.conditions))

    def serves(self, other: _SharedJoin) -> bool:
        return self.left.serves(other.left) and self.right.serves(other.right)


@dataclass(frozen=True, eq=False)
class _JoinOfQuery:
    """A join as a query has it: `columns` are those that it gives, in the terms of the streams."""

    node: Join
    join: _SharedJoin
    columns: tuple[Named, ...]

    def over(self, shared: _SharedJoin) -> Node:
        """The same rows and columns, from a join that has more."""
        own = (*self.join.left.conditions, *self.join.right.conditions)
        tested = {*shared.left.conditions, *shared.right.conditions}
        rows = selected(shared.plan, (one for one in own if one not in tested))
        is_same = [column.name for column in self.columns] == list(rows.schema.names)
        return rows if is_same and _are_copies(self.columns) else Project(rows, self.columns)


def with_shared_joins(plans: Plans, starting: Starting) -> Plans:
    """Plans over joins that others can share; where results end with INTERNAL parts, joins are as they are."""
    looked_up = {query.name for query in starting.queries if query.is_looked_up}
    sharing = {name: plan for name, plan in plans.items() if name not in looked_up and not _is_internal(plan)}
    found = [one for plan in sharing.values() for one in _joins_of(plan)]
    if not found:
        return plans
    running = dict.fromkeys(join for plan in starting.running for join in _running_joins(plan))
    chosen = _chosen([one.join for one in found], running, Rates(starting.statistics))
    over: dict[Node, Node] = {one.node: one.over(chosen[one.join]) for one in found}
    return plans | {name: bottom_up(plan, lambda node: over.get(node)) for name, plan in sharing.items()}


def _is_internal(plan: Node) -> bool:
    return any(isinstance(node, Windowed) and node.window.internal for node in plan.walk())


@per_node
def _running_joins(plan: Node) -> tuple[_SharedJoin, ...]:
    return tuple(one.join for one in _joins_of(without_exchanges(plan)))


def _chosen(
    asked: Sequence[_SharedJoin], running: Iterable[_SharedJoin], rates: Rates
) -> dict[_SharedJoin, _SharedJoin]:
    """For each join that is asked for the one that runs, or the one that is made for it and others."""
    made: list[list[_SharedJoin]] = []
    chosen: dict[_SharedJoin, _SharedJoin] = {}
    for join in dict.fromkeys(asked):
        fits = next((one for one in running if one.pairs == join.pairs and one.serves(join)), None)
        if fits is not None:
            chosen[join] = fits
            continue
        same = (members for members in made if members[0].pairs == join.pairs)
        members = next((members for members in same if _is_less_work(members, join, rates)), None)
        if members is None:
            made.append([join])
        else:
            members.append(join)
    return chosen | {join: _united(members) for members in made for join in members}


def _is_less_work(members: Sequence[_SharedJoin], join: _SharedJoin, rates: Rates) -> bool:
    """Whether one join for all is less work than another one beside that of the others."""
    together = _work([*members, join], rates)
    return together <= _work(members, rates) + _work([join], rates)


def _work(members: Sequence[_SharedJoin], rates: Rates) -> float:
    shared = _united(members)
    selections = sum(shared != one for one in members)
    return work_of(shared.plan, rates).total + PASSING * selections * rates.of(shared.plan).rate


def _united(members: Sequence[_SharedJoin]) -> _SharedJoin:
    if len(members) == 1:
        return members[0]
    sides = ([one.left for one in members], [one.right for one in members])
    left, right = map(_side_of_all, sides)
    return replace(members[0], left=left, right=right)


def _side_of_all(sides: Sequence[_Side]) -> _Side:
    """With the columns of all, and those of conditions that are tested above."""
    conditions = weakest([side.conditions for side in sides])
    later = (one for side in sides for one in side.conditions if one not in conditions)
    columns = frozenset[str]().union(*(side.columns for side in sides), *map(columns_of, later))
    return replace(sides[0], conditions=conditions, columns=columns)


def _joins_of(plan: Node) -> Iterator[_JoinOfQuery]:
    for node in plan.walk():
        one = _join_of(node) if isinstance(node, Join) and node.kind is JoinKind.INNER else None
        if one is not None:
            yield one


def _join_of(node: Join) -> _JoinOfQuery | None:
    left, right = stream_rows(node.left), stream_rows(node.right)
    if left is None or right is None or left.window is None or right.window is None:
        return None
    if not all(isinstance(one, ColumnReference) for rows in (left, right) for one in rows.columns.values()):
        return None  # what is computed of rows is not computed again for every pair
    if _order(right) < _order(left):
        left, right = right, left
    if left.stream == right.stream:
        right = _renamed(right, f"{right.stream.name}_2")
    meanings = {**left.columns, **right.columns}
    columns = tuple(Named(name, meanings[name]) for name in node.schema.names)
    conditions = in_order(_turned(_meant(part, meanings)) for part in conjuncts(node.condition))
    used = frozenset[str]().union(*map(columns_of, conditions), *(columns_of(column.expression) for column in columns))
    return _JoinOfQuery(node, _SharedJoin(_side(left, used), _side(right, used), conditions), columns)


def _side(rows: StreamRows, used: frozenset[str]) -> _Side:
    assert rows.window is not None, rows
    names = frozenset(rows.stream.schema.names)
    return _Side(rows.stream, rows.window, rows.conditions, (used & names) or frozenset(rows.stream.schema.names[:1]))


def _order(rows: StreamRows) -> tuple[str, str]:
    return rows.stream.name.lower(), repr(rows.window)


def _renamed(rows: StreamRows, alias: str) -> StreamRows:
    stream = replace(rows.stream, alias=alias)
    names = dict(zip(rows.stream.schema.names, stream.schema.names, strict=True))
    conditions = tuple(rename_columns(one, names) for one in rows.conditions)
    return StreamRows(stream, rows.window, conditions, {n: rename_columns(e, names) for n, e in rows.columns.items()})


def _meant(condition: Expression, meanings: dict[str, Expression]) -> Expression:
    return transform(condition, lambda part: meanings[part.name] if isinstance(part, ColumnReference) else None)


def _turned(condition: Expression) -> Expression:
    """An equality in one of its two ways."""
    if not isinstance(condition, Call) or condition.function != "=":
        return condition
    ordered = sorted(condition.arguments, key=lambda side: (expression_text(side), repr(side)))
    return replace(condition, arguments=tuple(ordered))


def _are_copies(columns: Iterable[Named]) -> bool:
    return all(column.expression == ColumnReference(column.name, column.expression.type) for column in columns)
