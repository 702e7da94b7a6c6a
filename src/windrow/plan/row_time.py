"""The time of a row, for aggregates that choose by it (FIRST, LAST), also where no column tells it any more.

It is the row's own time in its stream, whatever window it was seen through; for the result of a join the later of its
parts' times; for a row that an output stream told, the time at which it was told. A row of DISTINCT, EXCEPT, INTERSECT,
LIMIT or of a group stands for several rows, or comes and goes, and has no time of its own.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import NamedTuple

from windrow.plan.aggregates import is_ordered, order_of
from windrow.plan.analysis.relations import is_relation
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.expressions import Column, Expression, Named, NamedAggregate
from windrow.plan.functions import call
from windrow.plan.nodes import (
    Alias,
    AntiJoin,
    AppendOnly,
    Filter,
    GroupBy,
    Join,
    Node,
    OutputKind,
    OutputStream,
    Project,
    SemiJoin,
    Sort,
    Stream,
    Union,
    Windowed,
)
from windrow.plan.pattern import Pattern
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import Numbered, Stamped, WithEnd
from windrow.plan.schema import unqualified
from windrow.types import TIMESTAMP


class Timed(NamedTuple):
    """A plan with the same columns, and maybe more; and the time of its rows, over these columns."""

    plan: Node
    time: Expression


def with_row_time(plan: Node) -> Timed | None:
    """None when rows of the plan have no time."""
    return _Carrying().timed(plan)


class TimedPairs(NamedTuple):
    """A plan over a join with the same columns, and maybe more; and the times of the two rows of each pair."""

    plan: Node
    first: Expression
    second: Expression


def with_times_of_pairs(plan: Node) -> TimedPairs:
    """Of selections and projections over a join of windows of streams."""
    return _Carrying().pairs(plan)


def with_row_times(plan: Node) -> Node:
    """The plan with FIRST(x) and LAST(x) as FIRST(x, time) and LAST(x, time), the time being handed up to them."""
    return bottom_up(plan, _with_time_arguments)


def _with_time_arguments(node: Node) -> Node | None:
    if not isinstance(node, GroupBy) or not any(map(_lacks_time, node.aggregates)):
        return None
    timed = with_row_time(node.input)
    assert timed is not None, "the binder refuses what has no time"
    aggregates = tuple(
        replace(named, call=replace(named.call, arguments=(*named.call.arguments, timed.time)))
        if _lacks_time(named)
        else named
        for named in node.aggregates
    )
    return GroupBy(timed.plan, node.keys, aggregates)


def _lacks_time(named: NamedAggregate) -> bool:
    return is_ordered(named.call) and not order_of(named.call)


class _Carrying:
    """Hands the time up through a plan, under names that nobody else can have."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def timed(self, node: Node) -> Timed | None:
        if isinstance(node, Stream) and node.timestamp is not None:
            return Timed(node, Column(f"{node.alias}.{node.timestamp}", TIMESTAMP))
        if isinstance(node, Stream) or _tells_rows(node):
            stamped = Stamped(node, self._name())
            return Timed(stamped, stamped.schema.columns[-1])
        if isinstance(node, Join):
            return self._joined(node)
        if isinstance(node, Union):
            return self._united(node)
        if not isinstance(node, Windowed | Filter | Sort | Project | Alias | SemiJoin | AntiJoin | WithEnd | Numbered):
            return None
        below = self.timed(node.inputs[0])
        if below is None:
            return None
        if isinstance(node, Project):
            return self._projected(node, below)
        if isinstance(node, Alias):
            plan, time = self._as_column(below)
            return Timed(Alias(plan, node.name), Column(f"{node.name}.{unqualified(time.name)}", TIMESTAMP))
        return Timed(node.with_inputs(below.plan, *node.inputs[1:]), below.time)

    def pairs(self, node: Node) -> TimedPairs:
        if isinstance(node, Join):
            left, right = self.timed(node.left), self.timed(node.right)
            assert left is not None and right is not None, node
            return TimedPairs(node.with_inputs(left.plan, right.plan), left.time, right.time)
        below = self.pairs(node.inputs[0])
        if isinstance(node, Project):
            first = self._projected(node, Timed(below.plan, below.first))
            assert isinstance(first.plan, Project), first
            second = self._projected(first.plan, Timed(below.plan, below.second))
            return TimedPairs(second.plan, first.time, second.time)
        if isinstance(node, Alias):
            names = (f"{node.name}.{unqualified(_name_of(time))}" for time in (below.first, below.second))
            return TimedPairs(Alias(below.plan, node.name), *(Column(name, TIMESTAMP) for name in names))
        return TimedPairs(node.with_inputs(below.plan), below.first, below.second)

    def _name(self) -> str:
        return f"_time{next(self._numbers)}"

    def _projected(self, node: Project, below: Timed) -> Timed:
        kept = next((named.name for named in node.columns if named.expression == below.time), None)
        if kept is not None:
            return Timed(replace(node, input=below.plan), Column(kept, TIMESTAMP))
        carried = Named(self._name(), below.time)
        return Timed(Project(below.plan, (*node.columns, carried)), Column(carried.name, TIMESTAMP))

    def _as_column(self, of: Timed) -> tuple[Node, Column]:
        if isinstance(of.time, Column):
            return of.plan, of.time
        own = tuple(Named(column.name, column) for column in of.plan.schema.columns)
        carried = Named(self._name(), of.time)
        return Project(of.plan, (*own, carried)), Column(carried.name, TIMESTAMP)

    def _joined(self, node: Join) -> Timed | None:
        sides = [Timed(side, side.schema.columns[0]) if is_relation(side) else self.timed(side) for side in node.inputs]
        left, right = sides
        if left is None or right is None:
            return None
        times = [of.time for of, side in zip((left, right), node.inputs, strict=True) if not is_relation(side)]
        if not times:
            return None
        return Timed(node.with_inputs(left.plan, right.plan), times[0] if len(times) == 1 else call("GREATEST", *times))

    def _united(self, node: Union) -> Timed | None:
        left, right = self.timed(node.left), self.timed(node.right)
        if left is None or right is None:
            return None
        sides = []
        for of, side in ((left, node.left), (right, node.right)):
            own = tuple(Named(column.name, column) for column in side.schema.columns)
            sides.append(Project(of.plan, (*own, Named(self._name(), of.time))))
        return Timed(Union(*sides), sides[0].schema.columns[-1])


def _name_of(time: Expression) -> str:
    assert isinstance(time, Column), time
    return time.name


def _tells_rows(node: Node) -> bool:
    """Output streams, whose rows are never taken back."""
    if isinstance(node, OutputStream):
        return node.kind is not OutputKind.RSTREAM
    return isinstance(node, AppendOnly) and update_pattern(node) is Pattern.MONOTONIC
