"""What EXPLAIN says about aggregates that are answered from slices: what is kept of them, and what is certain."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.plan.analysis.slices import is_sliced, is_summarised
from windrow.plan.expressions import AggregateCall, Literal
from windrow.plan.nodes import GroupBy, MergeGroups
from windrow.plan.printer import aggregate_text


def slice_notes(node: GroupBy) -> Iterator[str]:
    """A line for each aggregate whose slices are more than one row of partial results."""
    from_slices = isinstance(node, MergeGroups) or is_sliced(node)
    summarised = isinstance(node, MergeGroups) or is_summarised(node)
    for named in node.aggregates:
        if named.call.function == "FREQUENT" and from_slices and summarised:
            yield f"{aggregate_text(named.call)}: {_frequent(named.call)}"


def _frequent(call: AggregateCall) -> str:
    size = call.arguments[1]
    assert isinstance(size, Literal), call
    return (
        f"the {size.value!r} most frequent values of each sub-window are kept; no false positives: every item has more"
        " rows than the threshold; items may be missing where complete is false"
    )
