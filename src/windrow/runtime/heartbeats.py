"""Heartbeats: a stream that has been silent for the time its HEARTBEAT declares moves on with the clock."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.catalog import StreamEntry
from windrow.clock import Clock
from windrow.runtime.progress import Progress, StreamProgress


class Heartbeats:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: dict[str, int] = {}  # when a stream last brought something
        self._arrived: dict[str, int] = {}  # how many rows had come by then

    def record(self, stream: str) -> None:
        """A stream has brought something."""
        self._last[stream] = self._clock.now()

    def record_progress(self, progress: Progress) -> None:
        """Find out which streams have brought something since the last time."""
        for name, stream in progress.streams.items():
            arrived = stream.intake.rows + stream.intake.late + sum(stream.intake.rejected.values())
            if self._arrived.get(name) != arrived:
                self._arrived[name] = arrived
                self.record(name)

    def forget(self, stream: str) -> None:
        """A stream has been dropped."""
        self._last.pop(stream, None)
        self._arrived.pop(stream, None)

    def due(self, streams: Mapping[str, StreamEntry], progress: Progress) -> dict[str, int]:
        """How far the silent ones of some streams may move."""
        now, times = self._clock.now(), {}
        for name, entry in streams.items():
            last = self._last[name] = min(self._last.get(name, now), now)  # the clock may have been set back
            stream = progress.streams.get(name)
            if entry.heartbeat is None or stream is None or now - last < entry.heartbeat or _has_more(entry, stream):
                continue
            if stream.watermark < now - entry.slack:
                times[name] = now - entry.slack
        return times

    def due_once(self, streams: Mapping[str, StreamEntry], progress: Progress) -> dict[str, int]:
        """The same where every move costs a micro-batch: a stream that has moved is silent anew."""
        times = self.due(streams, progress)
        for name in times:
            self.record(name)
        return times


def _has_more(entry: StreamEntry, stream: StreamProgress) -> bool:
    """Whether a source is known to have rows that have not been read: it is slow to be read, not silent."""
    if stream.ends_at is not None:
        return not stream.has_ended
    return entry.connector is not None and entry.connector.name == "generator"
