"""Aggregates over a join of two windows that are answered when somebody asks: which queries, and what of them is kept.

The pairs of the join are kept in slices of time, by the slices of their two rows (thesis 8.3.2): so windows begin and
end at edges of slices. A slice is the greatest common divisor of the lengths and of the slide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd

from windrow.plan.analysis.lookups import (
    WITHOUT_LOOKUP,
    LookupForm,
    Refusal,
    groups_of,
    lookup_form,
    synopses_of,
    window_on_stream,
)
from windrow.plan.expressions import ColumnReference
from windrow.plan.nodes import Alias, Filter, GroupBy, Join, JoinKind, Node, Project, Stream, Windowed
from windrow.plan.synopsis_kinds import SynopsisKind, rows_of
from windrow.plan.windows import Range, Window
from windrow.units import Duration, format_duration

MOST_ROWS = 1 << 16  # of partial results of a group


@dataclass(frozen=True)
class JoinForm:
    """The groups of a query, the two windows that are joined, and the pairs, with all their columns."""

    groups: GroupBy
    windows: tuple[Window, Window]
    pairs: Node

    @property
    def lengths(self) -> tuple[int, int]:
        first, second = (window.extent for window in self.windows)
        assert isinstance(first, Range) and isinstance(second, Range), self.windows
        return first.length, second.length

    @property
    def slide(self) -> int:
        slide = self.windows[0].slide
        assert isinstance(slide, int), self.windows
        return slide

    @property
    def slice(self) -> int:
        return gcd(*self.lengths, self.slide)


def form_of(plan: Node) -> LookupForm | JoinForm | Refusal:
    """What is kept of a query that is looked up."""
    groups = groups_of(plan)
    if groups is None or not isinstance(below_projections(groups.input), Join):
        return lookup_form(plan)
    return _over_join(groups)


def with_lengths(pairs: Node, first: int, second: int) -> Node:
    """The pairs of the same join of windows of other lengths."""
    lengths = iter((first, second))

    def changed(node: Node) -> Node:
        if isinstance(node, Windowed):
            return replace(node, window=replace(node.window, extent=Range(Duration(next(lengths)))))
        return node.with_inputs(*map(changed, node.inputs)) if node.inputs else node

    return changed(pairs)


def below_projections(node: Node) -> Node:
    return below_projections(node.input) if isinstance(node, Filter | Project | Alias) else node


def _over_join(groups: GroupBy) -> JoinForm | Refusal:
    join = below_projections(groups.input)
    assert isinstance(join, Join), join
    for named in groups.aggregates:
        if SynopsisKind.BASIC_INTERVAL not in synopses_of(named.call):
            hint = f"COUNT, SUM, AVG, MIN and MAX can: {WITHOUT_LOOKUP} for others"
            return Refusal(f"{named.call.function} over a join cannot be looked up", hint)
    if join.kind is not JoinKind.INNER:
        return Refusal("an outer join cannot be looked up", f"write an inner join, or {WITHOUT_LOOKUP}")
    windows = []
    for side in join.inputs:
        window = _window_of(side)
        if isinstance(window, Refusal):
            return window
        windows.append(window)
    first, second = windows
    form = JoinForm(groups, (first, second), _with_all_columns(groups.input))
    return _too_fine(form) or form


def _window_of(side: Node) -> Window | Refusal:
    below = below_projections(side)
    if isinstance(below, Stream) and below.lifetime is None:
        return Refusal("a join with a whole stream cannot be looked up", "give both streams a [RANGE ... SLIDE ...]")
    windowed = window_on_stream(below)
    if windowed is None:
        return Refusal("only joins of two windows of streams are looked up", f"join two of them, or {WITHOUT_LOOKUP}")
    window = windowed.window
    if not isinstance(window.extent, Range) or window.internal:
        return Refusal("this window of a join cannot be looked up", f"write [RANGE ... SLIDE ...], or {WITHOUT_LOOKUP}")
    if not isinstance(window.slide, int):
        hint = "add a SLIDE to both windows, as in [RANGE 1 MINUTE SLIDE 10 SECONDS]"
        return Refusal("a join is looked up in slices, and a RANGE without SLIDE has none", hint)
    return window


def _too_fine(form: JoinForm) -> Refusal | None:
    first, second = (length // form.slice for length in form.lengths)
    if rows_of(max(first, second), abs(first - second)) <= MOST_ROWS:
        return None
    windows = f"windows of {first:,} and {second:,} slices, of {format_duration(form.slice)} each, are too many to keep"
    return Refusal(windows, "choose lengths and a SLIDE with a larger common divisor, or lengths that differ less")


def _with_all_columns(plan: Node) -> Node:
    """Without the projections that only drop columns: which ones nobody uses is decided for all queries together."""
    if isinstance(plan, Windowed):
        return plan
    inputs: Iterator[Node] = map(_with_all_columns, plan.inputs)
    if isinstance(plan, Project) and all(named.expression == _same(named.name, plan) for named in plan.columns):
        return next(inputs)
    return plan.with_inputs(*inputs)


def _same(name: str, plan: Project) -> ColumnReference | None:
    return plan.input.schema.column(name) if name in plan.input.schema else None
