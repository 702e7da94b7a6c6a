"""Heartbeats: a stream that has been silent for the time its HEARTBEAT declares moves on with the clock."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.catalog import StreamEntry
from windrow.clock import Clock
from windrow.runtime.progress import Progress


class Heartbeats:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heard: dict[str, tuple[int, int]] = {}  # how many rows had come when, by stream

    def hear(self, progress: Progress) -> None:
        """Which streams have brought something since the last time."""
        now = self._clock.now()
        for name, stream in progress.streams.items():
            come = stream.news.rows + stream.news.late + sum(stream.news.rejected.values())
            if self._heard.get(name, (-1, 0))[0] != come:
                self._heard[name] = come, now

    def due(self, streams: Mapping[str, StreamEntry], progress: Progress) -> dict[str, int]:
        """How far the silent streams may move; one that has moved is silent anew."""
        now, times = self._clock.now(), {}
        for name, entry in streams.items():
            come, since = self._heard.setdefault(name, (0, now))
            if entry.heartbeat is not None and now - since >= entry.heartbeat:
                self._heard[name] = come, now
                if name in progress.streams and progress.streams[name].watermark < now - entry.slack:
                    times[name] = now - entry.slack
        return times
