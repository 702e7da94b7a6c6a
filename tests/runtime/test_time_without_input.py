"""Time goes on without rows: heartbeats, and times of arrival."""

from __future__ import annotations

import pyarrow as pa

from support.pushed_rows import SECOND, answer, at, ended, reasons
from windrow.clock import ManualClock
from windrow.runtime.local import LocalEngine


def beating(clock: ManualClock, *streams: str) -> LocalEngine:
    engine = LocalEngine(clock=clock)
    for name in streams:
        engine.sql(f"CREATE STREAM {name} (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts HEARTBEAT 5 SECONDS")
    return engine


def clock_at(seconds: float) -> ManualClock:
    return ManualClock(int(at(seconds).timestamp() * SECOND))


def test_a_quiet_stream_still_expires() -> None:
    clock = clock_at(0)
    engine = beating(clock, "s")
    query = engine.query("SELECT a FROM s [RANGE 3 SECONDS]", "q")
    told: list[pa.Table] = []
    query.subscribe(told.append)
    clock.advance(SECOND)
    engine.push("s", [{"ts": at(1), "a": 1}])
    engine.step()
    clock.advance(4 * SECOND)
    engine.step()
    before = query.answer().num_rows, engine.watermark
    clock.advance(1 * SECOND)
    engine.step()

    assert before == (0, at(1).timestamp() * SECOND), "not long enough"
    assert engine.watermark == at(6).timestamp() * SECOND
    assert query.answer(at=int(at(3.5).timestamp() * SECOND)).to_pylist() == [{"a": 1}]
    assert query.answer().num_rows == 0
    assert [change["_sign"] for table in told for change in table.to_pylist()] == [1]


def test_a_stream_that_never_had_a_row_does_not_hold_the_others_back() -> None:
    clock = clock_at(0)
    engine = beating(clock, "s", "t")
    query = engine.query("SELECT a FROM s [RANGE 100 SECONDS] EXCEPT SELECT a FROM t [RANGE 100 SECONDS]", "q")
    engine.push("s", [{"ts": at(1), "a": 1}])
    engine.step()
    assert query.answer().num_rows == 0, "t may still have one"
    clock.advance(6 * SECOND)
    engine.step()

    assert query.answer().to_pylist() == [{"a": 1}]


def test_rows_after_a_heartbeat_are_late_before_it() -> None:
    clock = clock_at(0)
    engine = beating(clock, "s")
    engine.query("SELECT a FROM s [RANGE 100 SECONDS]", "q")
    clock.advance(10 * SECOND)
    engine.step()
    engine.push("s", [{"ts": at(9), "a": 1}, {"ts": at(10), "a": 2}])
    ended(engine)

    assert answer(engine) == [(2,)]
    assert engine.status()["streams"]["s"]["late"] == 1


def test_arrival_time_is_the_clock() -> None:
    clock = clock_at(5)
    engine = LocalEngine(clock=clock)
    engine.sql("CREATE STREAM s (a BIGINT) ARRIVAL")
    query = engine.query("SELECT a FROM s [RANGE 2 SECONDS]", "q")
    engine.push("s", [{"a": 1}, {"a": 2}])
    clock.advance(SECOND)
    engine.push("s", [{"a": 3}, {"a": "wrong"}])
    ended(engine)

    begins = query.changes().select(["a", "_ts"]).to_pylist()
    assert begins == [{"a": 1, "_ts": at(5)}, {"a": 2, "_ts": at(5)}, {"a": 3, "_ts": at(6)}]
    assert reasons(engine) == {"a is not BIGINT": 1}
