"""Groups from slices: the plan in which rows of a periodic window are put together before they are grouped."""

from __future__ import annotations

from collections.abc import Callable

from windrow.plan.analysis.slices import counted_sub_windows, is_sliced, is_summarised, window_below
from windrow.plan.nodes import GroupBy, Node, Windowed
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import LastSubWindows, MergeGroups, SlicePartials, SliceSummaries, SubWindows
from windrow.plan.slice_columns import slice_columns
from windrow.sharing.starting import Plans, Starting


def with_slices(plans: Plans, starting: Starting) -> Plans:
    """The same answers, from slices wherever a plan allows it."""
    return {name: _sliced(plan, is_sliced) for name, plan in plans.items()}


def with_summaries(plans: Plans, starting: Starting) -> Plans:
    """Slices only where the answer is made of them: it depends on what a sub-window is."""
    return {name: _sliced(plan, is_summarised) for name, plan in plans.items()}


def _sliced(plan: Node, is_wanted: Callable[[GroupBy], bool]) -> Node:
    def rule(node: Node) -> Node | None:
        if not isinstance(node, GroupBy) or not is_wanted(node):
            return None
        return MergeGroups(_slices(node), node.keys, node.aggregates)

    return bottom_up(plan, rule)


def _slices(node: GroupBy) -> Node:
    fields = slice_columns(node.aggregates).fields
    if not is_summarised(node):
        return SlicePartials(node.input, node.keys, node.aggregates, fields)
    window = window_below(node.input)
    assert window is not None, node
    if counted_sub_windows(window.window) is None:
        return SliceSummaries(SlicePartials(node.input, node.keys, node.aggregates, fields), node.keys, node.aggregates)
    apart = SubWindows(window.input, window.window)
    rows = bottom_up(node.input, lambda below: apart if below == window and isinstance(below, Windowed) else None)
    partials = SlicePartials(rows, node.keys, node.aggregates, fields)
    return LastSubWindows(SliceSummaries(partials, node.keys, node.aggregates), apart)
