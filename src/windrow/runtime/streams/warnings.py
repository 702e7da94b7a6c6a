"""What `engine.status()` warns of: nothing is wrong enough to stop, but hardly what was meant.

A warning says of which stream, what, how many rows it is about, and since when (the arrival of the first of them).
"""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog import StreamEntry
from windrow.runtime.progress import IntakeReport
from windrow.sources.files import FORMATS


def warnings_of_rows(entry: StreamEntry, intake: IntakeReport) -> Iterator[tuple[str, int, int]]:
    """Rows without a column: a file without it is strange; of rows that are handed over some may leave it out."""
    is_files = entry.connector is not None and entry.connector.name in FORMATS
    for what, (count, since) in intake.warned.items():
        if is_files or (entry.connector is None and count >= intake.rows + intake.late):
            yield what, count, since
