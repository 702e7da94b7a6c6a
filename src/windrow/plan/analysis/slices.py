"""Which groups are computed from slices: rows of a periodic window that begin and end together are put together first.

Between two edges of a periodic window nothing is looked at, so all rows of a group in it can be replaced by something
smaller (thesis 2.2.1 and 2.3.4; panes). What that is depends on the aggregate:

    PARTIAL   one row of partial results
    COUNTERS  a counter for each different value, from which holistic aggregates are exact
    SUMMARY   counters that are cut to a bounded size once the slice, or sub-window, is complete

Rows have to come straight from a stream. Counters and partials stand for the rows exactly, so whether they are used is
the planner's affair. What a summary gives depends on what a sub-window is, so it is used wherever there are any.
"""

from __future__ import annotations

from windrow.plan.aggregate_class import SliceForm
from windrow.plan.aggregates import MOST_DIGITS, built_in
from windrow.plan.expressions import AggregateCall
from windrow.plan.nodes import Alias, Filter, GroupBy, Node, Project, Stream, Windowed
from windrow.plan.windows import RowCount, Rows, Window
from windrow.types import DecimalType


def slice_form(call: AggregateCall) -> SliceForm | None:
    """What the rows of a slice become for an aggregate; None for one that needs the rows."""
    aggregate = built_in(call)
    if aggregate is None:
        return None
    if call.distinct:
        return SliceForm.COUNTERS
    if aggregate.slices is not SliceForm.PARTIAL:
        return aggregate.slices
    types = [argument.type for argument in call.arguments]
    is_wide = any(isinstance(of, DecimalType) and of.precision > MOST_DIGITS for of in types)
    return None if is_wide else SliceForm.PARTIAL


def is_sliced(node: GroupBy) -> bool:
    """Whether what slices become is merged into the groups, if the planner may choose."""
    return is_summarised(node) or (_gives_slices(node.input) and _have_forms(node))


def is_summarised(node: GroupBy) -> bool:
    """Whether the answer is made of summaries of sub-windows."""
    asked = any(slice_form(named.call) is SliceForm.SUMMARY for named in node.aggregates)
    return asked and _have_forms(node) and gives_sub_windows(node.input)


def gives_sub_windows(node: Node) -> bool:
    """Whether rows come and go in sub-windows, in the order in which they came."""
    below = window_below(node)
    return below is not None and (counted_sub_windows(below.window) is not None or _slides_in_time(below.window))


def counted_sub_windows(window: Window) -> tuple[int, int] | None:
    """Rows in a sub-window and sub-windows in the window, where both are counted in rows."""
    extent, slide = window.extent, window.slide
    if not isinstance(slide, RowCount) or not isinstance(extent, Rows) or extent.partition or window.internal:
        return None
    return None if extent.count % slide.count else (slide.count, extent.count // slide.count)


def window_below(node: Node) -> Windowed | None:
    """The one window that gives all rows, selected and projected at most; None where there is anything else."""
    if isinstance(node, Filter | Project | Alias):
        return window_below(node.input)
    return node if isinstance(node, Windowed) and _is_stream(node.input) else None


def _is_stream(node: Node) -> bool:
    if isinstance(node, Filter | Project | Alias):
        return _is_stream(node.input)
    return isinstance(node, Stream) and node.lifetime is None


def _have_forms(node: GroupBy) -> bool:
    return all(slice_form(named.call) is not None for named in node.aggregates)


def _gives_slices(node: Node) -> bool:
    below = window_below(node)
    return below is not None and below.window.is_time_based and _slides_in_time(below.window)


def _slides_in_time(window: Window) -> bool:
    """A window that has its own time edges; what is counted in rows is not cut by them."""
    return isinstance(window.slide, int) and not window.internal and (window.is_time_based or window.is_open)
