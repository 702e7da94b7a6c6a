"""Windows as CQL text."""

from __future__ import annotations

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
    Window,
)
from windrow.units import format_duration, format_timestamp


def window_text(window: Window) -> str:
    """`[RANGE 10 MINUTES SLIDE 30 SECONDS]`."""
    return f"[{_extent(window)}{_slide(window)}{' INTERNAL' if window.internal else ''}]"


def _extent(window: Window) -> str:
    extent = window.extent
    if isinstance(extent, Range):
        return f"RANGE {format_duration(extent.length)}"
    if isinstance(extent, RangeAgo):
        return f"RANGE FROM {format_duration(extent.begin)} TO {format_duration(extent.end)} AGO"
    if isinstance(extent, Rows):
        return f"{_partition(extent.partition)}ROWS {extent.count}"
    if isinstance(extent, RowsAgo):
        return f"ROWS FROM {extent.begin} TO {extent.end} AGO"
    if isinstance(extent, Latest):
        return f"{_partition(extent.partition)}WHERE {expression_text(extent.predicate)}"
    if isinstance(extent, Since):
        return f"SINCE TIMESTAMP '{format_timestamp(extent.begin)}'"
    if isinstance(extent, Between):
        return f"FROM TIMESTAMP '{format_timestamp(extent.begin)}' TO TIMESTAMP '{format_timestamp(extent.end)}'"
    return "NOW" if isinstance(extent, Now) else "RANGE UNBOUNDED"


def _partition(columns: tuple[str, ...]) -> str:
    return f"PARTITION BY {', '.join(column_name(name) for name in columns)} " if columns else ""


def _slide(window: Window) -> str:
    if window.slide is None:
        return ""
    if isinstance(window.slide, RowCount):
        return f" SLIDE {window.slide.count} ROWS"
    return f" SLIDE {format_duration(window.slide)}"
