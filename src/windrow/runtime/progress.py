"""How far time has come: a pure function from what was known and what a batch of rows brought.

The watermark of a stream is the largest timestamp seen less its slack. A row is late, once and for everybody, when it
is before its own stream's watermark as of the last advance (`final`). Everything else moves with the streams below it:
the watermark of an operator or a query is the smallest of theirs, and when it moves, the segment from the old to the
new one is final. Time begins for each of them with the first row of its own streams. Every shard works this out by
itself from the same reports, and comes to the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from windrow.runtime.readers import Reader, Streams
from windrow.units import BEGINNING, FOREVER


class Occurrences(NamedTuple):
    """How many rows something happened to, and when for the first time: the arrival of that row."""

    rows: int
    since: int

    def merged(self, other: Occurrences | None) -> Occurrences:
        return self if other is None else Occurrences(self.rows + other.rows, min(self.since, other.since))


@dataclass(frozen=True)
class IntakeReport:
    """What some rows of a stream brought: how many, and the times of the first and the newest that were taken."""

    rows: int = 0
    first: int = FOREVER
    newest: int = BEGINNING
    promised: int = BEGINNING  # by punctuations: no row before it will come
    late: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    read: int = 0  # how much of the source this was: files, or rows of a generator
    warned: Mapping[str, Occurrences] = field(default_factory=dict)  # rows that were taken, but hardly as meant

    def __add__(self, other: IntakeReport) -> IntakeReport:
        rejected = {
            reason: self.rejected.get(reason, 0) + other.rejected.get(reason, 0)
            for reason in {**self.rejected, **other.rejected}
        }
        return IntakeReport(
            self.rows + other.rows,
            min(self.first, other.first),
            max(self.newest, other.newest),
            max(self.promised, other.promised),
            self.late + other.late,
            rejected,
            self.read + other.read,
            {**other.warned, **{what: had.merged(other.warned.get(what)) for what, had in self.warned.items()}},
        )

    @property
    def arrived(self) -> int:
        """All rows that came, whatever became of them."""
        return self.rows + self.late + sum(self.rejected.values())


def contradicted(reasons: Mapping[str, int]) -> IntakeReport:
    """Rows that were taken, and rejected when their time was final."""
    return IntakeReport(rows=-sum(reasons.values()), rejected=reasons)


@dataclass(frozen=True)
class StreamProgress:
    """All intake of a stream so far; `at_least` is a watermark that did not come from rows: a heartbeat.

    `ends_at` is how much of its source there is, once that is known: when it has been read, nothing more will come.
    """

    slack: int
    intake: IntakeReport = IntakeReport()
    at_least: int = BEGINNING
    ends_at: int | None = None
    final: int = BEGINNING  # the watermark as of the last advance: rows before it are late
    is_idle: bool = False  # it was silent for as long as it may be, and is passed by

    @property
    def has_ended(self) -> bool:
        return self.ends_at is not None and self.intake.read >= self.ends_at

    @property
    def watermark(self) -> int:
        if self.has_ended:
            return FOREVER
        seen = self.intake.newest > BEGINNING
        return max(self.at_least, self.intake.promised, self.intake.newest - self.slack if seen else BEGINNING)


def _passing(stream: StreamProgress) -> int:
    """How far a stream takes an idle one along: not for ever, when it has ended."""
    if not stream.has_ended:
        return stream.watermark
    return stream.intake.newest + 1 if stream.intake.newest > BEGINNING else BEGINNING


def stream_status(stream: StreamProgress, **more: Any) -> dict[str, Any]:
    """What `engine.status()` shows of a stream, with what an engine knows beside."""
    return {
        "rows": stream.intake.rows,
        "late": stream.intake.late,
        "rejected": dict(stream.intake.rejected),
        **more,
        "watermark": None if stream.watermark in (BEGINNING, FOREVER) else stream.watermark,
    }


_UNKNOWN = StreamProgress(slack=0)  # a stream that no step has seen


@dataclass(frozen=True)
class Progress:
    streams: Mapping[str, StreamProgress] = field(default_factory=dict)
    tables: Mapping[str, int] = field(default_factory=dict)  # when a change without a time of its own takes effect
    furthest: int = BEGINNING  # the largest watermark: by it queries over tables alone go

    def _stream(self, name: str) -> StreamProgress:
        return self.streams.get(name, _UNKNOWN)

    def watermark_of(self, streams: Streams) -> int:
        """All rows of these streams before it are there."""
        return min((self._stream(name).final for name in streams), default=self.furthest)

    def first_of(self, streams: Streams) -> int:
        """The time of the first row of some streams, with which their time begins."""
        return min((self._stream(name).intake.first for name in streams), default=self.furthest)

    def begin_of(self, reader: Reader) -> int | None:
        """When time began for a query; None as long as it has not."""
        begin = max(self.first_of(reader.streams), reader.start)
        return begin if begin < self.watermark_of(reader.streams) else None

    def last_row_of(self, streams: Streams) -> int:
        """The latest timestamp that some streams have shown."""
        return max((self._stream(name).intake.newest for name in streams), default=int(BEGINNING))

    def after_all(self, streams: Streams) -> int:
        """Later than all rows of some streams that have come; BEGINNING when there were none."""
        known = [self._stream(name) for name in streams]
        newest = (s.intake.newest if s.final == FOREVER else max(s.intake.newest, s.final - 1) for s in known)
        return max((time + 1 for time in newest if time > BEGINNING), default=int(BEGINNING))

    @property
    def last_row(self) -> int:
        """The latest timestamp that any stream has shown."""
        return self.last_row_of(frozenset(self.streams))

    def start_after(self, streams: Streams) -> int:
        """Since when a query that starts now has all rows of its streams, where what is not final waits for it."""
        finals = [self.streams[name].final for name in streams if name in self.streams]
        return max((final for final in finals if final != FOREVER), default=int(BEGINNING))

    def with_streams(self, slacks: Mapping[str, int]) -> Progress:
        """Streams come and go; those that stay keep what is known of them. What is final stays so with more slack."""
        known = {name: replace(self._stream(name), slack=slack) for name, slack in slacks.items()}
        return replace(self, streams=known)

    def with_tables(self, names: Collection[str], readers: Collection[Reader]) -> Progress:
        """Changes of tables that come now take effect at the largest watermark among the streams of their readers.

        A stream that has ended says nothing: who reads no other one is through. Effects never go back.
        """
        return replace(self, tables={name: max(self._time_of(name, readers), self.tables.get(name, BEGINNING))
                                     for name in names})  # fmt: skip

    def _time_of(self, table: str, readers: Collection[Reader]) -> int:
        reading = [reader for reader in readers if table in reader.tables]
        finals = [self.streams[name].final for reader in reading for name in reader.streams]
        finals += [self.furthest for reader in reading if not reader.streams]
        return max((final for final in finals if final != FOREVER), default=int(BEGINNING))

    def moved(self, times: Mapping[str, int]) -> Progress:
        """Heartbeats: no row of these streams before these times will come."""
        streams = {
            name: replace(stream, at_least=max(stream.at_least, times.get(name, BEGINNING)))
            for name, stream in self.streams.items()
        }
        return replace(self, streams=streams)

    def with_idle(self, names: Collection[str]) -> Progress:
        """These streams are idle, and no others."""
        streams = {name: replace(stream, is_idle=name in names) for name, stream in self.streams.items()}
        return replace(self, streams=streams)

    def _passed_by(self, name: str, readers: Iterable[Reader]) -> int:
        """How far the queries that read an idle stream are on all of their other streams, the furthest of them."""
        others = ([self.streams[other] for other in reader.streams] for reader in readers if name in reader.streams)
        moving = ([stream for stream in of if not stream.is_idle] for of in others)
        return max((min(map(_passing, of)) for of in moving if of), default=int(BEGINNING))

    def ending(self, ends: Mapping[str, int]) -> Progress:
        """How much there is of the sources of these streams."""
        streams = {
            name: replace(stream, ends_at=ends.get(name, stream.ends_at)) for name, stream in self.streams.items()
        }
        return replace(self, streams=streams)

    def with_intake(self, reports: Iterable[Mapping[str, IntakeReport]]) -> Progress:
        """What parts of the rows of some streams have brought."""
        streams = dict(self.streams)
        for part in reports:
            for name, brought in part.items():
                silent = streams[name].is_idle and not brought.arrived
                streams[name] = replace(streams[name], intake=streams[name].intake + brought, is_idle=silent)
        return replace(self, streams=streams)

    def advanced(self, readers: Collection[Reader]) -> Progress:
        """Every stream's watermark becomes final; that of an idle stream moves on with those that pass it."""
        streams = dict(self.streams)
        for name, stream in self.streams.items():
            reached = max(stream.watermark, self._passed_by(name, readers)) if stream.is_idle else stream.watermark
            if reached > stream.final:
                streams[name] = replace(stream, final=reached)
        after = replace(self, streams=streams)
        used = frozenset[str]().union(*(reader.streams for reader in readers))
        finals = [streams[name].final for name in used]
        moving = [final for final in finals if final != FOREVER]
        furthest = max(moving, default=FOREVER if finals else BEGINNING)
        return replace(after, furthest=max(self.furthest, furthest)).with_tables(self.tables, readers)
