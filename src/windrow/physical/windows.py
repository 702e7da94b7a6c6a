"""From windows to the operators that give tuples their lifetimes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from windrow.operators import (
    CutAtEnd,
    OpenLifetime,
    Operator,
    OwnEnd,
    PartitionWindow,
    PredicateWindow,
    RangeLifetime,
    RangeWindowSlidingByRows,
    RowsWindow,
    RowsWindowSlidingInTime,
    TimeWindow,
)
from windrow.operators.windows.sampling import Sampled, SampledLifetime
from windrow.operators.windows.time_window import WindowLifetime
from windrow.physical.expressions import ExpressionCompiler
from windrow.plan.by_kind import ByKind
from windrow.plan.nodes import Stream, Windowed
from windrow.plan.running_nodes import Stamped, below_exchange
from windrow.plan.schema import Schema
from windrow.plan.windows import (
    Between,
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
    window, stream = plan.window, below_exchange(plan.input)
    stream = stream.input if isinstance(stream, Stamped) else stream
    if not isinstance(stream, Stream) or stream.lifetime is None:
        return _operators(window, plan.input.schema, compiler)
    # A periodic window shows what the continuous one shows at its refreshes: cut first, then looked at.
    slide = window.slide if isinstance(window.slide, int) else None
    continuous = window if slide is None else replace(window, slide=None)
    cut = (OwnEnd(lifetime_ordinal(stream)), *_operators(continuous, plan.input.schema, compiler), CutAtEnd())
    return cut if slide is None else (*cut, _looked_at_every(slide))


def _operators(window: Window, schema: Schema, compiler: ExpressionCompiler) -> tuple[Operator[Any], ...]:
    if isinstance(window.slide, RowCount):
        return (_by_rows(window, window.slide.count, schema),)
    if not isinstance(window.extent, Rows | RowsAgo | Latest):
        return (TimeWindow(_LIFETIMES[window.extent](window.extent, window.slide)),)
    if isinstance(window.extent, Rows) and not window.partition and window.slide is not None:
        return (RowsWindowSlidingInTime(window.extent.count, window.slide),)
    counted = _by_count(window, schema, compiler)
    return (counted,) if window.slide is None else (counted, _looked_at_every(window.slide))


def _looked_at_every(slide: int) -> Sampled:
    return Sampled(SampledLifetime(slide, lag=1))


def lifetime_ordinal(stream: Stream) -> int:
    """Which column says how long a tuple lives."""
    return [field.name for field in stream.columns].index(stream.lifetime or "")


def _open(extent: Unbounded, slide: int | None) -> WindowLifetime:
    return OpenLifetime(slide=slide)


def _since(extent: Since, slide: int | None) -> WindowLifetime:
    return OpenLifetime(since=extent.begin, slide=slide)


def _between(extent: Between, slide: int | None) -> WindowLifetime:
    return OpenLifetime(extent.begin, extent.end)


def _range(extent: Range, slide: int | None) -> WindowLifetime:
    return RangeLifetime(extent.length, slide=slide)


def _range_ago(extent: RangeAgo, slide: int | None) -> WindowLifetime:
    return RangeLifetime(extent.begin, extent.end, slide)


def _now(extent: Now, slide: int | None) -> WindowLifetime:
    return RangeLifetime(1)


_LIFETIMES: ByKind[Callable[..., WindowLifetime]] = ByKind(
    {Range: _range, RangeAgo: _range_ago, Now: _now, Since: _since, Between: _between, Unbounded: _open},
    never={(Rows, RowsAgo, Latest): "rows end with later rows, not at a time"},
)


def _by_rows(window: Window, slide: int, schema: Schema) -> Operator[Any]:
    if isinstance(window.extent, Range):
        return RangeWindowSlidingByRows(window.extent.length, slide)
    assert isinstance(window.extent, Rows), window
    if window.partition:
        return PartitionWindow(_places(window, schema), window.extent.count, slide)
    return RowsWindow(window.extent.count, slide=slide)


def _places(window: Window, schema: Schema) -> tuple[int, ...]:
    return tuple(schema.names.index(name) for name in window.partition)


def _by_count(window: Window, schema: Schema, compiler: ExpressionCompiler) -> Operator[Any]:
    extent = window.extent
    places = _places(window, schema)
    if isinstance(extent, Latest):
        return PredicateWindow(places, compiler.predicate(extent.predicate))
    if isinstance(extent, RowsAgo):
        return RowsWindow(extent.begin, extent.end)
    assert isinstance(extent, Rows), extent
    return PartitionWindow(places, extent.count) if places else RowsWindow(extent.count)
