"""Groups from slices: the plan in which rows of a periodic window are put together before they are grouped."""

from __future__ import annotations

from windrow.physical.aggregates import partial_of
from windrow.plan.analysis.slices import is_sliced
from windrow.plan.nodes import GroupBy, MergeGroups, Node, SlicePartials
from windrow.plan.rewrite import bottom_up
from windrow.plan.schema import Field


def with_slices(plan: Node) -> Node:
    """The same answers, from partial results where the plan allows it."""
    return bottom_up(plan, _sliced)


def _sliced(node: Node) -> Node | None:
    if not isinstance(node, GroupBy) or isinstance(node, MergeGroups) or not is_sliced(node):
        return None
    partials = tuple(
        Field(f"{named.name} {place}", type)
        for named in node.aggregates
        for place, type in enumerate(partial_of(named.call, 0 if named.call.arguments else None).types())
    )
    slices = SlicePartials(node.input, node.keys, node.aggregates, partials)
    return MergeGroups(slices, node.keys, node.aggregates)
