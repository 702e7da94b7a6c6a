"""Sinks and subscribers that fail stop nobody: they are tried again, get what they missed, and are named meanwhile."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.failing_sink import GOT, REFUSING
from support.shard_runs import ShardsInProcess
from windrow.clock import ManualClock
from windrow.errors import WindrowError
from windrow.runtime.local import LocalEngine
from windrow.runtime.outputs.feed import MOST_TRIES
from windrow.units import SECOND

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts"
SUMS = "SELECT k, SUM(v) AS total FROM s [RANGE 4 SECONDS] GROUP BY k"
ALL = "SELECT v FROM s [RANGE 4 SECONDS]"


class Run:
    """An engine, its clock, and rows of one second after the other."""

    def __init__(self, kind: str, place: Path) -> None:
        self.kind, self.place = kind, place
        self.clock = ManualClock(1_000 * SECOND)
        self.second = 0
        self.engine: Any = self.connected()

    def connected(self) -> Any:
        if self.kind == "local":
            return LocalEngine(clock=self.clock)
        return ShardsInProcess(2, checkpoint=str(self.place), clock=self.clock)

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.second += 1
            self.engine.push("s", [{"ts": self.second * SECOND, "k": "ab"[self.second % 2], "v": self.second}])
            self.engine.step()

    def wait(self) -> None:
        self.clock.advance(61 * SECOND)


@pytest.fixture(params=["local", "shards"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Run]:
    GOT.clear()
    REFUSING.clear()
    logging.getLogger("windrow").setLevel(logging.ERROR)
    made = Run(request.param, tmp_path / "checkpoint")
    made.engine.sql(STREAM)
    yield made
    REFUSING.clear()
    made.engine.close()
    logging.getLogger("windrow").setLevel(logging.NOTSET)


def got(name: str, column: str = "v") -> list[Any]:
    return [value for table in GOT.get(name, []) for value in table[column].to_pylist()]


def test_a_subscriber_that_raises_keeps_nobody_from_hearing(run: Run) -> None:
    first, last = run.engine.query(ALL, name="first"), run.engine.query(ALL, name="last")
    heard: dict[str, list[int]] = {"before": [], "after": [], "other": []}
    first.subscribe(lambda table: heard["before"].extend(table["v"].to_pylist()))
    first.subscribe(broken)
    first.subscribe(lambda table: heard["after"].extend(table["v"].to_pylist()))
    last.subscribe(lambda table: heard["other"].extend(table["v"].to_pylist()))
    run.step(5)
    assert heard == {name: [1, 2, 3, 4] for name in heard}
    failing = run.engine.health()
    assert [(one.what, one.name, one.message) for one in failing] == [("subscriber", "first", "ValueError: no")]
    assert failing[0].since == 1_000 * SECOND and failing[0].next_try == 1_001 * SECOND
    assert run.engine.status()["failing"][0]["message"] == "ValueError: no"


def broken(table: pa.Table) -> None:
    raise ValueError("no")


def test_a_subscriber_hears_what_it_refused_when_it_works_again(run: Run) -> None:
    heard: list[int] = []
    ill = [True]

    def subscriber(table: pa.Table) -> None:
        if ill[0]:
            raise ValueError("ill")
        heard.extend(table["v"].to_pylist())

    run.engine.query(ALL, name="q").subscribe(subscriber)
    run.step(4)
    assert not heard
    ill[0] = False
    run.step()
    assert not heard, "it is not tried before its pause is over"
    run.wait()
    run.step()
    assert heard == [1, 2, 3, 4, 5]
    assert run.engine.health() == []


def test_a_subscriber_that_always_raises_is_set_aside(run: Run) -> None:
    calls: list[int] = []

    def subscriber(table: pa.Table) -> None:
        calls.append(1)
        raise ValueError("never")

    run.engine.query(ALL, name="q").subscribe(subscriber)
    for _ in range(MOST_TRIES + 5):
        run.step()
        run.wait()
    assert len(calls) == MOST_TRIES
    (aside,) = run.engine.health()
    assert aside.next_try is None and aside.message == "ValueError: never" and "subscribe again" in aside.hint


def test_a_sink_gets_everything_once_when_it_works_again(run: Run) -> None:
    run.engine.sql(f"CREATE QUERY q AS {ALL} INTO python('support.failing_sink:receive')")
    run.engine.sql(f"CREATE QUERY other AS {ALL} INTO python('support.failing_sink:receive')")
    run.step(3)
    REFUSING["q"] = "the disk is full"
    run.step(3)
    assert got("q") == [1, 2] and got("other") == [1, 2, 3, 4, 5]
    (failing,) = run.engine.health()
    assert (failing.what, failing.name, failing.message) == ("sink", "q", "OSError: the disk is full")
    REFUSING.clear()
    run.wait()
    run.step()
    assert got("q") == got("other") == [1, 2, 3, 4, 5, 6]
    numbers = [int(table.schema.metadata[b"batch"]) for table in GOT["q"]]
    assert numbers == sorted(set(numbers))
    assert run.engine.health() == []


@pytest.mark.parametrize("mode", ["changelog", "upsert", "snapshot"])
def test_beyond_the_backlog_it_gets_what_was_kept_and_then_the_difference(run: Run, mode: str) -> None:
    """What it knows then is the answer; what came and went in between is not told."""
    into = f"INTO python('support.failing_sink:receive', mode => '{mode}')"
    run.engine.sql(f"CREATE QUERY q AS {SUMS} {into}; CREATE QUERY every AS {SUMS} {into}; SET sink_backlog = '1 B'")
    run.step(3)
    before = len(GOT["q"])
    REFUSING["q"] = "gone"
    run.step(12)
    assert len(GOT["q"]) == before
    (failing,) = run.engine.health()
    assert "sink_backlog" in failing.hint
    REFUSING.clear()
    run.wait()
    run.step()
    assert len(GOT["every"]) > len(GOT["q"]) == before + 2
    assert told(GOT["q"], mode, run) == told(GOT["every"], mode, run)
    run.step(3)
    assert told(GOT["q"], mode, run) == told(GOT["every"], mode, run)
    assert run.engine.health() == []


def told(tables: list[pa.Table], mode: str, run: Run) -> list[tuple[str, int]]:
    """What somebody who got these knows of the answer at the last final instant."""
    instant = run.engine.watermark - 1
    rows = [row for table in tables for row in micros(table)]
    if mode == "snapshot":
        return sorted((row["k"], row["total"]) for row in micros(tables[-1]))
    if mode == "upsert":
        latest = {row["k"]: row for row in rows}
        return sorted((row["k"], row["total"]) for row in latest.values() if row["_sign"] > 0)
    found: dict[tuple[str, int], int] = {}
    for row in rows:
        if row["_ts"] <= instant < (2**63 if row["_exp"] is None else row["_exp"]):
            found[row["k"], row["total"]] = found.get((row["k"], row["total"]), 0) + row["_sign"]
    assert set(found.values()) <= {0, 1}
    return sorted(row for row, count in found.items() if count)


def micros(table: pa.Table) -> list[dict[str, Any]]:
    times = {name: table[name].cast(pa.int64()) for name in ("_ts", "_exp") if name in table.column_names}
    for name, values in times.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return list(table.to_pylist())


def test_a_periodic_query_gets_its_last_refresh(run: Run) -> None:
    periodic = "SELECT k, SUM(v) AS total FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k"
    run.engine.sql(f"CREATE QUERY q AS {periodic} INTO python('support.failing_sink:receive')")
    run.engine.sql(f"CREATE QUERY every AS {periodic} INTO python('support.failing_sink:receive')")
    run.engine.sql("SET sink_backlog = '1 B'")
    run.step(5)
    REFUSING["q"] = "gone"
    run.step(14)
    REFUSING.clear()
    run.wait()
    run.step()
    q, every = (sorted(map(repr, GOT[name][-1].to_pylist())) for name in ("q", "every"))
    assert q == every
    assert len(GOT["q"]) < len(GOT["every"])


def test_a_folder_that_is_gone_and_comes_back(run: Run, tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("q", "other")}
    for name, folder in folders.items():
        run.engine.sql(f"CREATE QUERY {name} AS {ALL} INTO json('{folder}')")
    run.step(3)
    shutil.move(folders["q"], tmp_path / "away")
    run.step(3)
    (failing,) = run.engine.health()
    assert (failing.what, failing.name) == ("sink", "q") and "FileNotFoundError" in failing.message
    assert not folders["q"].exists(), "a folder that may be a mount is not made anew"
    shutil.move(tmp_path / "away", folders["q"])
    run.wait()
    run.step()
    assert lines(folders["q"]) == lines(folders["other"]) and len(lines(folders["q"])) == 6
    assert run.engine.health() == []


def lines(folder: Path) -> list[int]:
    return sorted(json.loads(line)["v"] for path in folder.glob("part-*") for line in path.read_text().splitlines())


def test_stop_is_for_those_who_want_it(run: Run) -> None:
    run.engine.sql(f"CREATE QUERY q AS {ALL} INTO python('support.failing_sink:receive', on_error => 'stop')")
    run.engine.sql(f"CREATE QUERY other AS {ALL} INTO python('support.failing_sink:receive')")
    run.step()
    REFUSING["q"] = "full"
    with pytest.raises(OSError, match="full"):
        run.step()
    assert got("other") == [1]
    REFUSING.clear()
    run.wait()
    run.step()
    assert got("q") == [1, 2]


def test_a_sink_of_late_and_rejected_rows(run: Run, tmp_path: Path) -> None:
    late, rejected = tmp_path / "late", tmp_path / "rejected"
    run.engine.sql(f"""
        CREATE STREAM t (ts TIMESTAMP, k STRING NOT NULL, x ARRAY<INT>, price DOUBLE) TIMESTAMP BY ts
        LATE INTO parquet('{late}') REJECTED INTO json('{rejected}');
        CREATE QUERY q AS SELECT k FROM t [RANGE 1 HOUR]
    """)
    run.engine.push("t", [{"ts": 5_000_000, "k": "a", "price": 1.5}, {"ts": 6_000_000, "price": 1.5, "x": [1]}])
    run.engine.step()
    run.engine.push(
        "t", [{"ts": "1970-01-01 00:00:01", "k": "b", "price": "2.5"}, {"ts": "?", "k": "c", "price": "dear"}]
    )
    run.engine.push("t", [{"ts": 2_000_000, "k": "d", "price": 3}])
    run.engine.step()
    written = pa.concat_tables(pa.parquet.read_table(path) for path in sorted(late.iterdir()))
    assert written.schema.field("price").type == pa.float64() and pa.types.is_timestamp(written.schema.field("ts").type)
    rows = sorted((row["k"], row["price"], row["_reason"]) for row in written.to_pylist())
    assert rows == [("b", 2.5, "behind the watermark"), ("d", 3.0, "behind the watermark")]
    texts = [json.loads(line) for path in sorted(rejected.iterdir()) for line in path.read_text().splitlines()]
    found = sorted(([row["k"], row["x"], row["price"], row["_reason"]] for row in texts), key=repr)
    assert found == [["c", None, "dear", "ts is not TIMESTAMP"], [None, "[1]", "1.5", "k is null"]]


def test_every_late_row_goes_there_though_few_are_shown(run: Run) -> None:
    run.engine.sql("""
        CREATE STREAM t (ts TIMESTAMP, v INT) TIMESTAMP BY ts LATE INTO python('support.failing_sink:receive');
        CREATE QUERY q AS SELECT v FROM t [RANGE 1 HOUR]
    """)
    run.engine.push("t", [{"ts": 9_000_000_000, "v": 0}])
    run.engine.step()
    for part in range(3):
        run.engine.push("t", [{"ts": number, "v": number} for number in range(part * 9_000, (part + 1) * 9_000)])
    run.engine.step()
    assert sorted(got("t late")) == list(range(27_000))
    assert run.engine.status()["streams"]["t"]["late"] == 27_000


def test_late_rows_wait_for_a_sink_that_fails(run: Run) -> None:
    run.engine.sql("""
        CREATE STREAM t (ts TIMESTAMP, v INT) TIMESTAMP BY ts LATE INTO python('support.failing_sink:receive');
        CREATE QUERY q AS SELECT v FROM t [RANGE 1 HOUR]
    """)
    REFUSING["t late"] = "away"
    run.engine.push("t", [{"ts": 9_000_000_000, "v": 0}])
    run.engine.step()
    for number in range(4):
        run.engine.push("t", [{"ts": number, "v": number}])
        run.engine.step()
    (failing,) = run.engine.health()
    assert (failing.what, failing.name) == ("late sink", "t")
    REFUSING.clear()
    run.wait()
    run.engine.step()
    assert got("t late") == [0, 1, 2, 3]


def test_folders_of_late_rows_are_checked_too(run: Run, tmp_path: Path) -> None:
    sinks = f"LATE INTO json('{tmp_path}/a') REJECTED INTO csv('{tmp_path}/a')"
    with pytest.raises(WindrowError, match="stream t writes to"):
        run.engine.sql(f"CREATE STREAM t (ts TIMESTAMP) TIMESTAMP BY ts {sinks}")
    assert run.engine.session.catalog.get("t") is None
