"""Windows as CQL text."""

from __future__ import annotations

from collections.abc import Callable

from windrow.plan.by_kind import ByKind
from windrow.plan.printer.expressions import expression_text
from windrow.plan.printer.names import column_name
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
from windrow.units import format_duration, format_timestamp


def window_text(window: Window) -> str:
    """`[RANGE 10 MINUTES SLIDE 30 SECONDS]`."""
    extent = _EXTENTS[window.extent](window.extent)
    return f"[{extent}{_slide(window)}{' INTERNAL' if window.internal else ''}]"


def _range(extent: Range) -> str:
    return f"RANGE {format_duration(extent.length)}"


def _range_ago(extent: RangeAgo) -> str:
    return f"RANGE FROM {format_duration(extent.begin)} TO {format_duration(extent.end)} AGO"


def _rows(extent: Rows) -> str:
    return f"{_partition(extent.partition)}ROWS {extent.count}"


def _rows_ago(extent: RowsAgo) -> str:
    return f"ROWS FROM {extent.begin} TO {extent.end} AGO"


def _latest(extent: Latest) -> str:
    return f"{_partition(extent.partition)}WHERE {expression_text(extent.predicate)}"


def _since(extent: Since) -> str:
    return f"SINCE TIMESTAMP '{format_timestamp(extent.begin)}'"


def _between(extent: Between) -> str:
    return f"FROM TIMESTAMP '{format_timestamp(extent.begin)}' TO TIMESTAMP '{format_timestamp(extent.end)}'"


def _partition(columns: tuple[str, ...]) -> str:
    return f"PARTITION BY {', '.join(column_name(name) for name in columns)} " if columns else ""


def _slide(window: Window) -> str:
    if window.slide is None:
        return ""
    if isinstance(window.slide, RowCount):
        return f" SLIDE {window.slide.count} ROWS"
    return f" SLIDE {format_duration(window.slide)}"


_EXTENTS: ByKind[Callable[..., str]] = ByKind(
    {
        Range: _range,
        RangeAgo: _range_ago,
        Rows: _rows,
        RowsAgo: _rows_ago,
        Latest: _latest,
        Since: _since,
        Between: _between,
        Now: lambda _: "NOW",
        Unbounded: lambda _: "RANGE UNBOUNDED",
    }
)
