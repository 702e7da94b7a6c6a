"""Sinks and subscribers that fail at random, restarts in between: in the end they have what an undisturbed run gives.

With a backlog for everything each gets every change, sinks perhaps some of them twice, which the number tells; with a
small one what it has got stands for the same answer.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.failing_sink import GOT, REFUSING
from support.shard_runs import ShardsInProcess
from windrow.clock import ManualClock
from windrow.runtime.local import LocalEngine
from windrow.units import SECOND

QUERIES = {
    "sums": ("SELECT k, SUM(v) AS total FROM s [RANGE 4 SECONDS] GROUP BY k", "changelog"),
    "keyed": ("SELECT k, SUM(v) AS total FROM s [RANGE 4 SECONDS] GROUP BY k", "upsert"),
    "arrived": ("SELECT ISTREAM k, v AS total FROM s [RANGE 2 SECONDS]", "changelog"),
}
Event = tuple[str, str | None]  # what happens before a row: a sink fails or works, time passes, a restart
EVENTS = st.one_of(
    st.tuples(st.just("fail"), st.sampled_from([*QUERIES, "files"])),
    st.tuples(st.just("work"), st.sampled_from([*QUERIES, "files"])),
    st.tuples(st.sampled_from(["wait", "restart", "nothing"]), st.none()),
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.getLogger("windrow").setLevel(logging.ERROR)
    yield
    logging.getLogger("windrow").setLevel(logging.NOTSET)


class Disturbed:
    def __init__(self, place: Path, shards: int, backlog: str) -> None:
        GOT.clear()
        REFUSING.clear()
        self.place, self.shards, self.clock = place, shards, ManualClock(10**9)
        self.files, self.away = place / "files", place / "away"
        self.engine = self.connected()
        self.engine.sql(
            f"CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts; SET sink_backlog = '{backlog}'"
        )
        for name, (query, mode) in QUERIES.items():
            self.engine.sql(
                f"CREATE QUERY {name} AS {query} INTO python('support.failing_sink:receive', mode => '{mode}')"
            )
        self.engine.sql(f"CREATE QUERY files AS {QUERIES['sums'][0]} INTO parquet('{self.files}')")

    def connected(self) -> Any:
        if not self.shards:
            return LocalEngine(clock=self.clock)
        return ShardsInProcess(self.shards, checkpoint=str(self.place / "checkpoint"), clock=self.clock)

    def happen(self, what: str, name: str | None) -> None:
        if what == "restart" and self.shards:
            self.engine = self.connected()
        elif what == "wait":
            self.clock.advance(61 * SECOND)
        elif what == "fail" and name == "files":
            if self.files.exists():
                self.files.rename(self.away)
        elif what == "fail":
            REFUSING[str(name)] = "out of order"
        elif what == "work":
            self.work(str(name))

    def work(self, name: str) -> None:
        REFUSING.pop(name, None)
        if name == "files" and self.away.exists():
            self.away.rename(self.files)

    def play(self, events: list[Event]) -> None:
        for second, event in enumerate(events):
            self.happen(*event)
            self.push(second)
        for name in (*QUERIES, "files"):
            self.work(name)
        self.clock.advance(61 * SECOND)
        for second in (len(events), len(events) + 1):
            self.push(second)

    def push(self, second: int) -> None:
        self.engine.push("s", [{"ts": second * SECOND, "k": "abc"[second % 3], "v": second}])
        self.engine.step()

    def tables(self, name: str) -> list[pa.Table]:
        if name == "files":
            return [pa.parquet.read_table(path) for path in sorted(self.files.iterdir())]
        by_number = {int(table.schema.metadata[b"batch"]): table for table in GOT.get(name, [])}
        return [by_number[number] for number in sorted(by_number)]

    def rows(self, name: str) -> Counter[str]:
        return Counter(repr(row) for table in self.tables(name) for row in table.to_pylist())

    def answer(self, name: str) -> Counter[str]:
        """What somebody who got these tables has at the last final instant."""
        instant = self.engine.watermark - 1
        rows: Counter[str] = Counter()
        latest: dict[str, tuple[str, int]] = {}
        for table in self.tables(name):
            for row in in_micros(table):
                key = f"{row['k']} {row['total']}"
                latest[row["k"]] = key, row["_sign"]
                if row["_ts"] <= instant < (row.get("_exp") or 2**63):
                    rows[key] += row["_sign"]
        if name == "keyed":
            return Counter(key for key, sign in latest.values() if sign > 0)
        return +rows


@contextmanager
def disturbed(shards: int, backlog: str) -> Iterator[Disturbed]:
    with TemporaryDirectory(prefix="windrow-") as place:
        run = Disturbed(Path(place), shards, backlog)
        try:
            yield run
        finally:
            run.engine.close()  # its lease beats no more: the folder may go


def in_micros(table: pa.Table) -> list[dict[str, Any]]:
    for name in ("_ts", "_exp"):
        if name in table.column_names:
            table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.int64()))
    return list(table.to_pylist())


def undisturbed(events: list[Event], shards: int) -> tuple[dict[str, Counter[str]], dict[str, Counter[str]]]:
    with disturbed(shards, "unlimited") as run:
        run.play([("nothing", None)] * len(events))
        names = [*QUERIES, "files"]
        return {name: run.rows(name) for name in names}, {name: run.answer(name) for name in names}


@given(st.lists(EVENTS, min_size=6, max_size=25), st.integers(0, 2))
def test_with_room_for_all_they_get_all(events: list[Event], shards: int) -> None:
    wanted, _ = undisturbed(events, shards)
    with disturbed(shards, "unlimited") as run:
        run.play(events)
        assert {name: run.rows(name) for name in wanted} == wanted
        assert run.engine.health() == []


@given(st.lists(EVENTS, min_size=6, max_size=25), st.integers(0, 2), st.sampled_from(["1 B", "3 kB"]))
def test_with_little_room_they_come_to_the_same_answer(events: list[Event], shards: int, backlog: str) -> None:
    _, wanted = undisturbed(events, shards)
    with disturbed(shards, backlog) as run:
        run.play(events)
        assert {name: run.answer(name) for name in wanted} == wanted
        assert run.engine.health() == []
