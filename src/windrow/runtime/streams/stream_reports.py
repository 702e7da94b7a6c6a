"""What an engine knows of its streams beside their progress: which are silent, which hold whom, and what is strange."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from windrow.catalog import StreamEntry
from windrow.clock import Clock
from windrow.runtime.health import Failing
from windrow.runtime.progress import Progress, StreamProgress, stream_status
from windrow.runtime.readers import Reader, Streams
from windrow.runtime.streams.heartbeats import Heartbeats
from windrow.runtime.streams.holding import (
    PAUSED,
    HoldingStream,
    Waiting,
    holders,
    holding_status,
    holding_warnings,
    paused_streams,
)
from windrow.runtime.streams.late_rows import LateRows
from windrow.runtime.streams.warnings import warnings_of_rows
from windrow.units import format_timestamp


class EngineProgress(NamedTuple):
    """How far an engine is: `readers` by the names of queries, what is held back, and how much may be."""

    progress: Progress
    readers: Mapping[str, Reader]
    waiting: Waiting
    limit: float

    def holders(self) -> dict[str, HoldingStream]:
        return holders(self.progress, self.readers, self.waiting, self.limit)

    def paused_streams(self) -> Streams:
        return paused_streams(self.progress, self.waiting, self.limit)


class StreamReports:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.heartbeats = Heartbeats(clock)
        self.late_rows = LateRows(clock)
        self.missed: Callable[[StreamEntry], Iterable[tuple[str, int, int]]] = lambda entry: ()  # by its sinks

    def forget(self, stream: str) -> None:
        """A stream has been dropped."""
        self.heartbeats.forget(stream)
        self.late_rows.forget(stream)

    def status(
        self,
        entries: Iterable[StreamEntry],
        at: EngineProgress,
        more: Callable[[StreamEntry], Mapping[str, Any]],
    ) -> dict[str, Any]:
        """What `engine.status()` shows of streams, with what an engine knows `more` of one, and of what it warns."""
        found = at.holders()
        streams: dict[str, Any] = {}
        warned: list[dict[str, Any]] = []
        for entry in entries:
            name = entry.name.lower()
            progress = at.progress.streams.get(name)
            if progress is None:
                continue
            since = self.heartbeats.silent_since(name)
            holding = holding_status(found.get(name), since)
            streams[entry.name] = {**stream_status(progress, **more(entry)), **holding}
            warned += (
                {"stream": entry.name, "what": what, "count": count, "since": format_timestamp(begin)}
                for what, count, begin in self._warnings(entry, progress, found.get(name), since)
            )
        return {"streams": streams, "warnings": warned}

    def _warnings(
        self, entry: StreamEntry, progress: StreamProgress, holder: HoldingStream | None, since: int
    ) -> Iterator[tuple[str, int, int]]:
        yield from warnings_of_rows(entry, progress.intake)
        yield from self.late_rows.warnings(entry.name.lower(), progress.intake)
        yield from self.missed(entry)
        if holder is not None and not progress.is_idle:
            yield from holding_warnings(holder, since, self._clock.now())

    def health(self, at: EngineProgress) -> Iterator[Failing]:
        """Streams that so much waits for that the others are read no further."""
        for name, holder in at.holders().items():
            if holder.is_full:
                message = f"{', '.join(holder.queries)} waits for it; {PAUSED}"
                yield Failing("stream", name, self.heartbeats.silent_since(name), message, None, holder.hint)

    def holding(self, at: EngineProgress) -> dict[str, str]:
        """Who waits for a stream, since when, and what to do: what SHOW STREAMS says."""
        return {
            name: f"{', '.join(one.queries)} since {format_timestamp(self.heartbeats.silent_since(name))}: {one.hint}"
            for name, one in at.holders().items()
        }
