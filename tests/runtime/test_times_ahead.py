"""One bad time does not make everything after it late: what is too far ahead is rejected, with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from support.shard_runs import ShardsInProcess, SourcesInProcess
from windrow.clock import ManualClock
from windrow.errors import WindrowError
from windrow.runtime.local import LocalEngine
from windrow.units import MAX_DURATION

Engine = LocalEngine | ShardsInProcess
NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
SECOND = 1_000_000
MAKERS: dict[str, Callable[[ManualClock], Engine]] = {
    "local": lambda clock: LocalEngine(clock=clock),
    "shards": lambda clock: ShardsInProcess(2, clock=clock),
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(int(NOW.timestamp() * SECOND))


@pytest.fixture(params=MAKERS)
def engine(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Engine]:
    made = MAKERS[request.param](clock)
    yield made
    made.close()


def declared(engine: Engine, clauses: str = "") -> Engine:
    engine.sql(f"CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts {clauses}")
    engine.query("SELECT k FROM s [RANGE 1 DAY]", "q")
    return engine


def step(engine: Engine, *rows: tuple[timedelta, int]) -> None:
    engine.push("s", [{"ts": NOW + ahead, "k": k} for ahead, k in rows])
    engine.step()


def taken(engine: Engine) -> dict[str, Any]:
    of: dict[str, Any] = engine.status()["streams"]["s"]
    return {"rows": of["rows"], "late": of["late"], **of["rejected"]}


YEAR_2099 = datetime(2099, 6, 1, tzinfo=timezone.utc) - NOW
AGO = timedelta(seconds=-5)


def test_a_row_of_the_year_2099_is_rejected_where_nothing_is_declared(engine: Engine) -> None:
    declared(engine)
    step(engine, (AGO, 1), (YEAR_2099, 2))
    step(engine, (timedelta(seconds=-4), 3), (timedelta(0), 4))
    reason = "ts is 73 years ahead of its arrival, more than AHEAD 366 DAYS"
    assert taken(engine) == {"rows": 3, "late": 0, reason: 1}
    rejected = engine.rejected("s")
    assert rejected is not None and rejected["k"].to_pylist() == [2]


def test_the_limit_can_be_declared(engine: Engine) -> None:
    declared(engine, "AHEAD 1 MINUTE SLACK 10 SECONDS")
    step(engine, (timedelta(seconds=60), 1), (timedelta(seconds=61), 2), (timedelta(hours=30), 3))
    told = "ahead of its arrival, more than AHEAD 1 MINUTE"
    assert taken(engine) == {"rows": 1, "late": 0, f"ts is 1 minute {told}": 1, f"ts is 1 day {told}": 1}


def test_everything_can_be_believed(engine: Engine) -> None:
    declared(engine, "AHEAD UNLIMITED")
    step(engine, (YEAR_2099, 2))
    assert taken(engine) == {"rows": 1, "late": 0}


def test_against_what_has_been_seen_where_that_is_declared(engine: Engine) -> None:
    declared(engine, "AHEAD UNLIMITED AHEAD 1 HOUR OF NEWEST")
    step(engine, (timedelta(days=900), 1))  # the first one is believed
    step(engine, (timedelta(days=900, minutes=59), 2), (timedelta(days=900, minutes=61), 3))
    told = "ts is 1 hour ahead of the newest row before it, more than AHEAD 1 HOUR"
    assert taken(engine) == {"rows": 2, "late": 0, told: 1}


def test_a_clock_that_was_never_set_says_nothing() -> None:
    engine = LocalEngine(clock=ManualClock(0))
    declared(engine)
    step(engine, (YEAR_2099, 2))
    assert taken(engine) == {"rows": 1, "late": 0}


def test_rows_of_files_are_of_any_time(tmp_path: Any, clock: ManualClock) -> None:
    (tmp_path / "rows.csv").write_text("ts,k\n2099-06-01 00:00:00,1\n")
    engine = LocalEngine(clock=clock)
    engine.sql(f"CREATE STREAM s (ts TIMESTAMP, k BIGINT) FROM csv('{tmp_path}') TIMESTAMP BY ts")
    engine.query("SELECT k FROM s [RANGE 1 DAY]", "q")
    engine.run()
    assert taken(engine) == {"rows": 1, "late": 0}


def test_rejected_rows_can_be_taken_again(engine: Engine, clock: ManualClock) -> None:
    declared(engine, "AHEAD 1 MINUTE")
    step(engine, (timedelta(minutes=10), 1))
    rejected = engine.rejected("s")
    assert rejected is not None
    clock.advance(10 * 60 * SECOND)
    engine.push("s", rejected)
    engine.step()
    assert taken(engine)["rows"] == 1


def test_a_replay_decides_the_same(clock: ManualClock, tmp_path: Any) -> None:
    """The arrival is that of the batch's plan, whenever the batch runs."""
    engine = SourcesInProcess(2, clock=clock, checkpoint=str(tmp_path))
    declared(engine, "AHEAD 1 MINUTE")
    engine.push("s", [{"ts": NOW + timedelta(minutes=10), "k": 1}])

    def fails(spec: Any) -> Any:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        engine.driver.batches.micro_batch(fails)
    clock.advance(10 * 60 * SECOND)
    again = SourcesInProcess(2, clock=clock, checkpoint=str(tmp_path))
    again.step()
    assert (taken(again)["rows"], again.rejected("s").num_rows) == (0, 1)
    again.close()


