"""Queries that are answered when somebody asks: which they can be, and what of their rows has to be kept.

The lookup model of Arasu and Widom: a query is an aggregate over a window of a stream, by groups, and whatever can be
computed from the groups. Its rows are kept in synopses by group, whatever the window; the window is looked up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from windrow.plan.aggregate_class import Approximation, IndexForm, SynopsisForm
from windrow.plan.aggregates import AGGREGATES, MOST_DIGITS, approximation_of
from windrow.plan.expressions import AggregateCall, Call, ColumnReference, Expression, Literal, columns_of
from windrow.plan.functions import conjuncts
from windrow.plan.nodes import Alias, Distinct, Filter, GroupBy, Limit, Node, Project, Sort, Stream, Windowed
from windrow.plan.running_nodes import Threshold
from windrow.plan.synopsis_kinds import SynopsisKind
from windrow.plan.windows import Now, Range, RangeAgo, RowCount, Rows, Unbounded, Window
from windrow.types import BINARY, STRING, DecimalType, is_integer, is_nested

ASKED = 1.0  # times a second that a query is looked up, as long as nobody has measured it
WITHOUT_LOOKUP = "leave REFRESH ON LOOKUP out"

_MERGED = (SynopsisKind.INTERVAL, SynopsisKind.BASIC_INTERVAL, SynopsisKind.LANDMARKS, SynopsisKind.TWO_STACKS)
_KINDS: dict[SynopsisForm, tuple[SynopsisKind, ...]] = {
    SynopsisForm.MERGED: _MERGED,
    SynopsisForm.SUBTRACTED: (*_MERGED, SynopsisKind.RUNNING),
    SynopsisForm.RANKED: (SynopsisKind.QUANTILE,),
    SynopsisForm.HISTOGRAM: (SynopsisKind.HISTOGRAM,),
    SynopsisForm.FADED: (SynopsisKind.FADED,),
}


@dataclass(frozen=True)
class Refusal:
    """Why a query cannot be looked up, and what to do."""

    why: str
    hint: str


@dataclass(frozen=True)
class LookupForm:
    """The groups of a query, their window, and the rows that are kept for them."""

    groups: GroupBy
    window: Window
    rows: Node
    later: tuple[Expression, ...] = ()  # conditions on the keys that hold of whole groups: checked on what is found

    @property
    def by_rows(self) -> bool:
        return isinstance(self.window.extent, Rows)

    @property
    def reach(self) -> int:
        """How far back the window begins: in time, or in rows."""
        extent, slide = self.window.extent, self.window.slide or 0
        assert not isinstance(slide, RowCount)
        if isinstance(extent, Rows):
            return extent.count
        return (
            extent.length if isinstance(extent, Range) else extent.begin if isinstance(extent, RangeAgo) else 1
        ) + slide


def groups_of(plan: Node) -> GroupBy | None:
    """The groups that all of an answer is computed from."""
    if isinstance(plan, Filter | Project | Alias | Sort | Limit | Distinct):
        return groups_of(plan.input)
    return plan if isinstance(plan, GroupBy) else None


def lookup_form(plan: Node) -> LookupForm | Refusal:
    groups = groups_of(plan)
    if groups is None:
        return Refusal("only aggregates are looked up", f"aggregate the rows of a window, or {WITHOUT_LOOKUP}")
    for named in groups.aggregates:
        if not synopses_of(named.call):
            known = "COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE, APPROX_COUNT, APPROX_SUM and DECAYED_..."
            return Refusal(f"{named.call.function} cannot be looked up", f"{known} can: {WITHOUT_LOOKUP} for others")
    faded = {_is_faded(named.call) for named in groups.aggregates}
    return _over_stream(groups) if faded == {True} else _over_window(groups)


def _over_stream(groups: GroupBy) -> LookupForm | Refusal:
    """Aggregates that fade have no window."""
    below, window = groups.input, Window(Unbounded())
    while isinstance(below, Filter | Project | Alias):
        below = below.input
    if not isinstance(below, Stream) or below.lifetime is not None:
        return Refusal(
            "a DECAYED aggregate fades by itself, over all rows of one stream", "read the stream without [...]"
        )
    return LookupForm(groups, window, groups.input)


def window_on_stream(node: Node) -> Windowed | None:
    """A window on a stream whose rows do not end by themselves."""
    is_one = isinstance(node, Windowed) and isinstance(node.input, Stream) and node.input.lifetime is None
    return node if is_one and isinstance(node, Windowed) else None


def _over_window(groups: GroupBy) -> LookupForm | Refusal:
    below, filters = groups.input, []
    while isinstance(below, Filter | Project | Alias):
        filters += [below] if isinstance(below, Filter) else []
        below = below.input
    windowed = window_on_stream(below)
    if windowed is None:
        return Refusal("only aggregates over one window of one stream are looked up", WITHOUT_LOOKUP)
    if any(_is_faded(named.call) for named in groups.aggregates):
        return Refusal("DECAYED aggregates have no window, the others have one", "write two queries")
    refusal = _window_refusal(windowed.window, groups)
    if refusal is not None:
        return refusal
    if isinstance(windowed.window.extent, Rows):
        return _over_rows(groups, windowed, filters)
    return LookupForm(groups, windowed.window, _without(groups.input, windowed))


def _window_refusal(window: Window, groups: GroupBy) -> Refusal | None:
    is_known = isinstance(window.extent, Range | RangeAgo | Now | Rows)
    if window.internal or isinstance(window.slide, RowCount) or not is_known:
        return Refusal("this window cannot be looked up", f"write [RANGE ...] or [ROWS ...], or {WITHOUT_LOOKUP}")
    calls = (named.call for named in groups.aggregates)
    within = [call.function for call in calls if synopses_of(call) == (SynopsisKind.HISTOGRAM,)]
    if within and (not isinstance(window.extent, Range) or window.slide is not None):
        hint = f"write [RANGE ...] without SLIDE, or {WITHOUT_LOOKUP}"
        return Refusal(f"{within[0]} is looked up over windows that end now", hint)
    return None


def _over_rows(groups: GroupBy, windowed: Windowed, filters: list[Filter]) -> LookupForm | Refusal:
    """Rows are counted by group: then a condition on the keys keeps whole groups, and any other would miss some."""
    keys = [key.expression.name for key in groups.keys if isinstance(key.expression, ColumnReference)]
    partition = windowed.window.partition
    by_key = len(keys) == len(groups.keys) and set(keys) == set(partition)
    conditions = [part for one in filters for part in conjuncts(one.predicate)]
    if windowed.window.slide is not None or not by_key or any(not columns_of(part) <= {*keys} for part in conditions):
        hint = "write [PARTITION BY k ROWS n] and GROUP BY k, with no SLIDE and no WHERE on other columns"
        return Refusal("rows that are looked up are counted by group", f"{hint}, or {WITHOUT_LOOKUP}")
    return LookupForm(groups, windowed.window, windowed.input, tuple(conditions))


def _without(plan: Node, windowed: Windowed) -> Node:
    """The rows as they are before the window."""
    return windowed.input if plan is windowed else plan.with_inputs(_without(plan.inputs[0], windowed))


def synopses_of(call: AggregateCall) -> tuple[SynopsisKind, ...]:
    """In which synopses an aggregate can be looked up, over any window; none for one that cannot be."""
    if call.user is not None:
        if not call.user.has("merge"):
            return ()
        return (SynopsisKind.INTERVAL, SynopsisKind.RUNNING) if call.user.is_subtractable else (SynopsisKind.INTERVAL,)
    aggregate = AGGREGATES[call.function]
    if aggregate.synopsis is None or (call.distinct and aggregate.duplicate_sensitive):
        return ()
    if aggregate.approximation is Approximation.SUM and not _is_whole(call):
        return ()
    if aggregate.synopsis is SynopsisForm.RANKED and not _has_ranks(call):
        return ()
    return _KINDS[aggregate.synopsis]


def _has_ranks(call: AggregateCall) -> bool:
    """Whether values are in order by one word that never changes."""
    of = call.arguments[0].type
    is_wide = isinstance(of, DecimalType) and of.precision > MOST_DIGITS
    return of not in (STRING, BINARY) and not is_nested(of) and not is_wide


def _is_faded(call: AggregateCall) -> bool:
    return approximation_of(call) is Approximation.FADED


def thresholds_of(plan: Node, groups: GroupBy) -> tuple[Threshold, ...]:
    """What HAVING asks of whole numbers: one-sided bounds, each of which every group of the answer passes."""
    while not isinstance(plan, Filter) or plan.input is not groups:
        if plan is groups:
            return ()
        plan = plan.inputs[0]
    calls = {named.name: named.call for named in groups.aggregates}
    found = (_threshold(part, calls) for part in conjuncts(plan.predicate))
    return tuple(one for one in found if one is not None)


_SIDES = {
    IndexForm.ROWS: (True, False),
    IndexForm.WEIGHTS: (True, False),
    IndexForm.LARGEST: (True,),
    IndexForm.SMALLEST: (False,),
}
_TURNED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


def _threshold(part: Expression, calls: dict[str, AggregateCall]) -> Threshold | None:
    compared = _compared(part)
    if compared is None:
        return None
    name, sign, bound = compared
    call = calls.get(name)
    if call is None or not _is_indexed(call, above=sign in (">", ">=")):
        return None
    scale = call.type.scale if isinstance(call.type, DecimalType) else 0
    unit = Fraction(bound) * 10**scale
    if sign in (">", "<="):  # x > c is x > ⌊c⌋, and x <= c is x < ⌊c⌋ + 1
        return Threshold(name, sign == ">", math.floor(unit) + (sign == "<="))
    return Threshold(name, sign == ">=", math.ceil(unit) - (sign == ">="))


def _compared(part: Expression) -> tuple[str, str, int | Decimal] | None:
    """The column on the left, the sign and the number on the right of a comparison, written either way round."""
    if not isinstance(part, Call) or part.function not in _TURNED:
        return None
    side, other = part.arguments
    sign = part.function
    if isinstance(side, Literal):
        side, other, sign = other, side, _TURNED[sign]
    if (
        not isinstance(side, ColumnReference)
        or not isinstance(other, Literal)
        or type(other.value) not in (int, Decimal)
    ):
        return None
    assert isinstance(other.value, int | Decimal), other
    return side.name, sign, other.value


def _is_indexed(call: AggregateCall, above: bool) -> bool:
    """Whether a collective index knows which groups are above a bound, or below it."""
    if call.user is not None or call.distinct:
        return False
    index = AGGREGATES[call.function].index
    return index is not None and above in _SIDES[index] and (index is IndexForm.ROWS or _is_whole(call))


def _is_whole(call: AggregateCall) -> bool:
    of = call.arguments[0].type
    return is_integer(of) or (isinstance(of, DecimalType) and of.precision <= MOST_DIGITS)
