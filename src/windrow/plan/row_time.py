"""The order of rows, for aggregates that choose by it (FIRST, LAST), also where no column has it any more.

Rows go by their own time in their stream, whatever window they were seen through, and by the tie columns of the stream;
results of a join by the later of their parts' times, and then by the order of the parts that have ties; rows that an
output stream emitted by the time of that. A row of DISTINCT, EXCEPT, INTERSECT, LIMIT or of a group stands for several
rows, or comes and goes, and has no time of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from windrow.plan.analysis.relations import is_relation
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import Cast, ColumnReference, Expression, Literal, Named
from windrow.plan.functions import call
from windrow.plan.nodes import (
    Alias,
    AntiJoin,
    AppendOnly,
    Distinct,
    Except,
    Filter,
    GroupBy,
    Intersect,
    Join,
    Limit,
    Node,
    OutputKind,
    OutputStream,
    Project,
    SemiJoin,
    Sort,
    Stream,
    Table,
    Union,
    Windowed,
)
from windrow.plan.pattern import Pattern
from windrow.plan.running_nodes import RUNNING, Stamped
from windrow.plan.schema import unqualified
from windrow.types import NULL, TIMESTAMP, Type


class Timed(NamedTuple):
    """A plan with the same columns, and maybe more; and the time of its rows and their ties, over these columns."""

    plan: Node
    time: Expression
    ties: tuple[Expression, ...] = ()

    @property
    def order(self) -> tuple[Expression, ...]:
        return (self.time, *self.ties)


def with_row_time(plan: Node) -> Timed | None:
    """None when rows of the plan have no time."""
    return _TimePropagation().timed(plan)


class TimedPairs(NamedTuple):
    """A plan over a join with the same columns, and maybe more; and the times of the two rows of each pair."""

    plan: Node
    first: Expression
    second: Expression


def with_times_of_pairs(plan: Node) -> TimedPairs:
    """Of selections and projections over a join of windows of streams."""
    return _TimePropagation().pairs(plan)


class _TimePropagation:
    """Hands time and ties up through a plan, under names that nobody else can have."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def timed(self, node: Node) -> Timed | None:
        return _TIMED[node](self, node)

    def _none(self, node: Node) -> None:
        return None

    def _stream(self, node: Stream) -> Timed:
        if node.timestamp is None:
            return self._stamped(node)
        ties = tuple(node.schema.column(f"{node.alias}.{name}") for name in node.ties)
        return Timed(node, ColumnReference(f"{node.alias}.{node.timestamp}", TIMESTAMP), ties)

    def _stamped(self, node: Node) -> Timed:
        stamped = Stamped(node, self._name())
        return Timed(stamped, stamped.schema.columns[-1])

    def _emitted(self, node: OutputStream) -> Timed | None:
        return None if node.kind is OutputKind.RSTREAM else self._stamped(node)

    def _lasting(self, node: AppendOnly) -> Timed | None:
        """Results that are never taken back."""
        return self._stamped(node) if update_pattern(node) is Pattern.MONOTONIC else None

    def _selected(self, node: Node) -> Timed | None:
        below = self.timed(node.inputs[0])
        return None if below is None else below._replace(plan=node.with_inputs(below.plan, *node.inputs[1:]))

    def _listed(self, node: Project) -> Timed | None:
        below = self.timed(node.input)
        return None if below is None else self._projected(node, below)

    def _aliased(self, node: Alias) -> Timed | None:
        below = self.timed(node.input)
        if below is None:
            return None
        plan, order = self._as_columns(below)
        columns = (ColumnReference(f"{node.name}.{unqualified(column.name)}", column.type) for column in order)
        return Timed(Alias(plan, node.name), next(columns), tuple(columns))

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
            return TimedPairs(Alias(below.plan, node.name), *(ColumnReference(name, TIMESTAMP) for name in names))
        return TimedPairs(node.with_inputs(below.plan), below.first, below.second)

    def _name(self) -> str:
        return f"_time{next(self._numbers)}"

    def _projected(self, node: Project, below: Timed) -> Timed:
        columns = list(node.columns)
        order = []
        for expression in below.order:
            name = next((named.name for named in columns if named.expression == expression), None)
            if name is None:
                name = self._name()
                columns.append(Named(name, expression))
            order.append(ColumnReference(name, expression.type))
        plan = replace(node, input=below.plan, columns=tuple(columns))
        return Timed(plan, order[0], tuple(order[1:]))

    def _as_columns(self, of: Timed) -> tuple[Node, list[ColumnReference]]:
        order = [expression for expression in of.order if isinstance(expression, ColumnReference)]
        if len(order) == len(of.order):
            return of.plan, order
        own = tuple(Named(column.name, column) for column in of.plan.schema.columns)
        projected = self._projected(Project(of.plan, own), of)
        return self._as_columns(projected)

    def _joined(self, node: Join) -> Timed | None:
        sides = [Timed(side, side.schema.columns[0]) if is_relation(side) else self.timed(side) for side in node.inputs]
        left, right = sides
        if left is None or right is None:
            return None
        timed = [of for of, side in zip((left, right), node.inputs, strict=True) if not is_relation(side)]
        if not timed:
            return None
        plan = node.with_inputs(left.plan, right.plan)
        if len(timed) == 1:
            return timed[0]._replace(plan=plan)
        ties = tuple(expression for of in timed if of.ties for expression in of.order)
        return Timed(plan, call("GREATEST", left.time, right.time), ties)

    def _united(self, node: Union) -> Timed | None:
        """Ties of both sides are compared where they have the same types; else rows of one time go by side."""
        left, right = self.timed(node.left), self.timed(node.right)
        if left is None or right is None:
            return None
        ties = left.ties, right.ties
        if _types(left.ties) != _types(right.ties):
            ties = (*left.ties, *map(_null, right.ties)), (*map(_null, left.ties), *right.ties)
        sides = []
        for of, broken, side in zip((left, right), ties, node.inputs, strict=True):
            own = tuple(Named(column.name, column) for column in side.schema.columns)
            order = tuple(Named(self._name(), expression) for expression in (of.time, *broken))
            sides.append(Project(of.plan, (*own, *order)))
        time, *rest = sides[0].schema.columns[len(node.schema.columns) :]
        return Timed(Union(*sides), time, tuple(rest))


def _types(expressions: Sequence[Expression]) -> list[Type]:
    return [expression.type for expression in expressions]


def _null(like: Expression) -> Expression:
    return Cast(Literal(None, NULL), like.type)


def _name_of(time: Expression) -> str:
    assert isinstance(time, ColumnReference), time
    return time.name


_TIMED: ByKind[Callable[..., Timed | None]] = ByKind(
    {
        Stream: _TimePropagation._stream,
        (Windowed, Filter, Sort, SemiJoin, AntiJoin): _TimePropagation._selected,
        Project: _TimePropagation._listed,
        Alias: _TimePropagation._aliased,
        Join: _TimePropagation._joined,
        Union: _TimePropagation._united,
        OutputStream: _TimePropagation._emitted,
        AppendOnly: _TimePropagation._lasting,
        Table: _TimePropagation._none,
        (Distinct, Except, Intersect, Limit, GroupBy): _TimePropagation._none,  # a row stands for several
    },
    never={RUNNING: "times are handed up before plans get what only says how they run"},
)
