"""Interval joins: a join of two bare streams whose times are bounded by each other needs only windows of them.

`a.ts BETWEEN b.ts - lo AND b.ts + hi` is what other engines call an interval join. A pair is found when its later row
comes; by then a row of a is at most lo old, and one of b at most hi. So a [RANGE lo] and b [RANGE hi], INTERNAL, both
with their ends, find the same pairs, which are never withdrawn; without windows all rows would be kept for ever.
"""

from __future__ import annotations

from typing import NamedTuple

from windrow.plan.expressions import Call, ColumnReference, Expression, Literal
from windrow.plan.functions import conjuncts
from windrow.plan.nodes import Filter, Join, JoinKind, Node, Stream, Windowed
from windrow.plan.windows import Range, Window
from windrow.types import INTERVAL
from windrow.units import MICROSECOND, Duration

_SMALLER = {"<": 0, "<=": 1}  # how much of the bound itself is inside
_LARGER = {">": "<", ">=": "<="}


class _TimeColumn(NamedTuple):
    """A column of times, and how far from it."""

    column: str
    offset: int


def with_interval_windows(plan: Node) -> Node:
    """A join of bare streams, perhaps under a selection, over the windows that its bounds allow; else the same plan."""
    if isinstance(plan, Filter):
        return plan.with_inputs(_windowed(plan.input, conjuncts(plan.predicate)))
    return _windowed(plan, ())


def _windowed(join: Node, selected: tuple[Expression, ...]) -> Node:
    if not isinstance(join, Join) or join.kind is not JoinKind.INNER:
        return join
    left, right = join.left, join.right
    if not isinstance(left, Stream) or not isinstance(right, Stream) or left.lifetime or right.lifetime:
        return join
    conditions = (*conjuncts(join.condition), *selected)
    ages = _age(left, right, conditions), _age(right, left, conditions)
    if ages[0] is None or ages[1] is None:
        return join
    lengths = (Duration(max(age, MICROSECOND)) for age in ages if age is not None)
    windows = (Window(Range(length), internal=True) for length in lengths)
    return join.with_inputs(*map(Windowed, (left, right), windows))


def _age(stream: Stream, other: Stream, conditions: tuple[Expression, ...]) -> int | None:
    """How long rows of a stream can meet later ones of the other; None when there is no bound."""
    own, theirs = _time(stream), _time(other)
    ages = []
    for condition in conditions:
        bound = _bound(condition)
        if bound is not None and own is not None and (bound[0].column, bound[1].column) == (theirs, own):
            smaller, larger, inside = bound
            ages.append(larger.offset - smaller.offset + inside)  # theirs - own < this
    return min(ages, default=None)


def _bound(condition: Expression) -> tuple[_TimeColumn, _TimeColumn, int] | None:
    """`smaller < larger` or `smaller <= larger`, between times."""
    if not isinstance(condition, Call) or condition.function not in (*_SMALLER, *_LARGER):
        return None
    one, other = (_time_column(argument) for argument in condition.arguments)
    if one is None or other is None:
        return None
    if condition.function in _LARGER:
        return other, one, _SMALLER[_LARGER[condition.function]]
    return one, other, _SMALLER[condition.function]


def _time_column(expression: Expression) -> _TimeColumn | None:
    if isinstance(expression, ColumnReference):
        return _TimeColumn(expression.name, 0)
    if not isinstance(expression, Call) or expression.function not in ("+", "-"):
        return None
    sign = 1 if expression.function == "+" else -1
    column, offset = expression.arguments
    return _shifted(column, offset, sign) or (_shifted(offset, column, 1) if sign == 1 else None)


def _shifted(column: Expression, offset: Expression, sign: int) -> _TimeColumn | None:
    if not isinstance(column, ColumnReference) or not isinstance(offset, Literal) or offset.type != INTERVAL:
        return None
    assert isinstance(offset.value, int), offset
    return _TimeColumn(column.name, sign * offset.value)


def _time(stream: Stream) -> str | None:
    return None if stream.timestamp is None else f"{stream.alias}.{stream.timestamp}"
