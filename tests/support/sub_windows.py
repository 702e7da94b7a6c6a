"""Rows by sub-window, and generated runs of aggregates that are answered from sub-windows: the same rows in any way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from support.generated_streams import SECOND, START
from support.local_runs import TIMESTAMP, answers, feed
from support.rows_in_view import Row, stream_order
from support.shard_runs import ShardsInProcess
from windrow.runtime.local import LocalEngine

SCHEMA = pa.schema([("ts", TIMESTAMP), ("k", pa.string()), ("x", pa.int64()), ("y", pa.string())])
DECLARATION = "CREATE STREAM s (ts TIMESTAMP, k STRING, x BIGINT, y STRING) TIMESTAMP BY ts;"
HALF = SECOND // 2


@dataclass(frozen=True)
class SlidingWindow:
    """A window that moves on in time (half seconds) or by rows."""

    length: int
    slide: int
    in_rows: bool

    @property
    def text(self) -> str:
        if self.in_rows:
            return f"[ROWS {self.length} SLIDE {self.slide}]"
        return f"[RANGE {self.length * 500} MILLISECONDS SLIDE {self.slide * 500} MILLISECONDS]"

    def sub_windows(self, rows: Sequence[Row], now: int) -> list[list[Row]]:
        """The rows of each sub-window that is in view."""
        return [part for part in (self._by_rows if self.in_rows else self._by_time)(rows, now) if part]

    def _by_rows(self, rows: Sequence[Row], now: int) -> Iterator[list[Row]]:
        ordered = stream_order(rows, [])
        parts = [ordered[at : at + self.slide] for at in range(0, len(ordered), self.slide)]
        complete = [part for part in parts if len(part) == self.slide and part[-1]["ts"] <= now]
        yield from complete[-(self.length // self.slide) :]

    def _by_time(self, rows: Sequence[Row], now: int) -> Iterator[list[Row]]:
        slide, found = self.slide * HALF, {}
        for row in rows:
            ends = [(time // slide + 1) * slide for time in (row["ts"], row["ts"] + self.length * HALF)]
            if ends[0] <= now < ends[1]:
                found.setdefault(tuple(ends), []).append(row)
        yield from found.values()


@st.composite
def sliding_windows(draw: st.DrawFn) -> SlidingWindow:
    slide = draw(st.integers(1, 4))
    if draw(st.booleans()):
        return SlidingWindow(slide * draw(st.integers(1, 4)), slide, True)
    return SlidingWindow(draw(st.integers(1, 12)), slide, False)


@st.composite
def streams(draw: st.DrawFn, least: int = 0, most: int = 40) -> list[Row]:
    """Skewed values, ties in time, nulls."""
    times = sorted(draw(st.lists(st.integers(0, 20), min_size=least, max_size=most)))
    values = st.one_of(st.integers(0, 2), st.integers(0, 9), st.none())
    return [
        {
            "ts": START + time * HALF,
            "k": draw(st.sampled_from("pq")),
            "x": draw(values),
            "y": draw(st.sampled_from(["b", "a", "c", None, "longer"])),
        }
        for time in times
    ]


@dataclass(frozen=True)
class Way:
    """How a query is run: nothing of it may be seen in the answer."""

    cuts: tuple[int, ...]
    strategy: str
    optimizer: str
    shards: int  # 0: the local engine


ways = st.builds(
    Way,
    st.lists(st.integers(0, 24), max_size=6).map(tuple),
    st.sampled_from(["upa", "direct", "nt"]),
    st.sampled_from(["on", "off"]),
    st.sampled_from([0, 0, 0, 1, 3]),
)


def answers_of(text: str, rows: Sequence[Row], way: Way, moments: Sequence[int]) -> list[Counter[Any]]:
    engine: Any = ShardsInProcess(way.shards, forgetful=True) if way.shards else LocalEngine()
    try:
        engine.sql(f"{DECLARATION} SET strategy = {way.strategy}; SET optimizer = {way.optimizer}")
        query = engine.query(text)
        feed(engine, {"s": list(rows)}, {"s": SCHEMA}, [START + cut * HALF for cut in way.cuts])
        return answers(query, moments)
    finally:
        engine.close()


def moments_of(rows: Sequence[Row]) -> list[int]:
    """Every half second from the first row on, and the tick before it."""
    if not rows:
        return []
    edges = [START + half * HALF for half in range(30)]
    return sorted({m for edge in edges for m in (edge - 1, edge) if m >= rows[0]["ts"]})
