"""Slices for several queries: windows of different lengths and slides over the same groups share partial results.

Rows within the greatest common divisor of a window's length and slide get the same lifetime from it, so they can be put
together before the window is looked at, once for all queries with that divisor. Slices of a width are made from the
widest slices that divide it, and only those that nothing divides from rows. Partial results are exact, so sharing shows
in no answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import gcd
from typing import NamedTuple

from windrow.plan.aggregate_class import SliceForm
from windrow.plan.analysis.slices import slice_form, window_below
from windrow.plan.expressions import AggregateCall, Named
from windrow.plan.nodes import Node, Windowed
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import MergeGroups, SharedSlices, SlicePartials
from windrow.plan.strategy import Strategy
from windrow.plan.windows import Range, RangeAgo, Window
from windrow.sharing.starting import Plans, Starting

_FINEST = 4  # slices in a slide, up to which they are worth sharing


class _Slices(NamedTuple):
    """Slices that could be shared: of these rows, by these keys, for these aggregates."""

    rows: Node
    keys: tuple[Named, ...]
    calls: tuple[AggregateCall, ...]


def with_shared_slices(plans: Plans, starting: Starting) -> Plans:
    """Plans over shared slices; NT takes back rows, not slices."""
    if starting.strategy is Strategy.NT:
        return plans
    windows: dict[_Slices, dict[Window, SlicePartials]] = {}
    for plan in plans.values():
        for node in plan.walk():
            if isinstance(node, MergeGroups) and isinstance(node.input, SlicePartials):
                found = _shareable(node.input)
                if found is not None:
                    windows.setdefault(found[0], {})[found[1].window] = node.input
    shared = {slices: _by_width(slices, own) for slices, own in windows.items() if len(own) > 1}
    if not shared:
        return plans

    def rule(node: Node) -> Node | None:
        if not isinstance(node, MergeGroups) or not isinstance(node.input, SlicePartials):
            return None
        found = _shareable(node.input)
        if found is None or found[0] not in shared:
            return None
        slices, window = found
        below = shared[slices][_width(window.window) or 0]
        return replace(node, input=Windowed(below, window.window))

    return {name: bottom_up(plan, rule) for name, plan in plans.items()}


def _shareable(node: SlicePartials) -> tuple[_Slices, Windowed] | None:
    window = window_below(node.input)
    partial = all(slice_form(named.call) is SliceForm.PARTIAL for named in node.aggregates)
    if window is None or not partial or _width(window.window) is None:
        return None
    rows = bottom_up(node.input, lambda below: window.input if below == window else None)
    return _Slices(rows, node.keys, tuple(named.call for named in node.aggregates)), window


def _width(window: Window) -> int | None:
    """How long slices are that a window takes as a whole; None where they would be much shorter than its slide."""
    extent, slide = window.extent, window.slide
    if not isinstance(slide, int) or not isinstance(extent, Range | RangeAgo):
        return None
    lengths = (extent.length,) if isinstance(extent, Range) else (extent.begin, extent.end)
    width = gcd(slide, *lengths)
    return width if slide <= _FINEST * width else None


def _by_width(slices: _Slices, windows: dict[Window, SlicePartials]) -> dict[int, SharedSlices]:
    """Slices of every width that is asked for, the short ones first."""
    example = next(iter(windows.values()))
    made: dict[int, SharedSlices] = {}
    for width in sorted({width for window in windows if (width := _width(window)) is not None}):
        below = made[widest] if (widest := _widest(made, width)) else slices.rows
        made[width] = SharedSlices(below, example.keys, example.aggregates, example.partials, width)
    return made


def _widest(widths: Iterable[int], dividing: int) -> int:
    return max((width for width in widths if dividing % width == 0), default=0)
