"""Silence on the clock: after its HEARTBEAT a stream moves on with the clock, after IDLE AFTER with other streams."""

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
            if self._arrived.get(name) != stream.intake.arrived:
                self._arrived[name] = stream.intake.arrived
                self.record(name)

    def forget(self, stream: str) -> None:
        """A stream has been dropped."""
        self._last.pop(stream, None)
        self._arrived.pop(stream, None)

    def due(self, streams: Mapping[str, StreamEntry], progress: Progress) -> dict[str, int]:
        """How far the silent ones of some streams may move."""
        now, times = self._clock.now(), {}
        for name, entry in streams.items():
            silent, stream = now - self.silent_since(name), progress.streams.get(name)
            if entry.heartbeat is None or stream is None or silent < entry.heartbeat or _has_more(entry, stream):
                continue
            if stream.watermark < now - entry.slack:
                times[name] = now - entry.slack
        return times

    def idle(self, streams: Mapping[str, StreamEntry], progress: Progress) -> set[str]:
        """Those of some streams that others pass by."""
        found: set[str] = set()
        for name, entry in streams.items():
            stream = progress.streams.get(name)
            if entry.idle_after is None or stream is None or _has_more(entry, stream):
                continue
            if self._clock.now() - self.silent_since(name) >= entry.idle_after:
                found.add(name)
        return found

    def silent_since(self, stream: str) -> int:
        """When a stream last brought something, as far as this process knows."""
        now = self._clock.now()
        last = self._last[stream] = min(self._last.get(stream, now), now)  # the clock may have been set back
        return last

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
