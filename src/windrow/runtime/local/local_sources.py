"""The sources of the local engine, read a chunk at a time; one that cannot be reached is passed by for a while."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

from windrow.catalog import StreamEntry
from windrow.clock import Clock
from windrow.errors import WindrowError
from windrow.runtime.source_failure import SourceFailures
from windrow.sources.connectors import stops_on_error, stream_source_of
from windrow.sources.folder_reader import FolderReader
from windrow.sources.folder_tables import NOTHING_YET, FolderTables


class LocalSources:
    """By names of streams in lower case."""

    def __init__(self, clock: Clock) -> None:
        self.failures = SourceFailures()
        self._clock = clock
        self._sources: dict[str, Iterator[pa.Table]] = {}
        self._streams: dict[str, StreamEntry] = {}
        self._folders: dict[str, FolderReader] = {}  # of streams that read files, also when they have ended

    def open(self, stream: StreamEntry) -> None:
        name = stream.name.lower()
        self._streams[name] = stream
        if stream.connector is not None:
            source = self._sources[name] = stream_source_of(stream.connector, stream.given)
            if isinstance(source, FolderTables):
                self._folders[name] = source.reader

    def put(self, stream: str, tables: Iterator[pa.Table]) -> None:
        """Rows that Python holds, for a stream that was opened without a source."""
        self._sources[stream] = tables

    def remove(self, stream: str) -> None:
        for known in (self._sources, self._streams, self._folders):
            known.pop(stream, None)
        self.failures.forget(stream)

    def names(self) -> Collection[str]:
        """Of streams whose sources have not ended."""
        return self._sources.keys()

    def being_read(self) -> set[str]:
        """Those of which there is more to read, as far as is known."""
        return {name for name in self._sources if name not in self._folders or self._folders[name].unread}

    def next_of(self, stream: str) -> pa.Table | None:
        """The next chunk; `NOTHING_YET` when there is none now, None when the source has ended."""
        if not self.failures.is_due(stream, self._clock.now()):
            return NOTHING_YET
        try:
            table = next(self._sources[stream], None)
        except (WindrowError, OSError, pa.ArrowException) as error:
            self._failed(stream, error)
            return NOTHING_YET
        self.failures.works(stream)
        if table is None:
            del self._sources[stream]
        return table

    def _failed(self, name: str, error: Exception) -> None:
        stream = self._streams[name]
        if stops_on_error(stream.connector):
            raise error
        message = error.message if isinstance(error, WindrowError) else str(error)
        self.failures.failed(stream.name, message, self._clock.now())

    def follow(self) -> None:
        """Read on in folders when all files that are there have been read."""
        for source in self._sources.values():
            if isinstance(source, FolderTables):
                source.follows = True

    def retry(self, stream: str) -> list[str]:
        """Have rejected files of a stream be read again; which these are."""
        return self._folders[stream].retry() if stream in self._folders else []

    def status(self, stream: str) -> dict[str, Any]:
        """What is shown of the files of a stream, if it reads some."""
        return {"files": self._folders[stream].status()} if stream in self._folders else {}
