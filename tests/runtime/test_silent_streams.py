"""Streams that are silent: passed by when they are declared so, bounded in what waits for them, and shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.pushed_rows import SECOND, START, at
from support.shard_runs import ShardsInProcess, SourcesInProcess
from windrow.clock import ManualClock
from windrow.runtime.local import LocalEngine
from windrow.runtime.progress import IntakeReport, Progress
from windrow.runtime.readers import Reader
from windrow.runtime.streams.holding import paused_streams
from windrow.units import BEGINNING, MINUTE

Engine = LocalEngine | ShardsInProcess
ORIGIN = int(START.timestamp() * SECOND)
MAKERS: dict[str, Callable[[ManualClock], Engine]] = {
    "local": lambda clock: LocalEngine(clock=clock),
    "shards": lambda clock: ShardsInProcess(2, clock=clock),
}
BOTH = "SELECT k FROM a [RANGE 5 SECONDS] EXCEPT SELECT k FROM b [RANGE 5 SECONDS]"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(ORIGIN)


@pytest.fixture(params=MAKERS)
def engine(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Engine]:
    made = MAKERS[request.param](clock)
    yield made
    made.close()


def declare(engine: Engine, *streams: str) -> None:
    for stream in streams:
        name, _, clauses = stream.partition(" ")
        engine.sql(f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts {clauses}")


def step(engine: Engine, **rows: list[float]) -> None:
    for stream, times in rows.items():
        engine.push(stream, [{"ts": at(seconds), "k": int(seconds)} for seconds in times])
    engine.step()


def watermark(engine: Engine, query: str) -> float:
    return (engine[query].watermark - ORIGIN) / SECOND


def late(engine: Engine, stream: str) -> int:
    count: int = engine.status()["streams"][stream]["late"]
    return count


class TestIdleAfter:
    def test_a_stream_that_never_showed_a_row_is_passed_by(self, engine: Engine, clock: ManualClock) -> None:
        declare(engine, "a", "b IDLE AFTER 10 SECONDS")
        query = engine.query(BOTH, "q")
        step(engine, a=[1, 2])
        clock.advance(9 * SECOND)
        step(engine, a=[3])
        assert query.changes().num_rows == 0
        clock.advance(SECOND)
        step(engine, a=[4, 6])
        assert watermark(engine, "q") == 6
        assert [row["k"] for row in query.changes().to_pylist()] == [1, 2, 3, 4]

    def test_its_watermark_moves_with_those_that_pass_it(self, engine: Engine, clock: ManualClock) -> None:
        declare(engine, "a", "b IDLE AFTER 10 SECONDS")
        engine.query(BOTH, "q")
        step(engine, a=[1], b=[1])
        clock.advance(10 * SECOND)
        step(engine, a=[8])
        assert watermark(engine, "q") == 8
        step(engine, b=[7, 9])  # the row at 7 comes behind
        assert (late(engine, "b"), watermark(engine, "q")) == (1, 8)
        step(engine, a=[20])
        assert watermark(engine, "q") == 9, "it is not idle any more"

    def test_without_rows_the_clock_alone_lets_it_be_passed(self, engine: Engine, clock: ManualClock) -> None:
        declare(engine, "a", "b IDLE AFTER 10 SECONDS")
        engine.query(BOTH, "q")
        step(engine, a=[1, 5])
        if isinstance(engine, ShardsInProcess):
            assert not engine.tick()
        clock.advance(10 * SECOND)
        if isinstance(engine, ShardsInProcess):
            assert engine.tick()
        step(engine)
        assert watermark(engine, "q") == 5

    def test_streams_that_are_all_idle_pass_nobody(self, engine: Engine, clock: ManualClock) -> None:
        declare(engine, "a IDLE AFTER 10 SECONDS", "b IDLE AFTER 10 SECONDS")
        engine.query(BOTH, "q")
        step(engine, a=[9], b=[5])
        clock.advance(MINUTE)
        step(engine)
        assert watermark(engine, "q") == 5

    def test_one_that_has_ended_takes_an_idle_one_to_its_last_row(self, engine: Engine, clock: ManualClock) -> None:
        declare(engine, "a", "b IDLE AFTER 10 SECONDS")
        engine.query(BOTH, "q")
        step(engine, a=[9])
        engine.end("a")
        clock.advance(MINUTE)
        step(engine)
        assert engine["q"].watermark == ORIGIN + 9 * SECOND + 1

    def test_a_restart_goes_on(self, clock: ManualClock, tmp_path: Any) -> None:
        first = ShardsInProcess(2, clock=clock, checkpoint=str(tmp_path))
        declare(first, "a", "b IDLE AFTER 10 SECONDS")
        first.query(BOTH, "q")
        step(first, a=[1], b=[1])
        clock.advance(10 * SECOND)
        step(first, a=[8])
        again = ShardsInProcess(2, clock=clock, checkpoint=str(tmp_path))
        step(again, b=[7])
        assert late(again, "b") == 1
        again.close()


class TestHolding:
    def test_status_says_who_waits_for_whom_and_what_to_write(self, engine: Engine, clock: ManualClock) -> None:
        declare(engine, "a", "b")
        engine.query(BOTH, "q")
        engine.query("SELECT k FROM a [RANGE 5 SECONDS]", "free")
        step(engine, a=[1, 2])
        step(engine, a=[3, 4, 5])
        clock.advance(2 * MINUTE)
        status = engine.status()
        held = status["streams"]["b"]
        assert held["holds"] == ["q"]
        assert held["held_back"] == 4
        assert held["silent_since"].startswith("2026-01-01 00:00:00")
        assert "IDLE AFTER" in held["hint"] and "DROP QUERY q" in held["hint"]
        assert status["streams"]["a"]["holds"] == []
        (warning,) = status["warnings"]
        assert (warning["stream"], warning["count"]) == ("b", 4)
        (shown,) = engine.sql("SHOW STREAMS")
        assert {row[0]: row[3][:7] for row in shown.rows} == {"a": "", "b": "q since"}
        step(engine, a=[9], b=[9])
        assert engine.status()["warnings"] == []

    def test_the_bound_is_told(self, engine: Engine) -> None:
        declare(engine, "a", "b")
        engine.sql("SET waiting_limit = 3")
        engine.query(BOTH, "q")
        step(engine, a=[1, 2, 3])
        assert engine.status()["warnings"] == []
        step(engine, a=[4, 5])
        (warning,) = engine.status()["warnings"]
        assert "waiting_limit is reached" in warning["what"]
        (held,) = engine.health()
        assert held.what == "stream" and "waiting_limit is reached" in held.message and "HEARTBEAT" in held.hint

    def test_a_source_is_read_no_further_at_the_bound(self) -> None:
        engine = LocalEngine()
        chunks = ({"ts": at(second), "k": second} for second in range(1000))
        engine.sql("SET waiting_limit = 500")
        declare(engine, "b")
        from windrow.sources.rows import tables_of

        engine.stream("a", list(tables_of(list(chunks), 100)), timestamp="ts")
        engine.query("SELECT a.k FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.k", "q")
        engine.run()
        assert engine.status()["streams"]["a"]["rows"] == 600
        engine.push("b", [{"ts": at(400), "k": 400}])
        engine.run()
        assert engine.status()["streams"]["a"]["rows"] == 1000
        engine.push("b", [{"ts": at(950), "k": 950}])
        engine.end("b")
        engine.run()
        assert sorted(row["k"] for row in engine["q"].changes().to_pylist()) == [400, 950]
        engine.close()

    def test_a_source_is_read_no_further_at_the_bound_on_shards(self) -> None:
        engine = SourcesInProcess(2)
        engine.sql("SET waiting_limit = 4")
        declare(engine, "a", "b")
        engine.query(BOTH, "q")
        for first in (0.0, 3.0, 6.0):
            step(engine, a=[first, first + 1, first + 2])
        assert engine.status()["streams"]["a"]["rows"] == 6
        assert engine.status()["streams"]["a"]["unread"] == 1
        step(engine, b=[4.5])
        step(engine)
        assert engine.status()["streams"]["a"]["rows"] == 9
        engine.close()


def test_who_is_paused_is_a_pure_function() -> None:
    def progress(**newest: int) -> Progress:
        known = Progress().with_streams(dict.fromkeys(newest, 0))
        reports = {name: IntakeReport(1, time, time) for name, time in newest.items() if time}
        return known.with_intake([reports]).advanced([Reader(frozenset(newest), frozenset(), BEGINNING)])

    abc, ab = frozenset("abc"), frozenset("ab")
    at_bound = progress(a=9, b=5, c=0)
    assert paused_streams(at_bound, {abc: 10}, 10) == ab
    assert paused_streams(at_bound, {abc: 9}, 10) == frozenset()
    assert paused_streams(at_bound, {ab: 10}, 10) == frozenset("a")
    assert paused_streams(progress(a=5, b=5), {ab: 10}, 10) == frozenset(), "nobody is ahead"


def test_a_share_of_late_rows_that_jumps_is_told(engine: Engine) -> None:
    declare(engine, "a AHEAD UNLIMITED")
    engine.query("SELECT k FROM a [RANGE 5 SECONDS]", "q")
    step(engine, a=[float(second) for second in range(100)])
    assert engine.status()["warnings"] == []
    step(engine, a=[1e9])
    step(engine, a=[float(second) for second in range(100, 150)])
    (warning,) = engine.status()["warnings"]
    assert (warning["stream"], warning["count"]) == ("a", 50)
    assert "AHEAD" in warning["what"]
