"""What `engine.status()` warns of: nothing is wrong enough to stop, but hardly what was meant.

A warning says of which stream, what, how many rows it is about, and since when (the arrival of the first of them).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from windrow.catalog import StreamEntry
from windrow.runtime.progress import IntakeReport, StreamProgress
from windrow.sources.files import FORMATS
from windrow.units import format_timestamp


def warnings(streams: Iterable[tuple[StreamEntry, StreamProgress]]) -> list[dict[str, Any]]:
    """Of all streams, in their order."""
    return [
        {"stream": entry.name, "what": what, "count": count, "since": format_timestamp(since)}
        for entry, progress in streams
        for what, count, since in _of_stream(entry, progress.intake)
    ]


def _of_stream(entry: StreamEntry, intake: IntakeReport) -> Iterator[tuple[str, int, int]]:
    """Rows without a column: a file without it is strange; of rows that are handed over some may leave it out."""
    is_files = entry.connector is not None and entry.connector.name in FORMATS
    for what, (count, since) in intake.warned.items():
        if is_files or (entry.connector is None and count >= intake.rows + intake.late):
            yield what, count, since
