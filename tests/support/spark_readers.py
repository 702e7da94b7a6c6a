"""Queries of Spark's over what a query of ours emits.

Spark gives the Python process that reads for it ten seconds to start, which is little on a busy machine: then its query
ends, and is started again here, as its user would.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from support.waiting import until

TOO_SLOW = "failed to connect back"


def reader_of(frame: DataFrame) -> StreamingQuery:
    """One that has had rows, and goes on."""

    def has_had_rows(reader: StreamingQuery) -> bool:
        return any(progress.numInputRows for progress in reader.recentProgress)

    return _started(lambda: frame.writeStream.format("noop").start(), has_had_rows)


def read_all(start: Callable[[], StreamingQuery]) -> None:
    """Until a query that ends by itself has ended."""
    _started(start, lambda reader: not reader.isActive).awaitTermination()


def _started(start: Callable[[], StreamingQuery], is_far: Callable[[StreamingQuery], bool]) -> StreamingQuery:
    while True:
        reader = start()
        until(lambda reader=reader: is_far(reader) or not reader.isActive, "rows for a reader")  # type: ignore[misc]
        if reader.isActive or TOO_SLOW not in str(reader.exception()):
            return reader