def _retried(engine: Engine, clause: str) -> Engine:
    """Rows that AHEAD rejected, after it was altered."""
    engine.sql(f"ALTER STREAM s SET {clause}")
    assert engine.retry("s") == ["2 rejected rows"]
    engine.step()
    assert engine.retry("s") == [], "each is taken again once"
    engine.step()
    return engine


def test_what_was_rejected_is_taken_again_when_the_limit_is_altered(engine: Engine) -> None:
    declared(engine, "AHEAD 1 MINUTE SLACK 1 HOUR")
    step(engine, (timedelta(minutes=10), 1), (timedelta(minutes=11), 2), (timedelta(0), 3))
    assert engine.rejected("s").num_rows == 2
    _retried(engine, "AHEAD 1 HOUR")
    assert (taken(engine)["rows"], taken(engine)["late"]) == (3, 0)
    assert engine.rejected("s") is None
    step(engine, (timedelta(minutes=12), 4), (timedelta(hours=2), 5))
    assert taken(engine)["rows"] == 4, "and the new limit holds"
    assert engine.rejected("s")["k"].to_pylist() == [5]


def test_believing_everything_lifts_both_limits(engine: Engine) -> None:
    declared(engine, "AHEAD 1 DAY AHEAD 1 MINUTE OF NEWEST")
    step(engine, (timedelta(0), 1))
    step(engine, (timedelta(minutes=10), 2), (timedelta(days=2), 3))
    _retried(engine, "AHEAD UNLIMITED")
    assert (taken(engine)["rows"], taken(engine)["late"]) == (3, 0)


def test_what_is_still_wrong_is_rejected_again(engine: Engine) -> None:
    declared(engine, "AHEAD 1 MINUTE")
    step(engine, (timedelta(minutes=10), 1))
    assert engine.retry("s") == ["1 rejected row"]
    engine.step()
    assert (taken(engine)["rows"], engine.rejected("s").num_rows) == (0, 1)


def test_after_the_end_nothing_can_be_taken_again(engine: Engine) -> None:
    declared(engine, "AHEAD 1 MINUTE")
    step(engine, (timedelta(minutes=10), 1))
    engine.end("s")
    engine.step()
    with pytest.raises(WindrowError, match="stream s has ended"):
        engine.retry("s")
    assert engine.rejected("s").num_rows == 1


def test_slack_and_silence_can_be_altered(engine: Engine, clock: ManualClock) -> None:
    declared(engine)
    step(engine, (timedelta(seconds=10), 1), (timedelta(seconds=20), 2))
    engine.sql("ALTER STREAM s SET SLACK 15 SECONDS IDLE AFTER 1 MINUTE")
    step(engine, (timedelta(seconds=30), 3))
    step(engine, (timedelta(seconds=16), 4))
    assert taken(engine) == {"rows": 3, "late": 1}, "what was final is so still"
    step(engine, (timedelta(seconds=21), 5))
    assert taken(engine) == {"rows": 4, "late": 1}, "within the new slack"
    assert engine.session.catalog.stream("s").idle_after == 60 * SECOND
    engine.sql("ALTER STREAM s SET IDLE AFTER UNLIMITED")
    assert engine.session.catalog.stream("s").idle_after is None, "it is waited for again"
    engine.sql("ALTER STREAM s SET SLACK 0 SECONDS")
    engine.step()
    assert engine.watermark == int((NOW + timedelta(seconds=30)).timestamp() * SECOND)


def test_rows_of_files_are_taken_again_through_restarts(clock: ManualClock, tmp_path: Any) -> None:
    """They were read with their file; nobody could push them, since the stream has a source."""
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.csv").write_text("ts,k\n2026-01-01 12:00:00,1\n2026-01-01 14:00:00,2\nno time,3\n")
    for attempt in range(4):
        engine = SourcesInProcess(2, clock=clock, checkpoint=str(tmp_path / "checkpoint"))
        engine.resume(
            f"""
            CREATE STREAM s (ts TIMESTAMP, k BIGINT) FROM csv('{tmp_path / "rows"}') TIMESTAMP BY ts AHEAD 1 HOUR;
            CREATE QUERY q AS SELECT k FROM s;
            {"ALTER STREAM s SET AHEAD 1 DAY;" if attempt else ""}
            """
        )
        if attempt == 2:
            assert engine.retry("s") == ["2 rejected rows"]
            engine.driver.checkpoint.close()  # killed before a batch has taken them
            continue
        engine.step()
        assert taken(engine)["rows"] == (2 if attempt == 3 else 1)
        engine.close()


def test_an_altered_stream_stays_so_in_a_folder(tmp_path: Any) -> None:
    for altered in (False, True):
        engine = LocalEngine(str(tmp_path))
        if not altered:
            engine.sql("CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts AHEAD 1 HOUR")
            engine.sql("ALTER STREAM s SET AHEAD UNLIMITED")
        assert engine.session.catalog.stream("s").ahead == MAX_DURATION
        engine.close()
