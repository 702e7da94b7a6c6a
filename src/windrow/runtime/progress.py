"""How far time has come: a pure function from what was known and what a batch of rows brought.

The watermark of a stream is the largest timestamp seen less its slack; the engine's is the smallest over the streams
that queries read. When it moves, the segment from the old to the new one is final. Time begins with the first row.
Every shard works this out by itself from the same reports, and comes to the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from windrow.batch import Segment
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

    @property
    def has_ended(self) -> bool:
        return self.ends_at is not None and self.intake.read >= self.ends_at

    @property
    def watermark(self) -> int:
        if self.has_ended:
            return FOREVER
        seen = self.intake.newest > BEGINNING
        return max(self.at_least, self.intake.promised, self.intake.newest - self.slack if seen else BEGINNING)


def stream_status(stream: StreamProgress, **more: int | None) -> dict[str, Any]:
    """What `engine.status()` shows of a stream, with what an engine knows beside."""
    return {
        "rows": stream.intake.rows,
        "late": stream.intake.late,
        "rejected": dict(stream.intake.rejected),
        **more,
        "watermark": None if stream.watermark in (BEGINNING, FOREVER) else stream.watermark,
    }


@dataclass(frozen=True)
class Progress:
    streams: Mapping[str, StreamProgress] = field(default_factory=dict)
    watermark: int = BEGINNING
    origin: int | None = None  # when time began

    @property
    def last_row(self) -> int:
        """The latest timestamp that any stream has shown."""
        return max((stream.intake.newest for stream in self.streams.values()), default=BEGINNING)

    def with_streams(self, slacks: Mapping[str, int]) -> Progress:
        """Streams come and go; those that stay keep what is known of them."""
        return replace(self, streams={n: self.streams.get(n, StreamProgress(slack)) for n, slack in slacks.items()})

    def moved(self, times: Mapping[str, int]) -> Progress:
        """Heartbeats: no row of these streams before these times will come."""
        streams = {
            name: replace(stream, at_least=max(stream.at_least, times.get(name, BEGINNING)))
            for name, stream in self.streams.items()
        }
        return replace(self, streams=streams)

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
                streams[name] = replace(streams[name], intake=streams[name].intake + brought)
        return replace(self, streams=streams)

    def can_advance(self, used: Collection[str]) -> bool:
        """Whether the watermark would move without any rows."""
        return self.advanced(used)[0].watermark > self.watermark

    def advanced(self, used: Collection[str]) -> tuple[Progress, Segment | None]:
        """The watermark moves as far as the streams that are read allow; the segment is what that makes final."""
        watermark = min((self.streams[name].watermark for name in used), default=self.watermark)
        if watermark <= self.watermark:
            return self, None
        first = min(self.streams[name].intake.first for name in used)
        if self.origin is None and first >= watermark:
            return replace(self, watermark=watermark), None
        begin = first if self.origin is None else self.watermark
        origin = begin if self.origin is None else self.origin
        return replace(self, watermark=watermark, origin=origin), Segment(begin, watermark, self.last_row)
