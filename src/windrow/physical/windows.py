"""From windows to the operators that give tuples their lifetimes."""

from __future__ import annotations

from typing import Any

from windrow.errors import WindrowError
from windrow.operators import (
    ColumnLifetime,
    OpenLifetime,
    Operator,
    PartitionWindow,
    PredicateWindow,
    RangeLifetime,
    RangeWindowSlidingByRows,
    RowsWindow,
    RowsWindowSlidingInTime,
    TimeWindow,
)
from windrow.operators.sampling import SampledLifetime
from windrow.operators.time_window import Lifetime
from windrow.physical.expressions import ExpressionCompiler
from windrow.plan.nodes import Stream, Windowed
from windrow.plan.schema import Schema
from windrow.plan.windows import (
    Between,
    Extent,
    Latest,
    Now,
    Range,
    RangeAgo,
    RowCount,
    Rows,
    RowsAgo,
    Since,
    Unbounded,
    Window,
)


def window_operators(plan: Windowed, compiler: ExpressionCompiler) -> tuple[Operator[Any], ...]:
    """The operators of a window, the first to be applied first; a stream's own lifetimes are cut by it."""
    window, stream = plan.window, plan.input
    if isinstance(stream, Stream) and stream.lifetime is not None:
        return (TimeWindow(ColumnLifetime(lifetime_ordinal(stream), _length(window))),)
    if isinstance(window.slide, RowCount):
        return (_by_rows(window, window.slide.count),)
    if not isinstance(window.extent, Rows | RowsAgo | Latest):
        return (TimeWindow(_lifetime(window.extent, window.slide)),)
    if isinstance(window.extent, Rows) and not window.partition and window.slide is not None:
        return (RowsWindowSlidingInTime(window.extent.count, window.slide),)
    counted = _by_count(window, plan.input.schema, compiler)
    if window.slide is None:
        return (counted,)
    return counted, TimeWindow(SampledLifetime(window.slide, lag=1))


def lifetime_ordinal(stream: Stream) -> int:
    """Which column says how long a tuple lives."""
    return [field.name for field in stream.columns].index(stream.lifetime or "")


def _length(window: Window) -> int | None:
    if isinstance(window.extent, Range) and window.slide is None:
        return window.extent.length
    if isinstance(window.extent, Unbounded) and window.slide is None:
        return None
    raise WindrowError("a stream with LIFETIME BY takes [RANGE t] and no other window in this version", "use RANGE")


def _lifetime(extent: Extent, slide: int | None) -> Lifetime:
    if isinstance(extent, Range):
        return RangeLifetime(extent.length, slide=slide)
    if isinstance(extent, RangeAgo):
        return RangeLifetime(extent.begin, extent.end, slide)
    if isinstance(extent, Now):
        return RangeLifetime(1)
    if isinstance(extent, Since):
        return OpenLifetime(since=extent.begin, slide=slide)
    return OpenLifetime(extent.begin, extent.end) if isinstance(extent, Between) else OpenLifetime(slide=slide)


def _by_rows(window: Window, slide: int) -> Operator[Any]:
    if isinstance(window.extent, Range):
        return RangeWindowSlidingByRows(window.extent.length, slide)
    if isinstance(window.extent, Rows) and not window.partition:
        return RowsWindow(window.extent.count, slide=slide)
    raise WindrowError("a partitioned window does not slide by rows in this version", "write SLIDE with an interval")


def _by_count(window: Window, schema: Schema, compiler: ExpressionCompiler) -> Operator[Any]:
    extent = window.extent
    places = tuple(schema.names.index(name) for name in window.partition)
    if isinstance(extent, Latest):
        return PredicateWindow(places, compiler.predicate(extent.predicate))
    if isinstance(extent, RowsAgo):
        return RowsWindow(extent.begin, extent.end)
    assert isinstance(extent, Rows), extent
    return PartitionWindow(places, extent.count) if places else RowsWindow(extent.count)
