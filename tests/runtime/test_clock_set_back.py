"""A clock that is set back: no row is late or lost by it, statements take effect, silent streams move on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.pushed_rows import SECOND
from support.shard_runs import ShardsInProcess
from windrow.clock import ManualClock
from windrow.runtime.local import LocalEngine

HOUR = 3600 * SECOND
Either = LocalEngine | ShardsInProcess


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(10 * HOUR)


@pytest.fixture(params=["local", "shards"])
def engine(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Either]:
    engine = LocalEngine(clock=clock) if request.param == "local" else ShardsInProcess(2, clock=clock)
    yield engine
    engine.close()


def test_rows_that_take_their_time_from_it_are_not_late(engine: Either, clock: ManualClock) -> None:
    engine.sql("CREATE STREAM s (a BIGINT) ARRIVAL; CREATE QUERY q AS SELECT COUNT(*) AS n FROM s")
    for row in range(4):
        engine.push("s", {"a": row})
        engine.step()
        clock.advance(-HOUR if row == 1 else SECOND)
    engine.end("s")
    engine.step()
    engine.run()

    assert engine.status()["streams"]["s"]["late"] == 0
    assert engine["q"].latest_answer().to_pylist() == [{"n": 4}]


def test_rows_are_not_late_after_a_heartbeat(engine: Either, clock: ManualClock) -> None:
    engine.sql("CREATE STREAM s (a BIGINT) ARRIVAL HEARTBEAT 5 SECONDS; CREATE QUERY q AS SELECT COUNT(*) AS n FROM s")
    engine.push("s", {"a": 1})
    engine.step()
    beat(engine, clock)
    clock.advance(-HOUR)
    engine.push("s", {"a": 2})
    engine.step()
    engine.end("s")
    engine.step()
    engine.run()

    assert engine.status()["streams"]["s"]["late"] == 0
    assert engine["q"].latest_answer().to_pylist() == [{"n": 2}]


def test_a_silent_stream_moves_on_after_its_silence(engine: Either, clock: ManualClock) -> None:
    """Its rows are of hours ago, so that the clock is ahead of them even now."""
    engine.sql("CREATE STREAM s (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts HEARTBEAT 5 SECONDS")
    query = engine.query("SELECT a FROM s [RANGE 1 MINUTE]", "q")
    engine.push("s", {"ts": HOUR, "a": 1})
    engine.step()
    clock.advance(-HOUR)
    beat(engine, clock)

    assert engine.watermark > 2 * HOUR
    assert query.answer().num_rows == 0


def beat(engine: Either, clock: ManualClock) -> None:
    """Let the engine see the clock, then a silence that is long enough."""
    for _ in range(2):
        if isinstance(engine, LocalEngine) or engine.tick():
            engine.step()
        clock.advance(6 * SECOND)
    if isinstance(engine, LocalEngine) or engine.tick():
        engine.step()


def test_statements_take_effect(engine: Either, clock: ManualClock) -> None:
    engine.sql("CREATE STREAM s (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts; CREATE QUERY q AS SELECT a FROM s")
    engine.push("s", {"ts": 1, "a": 1})
    engine.step()
    clock.advance(-HOUR)
    engine.sql("CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (2)")
    engine.sql("CREATE QUERY later AS SELECT s.a FROM s [RANGE 1 HOUR] JOIN t ON s.a = t.a")
    engine.push("s", [{"ts": 2, "a": 2}, {"ts": 3, "a": 3}])
    engine.step()

    assert engine["later"].answer().to_pylist() == [{"a": 2}]
