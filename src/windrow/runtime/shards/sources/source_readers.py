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
from windrow.runtime.shards.sources.pushed_rows import PushedRows, files_pushed
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
        self._keys: dict[str, str] = {}  # the names of their sources in the checkpoint
        self._dropped: list[str] = []  # sources of which nothing is needed after the next commit
        self._manifests = FileManifests(checkpoint)
        self._positions = self._reached = SourcePositions()  # by the last commit but one, and by the batch after it
        self._batch = -1  # the one that was `done` last; it may not have been committed
        self._garbage: list[str] = []  # of that batch
        self._to_close: dict[str, int] = {}  # where streams end that could not be reached then
        self.failures = SourceFailures()
        self.resting: set[str] = set()  # streams that are to be passed by for a while
        self._is_going = False

    def resume(self, positions: SourcePositions) -> None:
        """Go on after a commit; streams are opened afterwards."""
        self._positions = self._reached = positions

    def go_on(self) -> None:
        """All statements of a checkpoint have been applied: the streams that are left are looked at."""
        self._is_going = True
        for name in self._entries:
            self._begin(name)

    def open(self, entry: StreamEntry, key: str) -> None:
        """A stream is there from now on; `key` is the name of its source in the checkpoint, which no other has had."""
        if is_brought(entry):
            return
        name = entry.name.lower()
        self._keys[name], self._entries[name] = key, entry
        if self._is_going:
            self._begin(name)

    def _begin(self, stream: str) -> None:
        connector, key = self._entries[stream].connector, self._keys[stream]
        following = self._positions.following.get(key, 0)
        reader: StreamReader
        if connector is None:
            reader = PushedRows(self._checkpoint, key, following)
        elif connector.name == "generator":
            reader = GeneratorRows(connector, following, self._rows_a_batch, self._tasks)
        else:
            reader = FileRows(connector, self._manifests.files_read(key, self._positions))
        self._readers[stream] = reader
        self._close_those_in_reach(stream, reader)

    def drop(self, stream: str, is_past: bool) -> None:
        """`is_past` if the last commit was made without it, perhaps with another one of its name."""
        self._entries.pop(stream, None)
        self._readers.pop(stream, None)
        self._to_close.pop(stream, None)
        key = self._keys.pop(stream, None)
        if not is_past:
            self._dropped += () if key is None else (key,)
            self._positions, self._reached = (_without(of, stream) for of in (self._positions, self._reached))
        self.failures.forget(stream)

    def pushed(self, stream: str) -> PushedRows | None:
        """The rows of a stream that are handed over; None when it has a source."""
        reader = self._readers.get(stream)
        return reader if isinstance(reader, PushedRows) else None

    def close(self, stream: str, at: int) -> None:
        """No more of a source than there is now, or of pushes than the first `at`."""
        if stream in self._entries:
            self._to_close[stream] = at
        if stream in self._readers:
            self._close_those_in_reach(stream, self._readers[stream])

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
            Read(name, part, "" if self._keys[name] == name else self._keys[name])
            for name, reader in self._readers.items()
            if name not in paused and not self._is_out(name)
            for part in reader.next_parts()
        )

    def exhausted(self) -> set[str]:
        """Streams of which there is nothing more to hand out, now or later."""
        return {name for name, reader in self._readers.items() if reader.is_exhausted}

    def hand_out(self, reads: Iterable[Read]) -> None:
        """A batch that was begun before has these."""
        for name, parts in _by_stream(reads, self._keys).items():
            self._readers[name].hand_out(parts)

    def done(
        self, spec: BatchSpec, unreadable: Mapping[Read, str], contents: Mapping[Part, int | None]
    ) -> tuple[SourcePositions, list[str]]:
        """How far sources have been read once a batch has happened, and what is not needed then.

        It is asked again for a batch that could not be committed and was run again.
        """
        if spec.number != self._batch:
            self._batch, self._garbage, self._positions = spec.number, [], self._reached
        changed: dict[str, Sequence[SeenFile]] = {}
        garbage = self._garbage
        for name, parts in _by_stream(spec.reads, self._keys).items():
            reader, key = self._readers[name], self._keys[name]
            if isinstance(reader, PushedRows):
                garbage += reader.done(parts)
            if isinstance(reader, FileRows):
                failed = {read.part: reason for read, reason in unreadable.items() if read.stream == name}
                if files := reader.done(parts, failed, contents):
                    changed[key] = files
        garbage += [file for key in self._dropped for file in files_pushed(self._checkpoint.folder, key)]
        self._dropped.clear()
        readers = {self._keys[name]: reader for name, reader in self._readers.items()}
        of_files = {key: reader for key, reader in readers.items() if isinstance(reader, FileRows)}
        self._reached = SourcePositions(
            {key: reader.following for key, reader in readers.items()},
            {**self._positions.delivered, **spec.delivered},
            self._manifests.written(spec.number, self._positions.manifests, of_files, changed, garbage),
            changed,
        )
        return self._reached, list(dict.fromkeys(garbage))

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


def _without(positions: SourcePositions, stream: str) -> SourcePositions:
    """Nothing of a stream has been delivered."""
    return replace(
        positions, delivered={name: number for name, number in positions.delivered.items() if name != stream}
    )


def _by_stream(reads: Iterable[Read], keys: Mapping[str, str]) -> dict[str, list[Part]]:
    """Of sources that are there still; a stream of the same name may have another one by now."""
    found: dict[str, list[Part]] = {}
    for read in reads:
        if keys.get(read.stream) == read.key:
            found.setdefault(read.stream, []).append(read.part)
    return found


def is_brought(stream: StreamEntry) -> bool:
    """Whether it is the host that reads the source of a stream."""
    return stream.connector is not None and stream.connector.name not in ("generator", *FORMATS)
