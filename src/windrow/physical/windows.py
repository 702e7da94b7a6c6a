"""From windows to the operators that give tuples their lifetimes."""

from __future__ import annotations

from typing import Any

from windrow.errors import WindrowError
from windrow.operators import (
    ColumnLifetime,
    OpenLifetime,
    Operator,
    RangeLifetime,
    RangeWindowSlidingByRows,
    RowsWindow,
    RowsWindowSlidingInTime,
    TimeWindow,
)
from windrow.plan.nodes import Stream, Windowed
from windrow.plan.windows import Between, Now, Range, RangeAgo, RowCount, Rows, RowsAgo, Since, Unbounded, Window


def window_operator(plan: Windowed) -> Operator[Any]:
    """The operator of a window; a stream's own lifetimes are cut by it."""
    stream = plan.input
    if not isinstance(stream, Stream) or stream.lifetime is None:
        return _operator(plan.window)
    return TimeWindow(ColumnLifetime(lifetime_ordinal(stream), _length(plan.window)))


def lifetime_ordinal(stream: Stream) -> int:
    """Which column says how long a tuple lives."""
    return [field.name for field in stream.columns].index(stream.lifetime or "")


def _length(window: Window) -> int | None:
    if isinstance(window.extent, Range) and window.slide is None:
        return window.extent.length
    if isinstance(window.extent, Unbounded) and window.slide is None:
        return None
    raise WindrowError("a stream with LIFETIME BY takes [RANGE t] and no other window in this version", "use RANGE")


def _operator(window: Window) -> Operator[Any]:
    extent, slide = window.extent, window.slide
    if isinstance(slide, RowCount):
        return _by_rows(window, slide.count)
    if isinstance(extent, Range):
        return TimeWindow(RangeLifetime(extent.length, slide=slide))
    if isinstance(extent, RangeAgo):
        return TimeWindow(RangeLifetime(extent.begin, extent.end, slide))
    if isinstance(extent, Now):
        return TimeWindow(RangeLifetime(1))
    if isinstance(extent, Since):
        return TimeWindow(OpenLifetime(since=extent.begin, slide=slide))
    if isinstance(extent, Between):
        return TimeWindow(OpenLifetime(extent.begin, extent.end, slide))
    if isinstance(extent, Unbounded):
        return TimeWindow(OpenLifetime(slide=slide))
    return _by_count(window)


def _by_rows(window: Window, slide: int) -> Operator[Any]:
    if isinstance(window.extent, Rows) and not window.partition:
        return RowsWindow(window.extent.count, slide=slide)
    assert isinstance(window.extent, Range), window
    return RangeWindowSlidingByRows(window.extent.length, slide)


def _by_count(window: Window) -> Operator[Any]:
    extent, slide = window.extent, window.slide
    assert not isinstance(slide, RowCount), window
    if isinstance(extent, Rows) and not extent.partition:
        return RowsWindow(extent.count) if slide is None else RowsWindowSlidingInTime(extent.count, slide)
    if isinstance(extent, RowsAgo) and slide is None:
        return RowsWindow(extent.begin, extent.end)
    raise WindrowError(f"{type(extent).__name__} windows are not run by this version", "EXPLAIN shows the plan")
