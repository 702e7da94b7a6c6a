"""What EXPLAIN says about aggregates of values: what is kept for them, and what is certain about approximate ones."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.plan.aggregate_class import SliceForm
from windrow.plan.analysis.bounds import bound_of, stored_for
from windrow.plan.analysis.slices import slice_form
from windrow.plan.printer import aggregate_text
from windrow.plan.running_nodes import Grouping, MergeGroups


def slice_notes(node: Grouping) -> Iterator[str]:
    """A line for each aggregate that is approximate, or exact from counters of slices."""
    from_slices = isinstance(node, MergeGroups)
    for named in node.aggregates:
        bound = bound_of(node, named.call)
        if bound is not None:
            yield f"{aggregate_text(named.call)}: {bound}; keeps {stored_for(node, named.call)}"
        elif from_slices and slice_form(named.call) is SliceForm.COUNTERS:
            yield f"{aggregate_text(named.call)}: from a counter a value of each slice and group"
