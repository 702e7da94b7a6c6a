"""Windows by their definitions, row by row in plain Python: which rows of a stream are in view at an instant.

Nothing here is shared with the kernels; the windows themselves are those of `windrow.plan.windows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from windrow.plan.windows import Between, Latest, Now, Range, RangeAgo, RowCount, Rows, RowsAgo, Since, Window

Row = dict[str, Any]  # with its time in microseconds under "ts"


def stream_order(rows: Sequence[Row], ties: Sequence[str]) -> list[Row]:
    """By time, then by the tie columns, then by the values in column order; nulls first."""

    def key(row: Row) -> list[Any]:
        names = [*ties, *(name for name in row if name not in ties)]
        return [row["ts"], *((row[name] is not None, row[name] if row[name] is not None else 0) for name in names)]

    return sorted(rows, key=key)


def in_view(rows: Sequence[Row], window: Window | None, now: int, lifetime: str | None = None) -> list[Row]:
    """The rows of a stream, in its order, that a window shows at an instant; `lifetime` names the column of their own.

    A window that slides in time shows what it would show without SLIDE one tick before its last refresh.
    """
    if window is not None and isinstance(window.slide, int):
        return in_view(rows, replace(window, slide=None), now // window.slide * window.slide - 1, lifetime)
    past = [row for row in rows if row["ts"] <= now]
    seen = past if window is None else _through(past, window, now)
    return [row for row in seen if lifetime is None or row[lifetime] is None or now < row["ts"] + row[lifetime]]


def _through(past: list[Row], window: Window, now: int) -> list[Row]:
    extent, edge = window.extent, now
    if isinstance(extent, Rows | Latest):
        return _last_of_each(past, extent, window.slide.count if isinstance(window.slide, RowCount) else 1)
    if isinstance(window.slide, RowCount):
        past = past[: len(past) // window.slide.count * window.slide.count]
        edge = past[-1]["ts"] if past else now
    if isinstance(extent, Range):
        return [row for row in past if edge - extent.length < row["ts"]]
    if isinstance(extent, RangeAgo):
        return [row for row in past if edge - extent.begin < row["ts"] <= edge - extent.end]
    if isinstance(extent, Now):
        return [row for row in past if row["ts"] == edge]
    if isinstance(extent, Since):
        return [row for row in past if row["ts"] >= extent.begin]
    if isinstance(extent, Between):
        return [row for row in past if extent.begin <= row["ts"] < extent.end]
    if isinstance(extent, RowsAgo):
        return past[max(0, len(past) - extent.begin) : max(0, len(past) - extent.end)]
    return past


def _last_of_each(past: Sequence[Row], extent: Rows | Latest, slide: int) -> list[Row]:
    """As of each `slide`-th row of a partition; without columns all rows are one."""
    names = [name.rpartition(".")[2] for name in extent.partition]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in past:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    count = extent.count if isinstance(extent, Rows) else 1
    return [row for group in groups.values() for row in group[: len(group) // slide * slide][-count:]]
