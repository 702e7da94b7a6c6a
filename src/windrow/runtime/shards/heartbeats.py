"""Heartbeats: a stream that has been silent for the time its HEARTBEAT declares moves on with the clock."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.catalog import StreamEntry
from windrow.clock import Clock
from windrow.runtime.progress import Progress, StreamProgress


class Heartbeats:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, int]] = {}  # how many rows had come when, by stream

    def record(self, progress: Progress) -> None:
        """Which streams have brought something since the last time."""
        now = self._clock.now()
        for name, stream in progress.streams.items():
            come = stream.news.rows + stream.news.late + sum(stream.news.rejected.values())
            if self._seen.get(name, (-1, 0))[0] != come:
                self._seen[name] = come, now

    def due(self, streams: Mapping[str, StreamEntry], progress: Progress) -> dict[str, int]:
        """How far the silent streams may move; one that has moved is silent anew."""
        now, times = self._clock.now(), {}
        for name, entry in streams.items():
            come, since = self._seen.setdefault(name, (0, now))
            stream = progress.streams.get(name)
            if entry.heartbeat is None or stream is None or now - since < entry.heartbeat or _has_more(entry, stream):
                continue
            self._seen[name] = come, now
            if stream.watermark < now - entry.slack:
                times[name] = now - entry.slack
        return times


def _has_more(entry: StreamEntry, stream: StreamProgress) -> bool:
    """Whether a source is known to have rows that have not been read: it is slow to be read, not silent."""
    if stream.ends_at is not None:
        return not stream.has_ended
    return entry.connector is not None and entry.connector.name == "generator"
