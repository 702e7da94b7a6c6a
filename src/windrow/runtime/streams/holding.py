"""Which stream holds whom: queries whose other streams are ahead of it, and what is held back for it.

What is held back has a bound (`SET waiting_limit`). At the bound the streams that are ahead are read no further, so
that the one that is behind, and only that, can move what waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from windrow.physical.physical_node import PhysicalNode
from windrow.runtime.progress import Progress
from windrow.runtime.readers import Reader, Streams
from windrow.units import FOREVER, MINUTE, format_timestamp

Waiting = Mapping[Streams, int]  # rows that are held back, by the streams that whoever holds them moves with
PAUSED = "waiting_limit is reached: the other streams are not read"
_LONG = MINUTE  # silence that is worth a warning


class HoldingStream(NamedTuple):
    """A stream that queries wait for."""

    queries: tuple[str, ...]
    rows: int  # that are held back for it
    is_full: bool  # so many that the other streams are read no further

    @property
    def hint(self) -> str:
        one = self.queries[0]
        return f"declare the stream with HEARTBEAT or IDLE AFTER, push rows or end it, or DROP QUERY {one}"


def holders(
    progress: Progress, readers: Mapping[str, Reader], waiting: Waiting, limit: float
) -> dict[str, HoldingStream]:
    """The streams that hold queries, by name in lower case; `readers` are by the names of queries."""
    held = {name: slowest(progress, reader.streams) for name, reader in readers.items()}
    rows: dict[str, int] = {}
    full: set[str] = set()
    for streams, count in waiting.items():
        for stream in slowest(progress, streams):
            rows[stream] = rows.get(stream, 0) + count
            if count >= limit:
                full.add(stream)
    return {
        stream: HoldingStream(queries, rows.get(stream, 0), stream in full)
        for stream in progress.streams
        if (queries := tuple(name for name, found in held.items() if stream in found))
    }


def slowest(progress: Progress, streams: Streams) -> Streams:
    """Those of some streams that others are ahead of."""
    finals = {name: progress.watermark_of(frozenset((name,))) for name in streams}
    first, last = min(finals.values(), default=FOREVER), max(finals.values(), default=FOREVER)
    return frozenset(name for name, final in finals.items() if final == first < last)


def waiting_in(nodes: Iterable[PhysicalNode]) -> dict[Streams, int]:
    """What operators hold back."""
    found: dict[Streams, int] = {}
    for node in nodes:
        if node.held and node.streams is not None:
            found[node.streams] = found.get(node.streams, 0) + sum(map(len, node.held.values()))
    return found


def paused_streams(progress: Progress, waiting: Waiting, limit: float) -> Streams:
    """The streams that are to be read no further: too much of what they brought waits for others."""
    full = (streams for streams, count in waiting.items() if count >= limit)
    behind = ((streams, slowest(progress, streams)) for streams in full)
    return frozenset[str]().union(*(streams - last for streams, last in behind if last))


def holding_status(holder: HoldingStream | None, since: int) -> dict[str, Any]:
    """What `engine.status()` shows of a stream; `since` is when it last brought something."""
    if holder is None:
        return {"holds": [], "held_back": 0}
    return {
        "holds": list(holder.queries),
        "held_back": holder.rows,
        "silent_since": format_timestamp(since),
        "hint": holder.hint,
    }


def holding_warnings(holder: HoldingStream, since: int, now: int) -> Iterator[tuple[str, int, int]]:
    """What there is to be warned of: what, how many rows, since when."""
    who = ", ".join(holder.queries)
    if holder.is_full:
        what = f"{who} waits for it, and {PAUSED}; {holder.hint}"
        yield what, holder.rows, since
    elif now - since >= _LONG:
        yield f"it is silent, and {who} waits for it; {holder.hint}", holder.rows, since
