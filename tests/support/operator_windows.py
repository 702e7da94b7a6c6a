"""Every window operator beside its definition: the rows of a stream that are in view at an instant."""

from __future__ import annotations

from support import operator_oracle
from support.operator_cases import positive
from windrow.operators import (
    ColumnLifetime,
    OpenLifetime,
    PartitionWindow,
    PredicateWindow,
    RangeLifetime,
    RangeWindowSlidingByRows,
    RowsWindow,
    RowsWindowSlidingInTime,
    TimeWindow,
)

WINDOWS = {
    "range": (TimeWindow(RangeLifetime(10)), operator_oracle.last(10)),
    "now": (TimeWindow(RangeLifetime(1)), operator_oracle.last(1)),
    "historical": (TimeWindow(RangeLifetime(20, ago=5)), operator_oracle.last(20, 5)),
    "sliding": (TimeWindow(RangeLifetime(10, slide=4)), operator_oracle.last_every(10, 4)),
    "tumbling": (TimeWindow(RangeLifetime(8, slide=8)), operator_oracle.last_every(8, 8)),
    "with gaps": (TimeWindow(RangeLifetime(3, slide=7)), operator_oracle.last_every(3, 7)),
    "unbounded": (TimeWindow(OpenLifetime()), operator_oracle.unbounded),
    "landmark": (
        TimeWindow(OpenLifetime(since=9)),
        lambda rows, now: [r for r in rows if 9 <= r[0] <= now],
    ),
    "fixed": (
        TimeWindow(OpenLifetime(since=9, until=30)),
        lambda rows, now: [r for r in rows if 9 <= r[0] <= now and r[0] < 30],
    ),
    "own lifetimes": (TimeWindow(ColumnLifetime(1)), operator_oracle.by_column(2)),
    "rows": (RowsWindow(5), operator_oracle.last_rows(5)),
    "one row": (RowsWindow(1), operator_oracle.last_rows(1)),
    "historical rows": (RowsWindow(7, ago=3), operator_oracle.last_rows(7, 3)),
    "rows sliding": (RowsWindow(5, slide=3), operator_oracle.last_rows(5, slide=3)),
    "rows with gaps": (RowsWindow(2, slide=3), operator_oracle.last_rows(2, slide=3)),
    "rows sliding in time": (RowsWindowSlidingInTime(4, 6), operator_oracle.last_rows_every(4, 6)),
    "rows of each": (PartitionWindow((0,), 2), operator_oracle.last_rows_of_each(2)),
    "rows of each, sliding": (PartitionWindow((0,), 3, 2), operator_oracle.last_rows_of_each(3, 2)),
    "rows of each, with gaps": (PartitionWindow((0,), 2, 3), operator_oracle.last_rows_of_each(2, 3)),
    "newest of each, while": (
        PredicateWindow((0,), positive),
        lambda rows, now: [r for r in operator_oracle.last_rows_of_each(1)(rows, now) if r[2] is not None and r[2] > 0],
    ),
    "range sliding by rows": (RangeWindowSlidingByRows(9, 3), operator_oracle.last_by_rows(9, 3)),
}
