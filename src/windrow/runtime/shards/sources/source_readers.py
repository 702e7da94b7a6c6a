"""The sources that the driver reads itself, stream by stream: files, generators, and rows that are pushed.

It decides what the next micro-batch reads. What was handed out is read by that batch and no other, as often as the
batch has to be run; when it has been committed, `done` says what became of it. A source that cannot be reached is left
out until its pause is over, and the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import pyarrow as pa

from windrow.catalog import StreamEntry
from windrow.clock import Clock
from windrow.errors import WindrowError
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.sources.file_manifests import FileManifests
from windrow.runtime.shards.sources.file_rows import FileRows
from windrow.runtime.shards.sources.generator_rows import GeneratorRows
from windrow.runtime.shards.sources.pushed_rows import PushedRows
from windrow.runtime.shards.sources.reads import Part, Read, SourcePositions
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.source_failure import SourceFailures
from windrow.sources.connectors import stops_on_error
from windrow.sources.file_reads import SeenFile
from windrow.sources.files import FORMATS


class StreamReader(Protocol):
    """How one source is read on. What `next_parts` gives counts as handed out."""

    following: int

    @property
    def unread(self) -> int: ...
    @property
    def can_read(self) -> bool: ...
    @property
    def is_exhausted(self) -> bool: ...
    def look(self) -> None: ...
    def close(self, at: int) -> None: ...
    def next_parts(self) -> list[Part]: ...
    def hand_out(self, parts: Sequence[Part]) -> None: ...


class SourceReaders:
    """By names of streams in lower case."""

    def __init__(self, checkpoint: Checkpoint, clock: Clock, rows_a_batch: int, tasks: int) -> None:
        self._checkpoint = checkpoint
        self.clock = clock
        self._rows_a_batch, self._tasks = rows_a_batch, tasks
        self._readers: dict[str, StreamReader] = {}
        self._entries: dict[str, StreamEntry] = {}
        self._manifests = FileManifests(checkpoint)
        self._positions = SourcePositions()
        self._to_close: dict[str, int] = {}  # where streams end that could not be reached then
        self.failures = SourceFailures()
        self.resting: set[str] = set()  # streams that are to be passed by for a while

    def resume(self, positions: SourcePositions) -> None:
        """Go on after a commit; streams are opened afterwards."""
        self._positions = positions

    def open(self, entry: StreamEntry) -> None:
        """A stream that is read here is there from now on; one that the host brings is none of these."""
        name = entry.name.lower()
        reader = self._reader(entry, self._positions.following.get(name, 0))
        if reader is not None:
            self._readers[name], self._entries[name] = reader, entry

    def _reader(self, entry: StreamEntry, following: int) -> StreamReader | None:
        name, connector = entry.name.lower(), entry.connector
        if connector is None:
            return PushedRows(self._checkpoint, name, following)
        if connector.name == "generator":
            return GeneratorRows(connector, following, self._rows_a_batch, self._tasks)
        if connector.name in FORMATS:
            return FileRows(connector, self._manifests.files_read(name, self._positions))
        return None

    def drop(self, stream: str) -> None:
        self._readers.pop(stream, None)
        self._entries.pop(stream, None)
        brought = {name: number for name, number in self._positions.delivered.items() if name != stream}
        self._positions = replace(self._positions, delivered=brought)
        self.failures.works(stream)

    def pushed(self, stream: str) -> PushedRows | None:
        """The rows of a stream that are handed over; None when it has a source."""
        reader = self._readers.get(stream)
        return reader if isinstance(reader, PushedRows) else None

    def close(self, stream: str, at: int) -> None:
        """No more of a source than there is now, or of pushes than the first `at`."""
        reader = self._readers.get(stream)
        if reader is not None:
            self._to_close[stream] = at
            self._close_those_in_reach(stream, reader)

    def _close_those_in_reach(self, stream: str, reader: StreamReader) -> None:
        at = self._to_close.get(stream)
        if at is not None and self._reaching(stream, partial(reader.close, at)):
            del self._to_close[stream]

    def look(self, seldom: bool = False) -> None:
        """See what there is; `seldom` for whoever asks all the time."""
        for name, reader in list(self._readers.items()):
            if not self.failures.is_due(name, self.clock.now()):
                continue
            if not isinstance(reader, FileRows):
                continue
            if self._reaching(name, reader.look_if_due if seldom else reader.look):
                self.failures.works(name)
                self._close_those_in_reach(name, reader)

    def _reaching(self, stream: str, action: Callable[[], None]) -> bool:
        """Whether a source could be reached."""
        entry = self._entries[stream]
        try:
            action()
        except (WindrowError, OSError, pa.ArrowException) as error:
            message = error.message if isinstance(error, WindrowError) else str(error)
            if stops_on_error(entry.connector):
                hint = "bring it back, then start again with the same checkpoint"
                raise WindrowError(f"stream {entry.name} cannot be read: {message}", hint) from error
            self.failures.failed(entry.name, message, self.clock.now())
            return False
        return True

    def unread(self, stream: str) -> int | None:
        """How much there is to read of a stream: files, pushes, rows of a generator; None when the host brings it."""
        reader = self._readers.get(stream)
        return None if reader is None or _is_endless(reader) else reader.unread

    def silent(self, streams: Mapping[str, StreamEntry]) -> dict[str, StreamEntry]:
        """Those of some streams of which nothing waits to be read."""
        return {name: entry for name, entry in streams.items() if not self.unread(name)}

    def is_endless(self, stream: str) -> bool:
        reader = self._readers.get(stream)
        return reader is not None and _is_endless(reader)

    def is_read_here(self, stream: str) -> bool:
        return stream in self._readers

    def has_unread(self, paused: Collection[str] = ()) -> bool:
        """Whether there is something that could be read now, of streams that are not paused."""
        return any(
            reader.can_read for name, reader in self._readers.items() if name not in paused and not self._is_out(name)
        )

    def be_patient(self, seconds: float) -> None:
        """For so long nobody has to have written to a file before it is taken as it is."""
        for reader in self._readers.values():
            if isinstance(reader, FileRows):
                reader.reader.patience = seconds

    def settles_in(self, seen_since: float) -> float | None:
        """Seconds until a file that is there can be taken as it is; None when there is none to wait for."""
        files = (reader.reader for reader in self._readers.values() if isinstance(reader, FileRows))
        waits = (wait for reader in files if (wait := reader.settles_in(seen_since)) is not None)
        return min(waits, default=None)

    def _is_out(self, stream: str) -> bool:
        return stream in self.resting or not self.failures.is_due(stream, self.clock.now())

    def next_reads(self, paused: Collection[str] = ()) -> tuple[Read, ...]:
        """What the next micro-batch reads."""
        return tuple(
            Read(name, part)
            for name, reader in self._readers.items()
            if name not in paused and not self._is_out(name)
            for part in reader.next_parts()
        )

    def exhausted(self) -> set[str]:
        """Streams of which there is nothing more to hand out, now or later."""
        return {name for name, reader in self._readers.items() if reader.is_exhausted}

    def hand_out(self, reads: Iterable[Read]) -> None:
        """A batch that was begun before has these."""
        for name, parts in _by_stream(reads).items():
            if name in self._readers:
                self._readers[name].hand_out(parts)

    def done(self, spec: BatchSpec, unreadable: Mapping[Read, str]) -> tuple[SourcePositions, list[str]]:
        """How far sources have been read once a batch has happened, and what is not needed then."""
        changed: dict[str, Sequence[SeenFile]] = {}
        garbage: list[str] = []
        for name, parts in _by_stream(spec.reads).items():
            reader = self._readers.get(name)
            if isinstance(reader, PushedRows):
                garbage += reader.done(parts)
            if isinstance(reader, FileRows):
                failed = {read.part: reason for read, reason in unreadable.items() if read.stream == name}
                if files := reader.done(parts, failed):
                    changed[name] = files
        seen = {name: reader.reader.seen for name, reader in self._readers.items() if isinstance(reader, FileRows)}
        self._positions = SourcePositions(
            {name: reader.following for name, reader in self._readers.items()},
            {**self._positions.delivered, **spec.delivered},
            self._manifests.written(spec.number, self._positions.manifests, seen, changed, garbage),
            changed,
        )
        return self._positions, garbage

    def status(self, stream: str) -> dict[str, Any]:
        """What `engine.status()` shows of how a stream is read."""
        reader = self._readers.get(stream)
        shown: dict[str, Any] = {"unread": self.unread(stream)}
        if isinstance(reader, FileRows):
            shown["files"] = reader.reader.status()
        return shown

    def retry(self, stream: str) -> list[str]:
        """Have rejected files of a stream be read again; which these are."""
        reader = self._readers.get(stream)
        return reader.reader.retry() if isinstance(reader, FileRows) else []


def _is_endless(reader: StreamReader) -> bool:
    return isinstance(reader, GeneratorRows) and reader.is_endless


def _by_stream(reads: Iterable[Read]) -> dict[str, list[Part]]:
    found: dict[str, list[Part]] = {}
    for read in reads:
        found.setdefault(read.stream, []).append(read.part)
    return found
