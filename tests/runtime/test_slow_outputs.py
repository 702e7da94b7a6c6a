"""Sinks and subscribers that are slow or never return delay nobody but themselves, and are named meanwhile."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.failing_sink import GOT, HANGING, REFUSING
from support.shard_runs import ShardsInProcess, SourcesInProcess
from support.waiting import until
from windrow.clock import ManualClock
from windrow.runtime.local import LocalEngine
from windrow.runtime.local.queued_feed import QueuedFeed
from windrow.units import SECOND

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts"
ALL = "SELECT v FROM s [RANGE 4 SECONDS]"
SUMS = "SELECT k, SUM(v) AS total FROM s [RANGE 4 SECONDS] GROUP BY k"
RECEIVE = "INTO python('support.failing_sink:receive')"


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("windrow.runtime.outputs.feeder.PATIENCE", 0.3)
    monkeypatch.setattr("windrow.runtime.outputs.feeder.MOMENT", 0.02)
    logging.getLogger("windrow").setLevel(logging.ERROR)
    GOT.clear()
    yield
    for event in HANGING.values():
        event.set()
    for thread in threading.enumerate():
        if thread.name.startswith("windrow "):
            thread.join()
    HANGING.clear()
    REFUSING.clear()
    logging.getLogger("windrow").setLevel(logging.NOTSET)


def connected(kind: str, place: Path, clock: ManualClock) -> Any:
    if kind == "local":
        return LocalEngine(clock=clock)
    return {"shards": ShardsInProcess, "loop": SourcesInProcess}[kind](2, checkpoint=str(place), clock=clock)


@pytest.fixture(params=["local", "shards", "loop"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """In one process, micro-batch by micro-batch, and with all of the loop over them."""
    made = connected(request.param, tmp_path / "checkpoint", ManualClock(1_000 * SECOND))
    made.sql(STREAM)
    yield made
    made.close()


def step(engine: Any, *seconds: int) -> None:
    for second in seconds:
        engine.push("s", [{"ts": second * SECOND, "k": "ab"[second % 2], "v": second}])
        engine.step()


def hang(query: str) -> threading.Event:
    HANGING[query] = threading.Event()
    return HANGING[query]


def returns(query: str) -> None:
    HANGING.pop(query).set()


def got(name: str, column: str = "v") -> list[Any]:
    return [value for table in GOT.get(name, []) for value in table[column].to_pylist()]


def settled(engine: Any, query: str, wanted: list[Any]) -> None:
    def has_come() -> bool:
        engine.step()
        return got(query) == wanted

    until(has_come, f"that {query} gets {wanted}")


def test_a_sink_that_hangs_holds_nobody(engine: Any) -> None:
    for name in ("before", "q", "after"):
        engine.sql(f"CREATE QUERY {name} AS {ALL} {RECEIVE}")
    step(engine, 1, 2)
    hang("q")
    step(engine, 3, 4, 5, 6)
    assert got("before") == got("after") == [1, 2, 3, 4, 5] and got("q") == [1]
    (failing,) = engine.health()
    assert (failing.what, failing.name, failing.since) == ("sink", "q", 1_000 * SECOND)
    assert failing.message == "it has not returned since then" and "when it works again" in failing.hint
    assert engine.status()["failing"][0]["name"] == "q"
    returns("q")
    settled(engine, "q", [1, 2, 3, 4, 5])
    assert engine.health() == []


def test_a_subscriber_that_hangs_holds_nobody(engine: Any) -> None:
    heard: list[int] = []
    event = threading.Event()
    query = engine.query(ALL, name="q")
    query.subscribe(lambda table: event.wait() and None)
    query.subscribe(lambda table: heard.extend(table["v"].to_pylist()))
    step(engine, 1, 2, 3, 4)
    assert heard == [1, 2, 3]
    assert [(one.what, one.name) for one in engine.health()] == [("subscriber", "q")]
    event.set()


def test_a_step_waits_for_one_that_is_only_slow(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer than micro-batches wait for it."""
    monkeypatch.setattr("windrow.runtime.outputs.feeder.MOMENT", 0.0)
    monkeypatch.setattr("windrow.runtime.outputs.feeder.PATIENCE", 600.0)
    heard: list[int] = []

    def slow(table: pa.Table) -> None:
        threading.Event().wait(0.1)
        heard.extend(table["v"].to_pylist())

    engine.query(ALL, name="q").subscribe(slow)
    step(engine, 1, 2, 3)
    assert heard == [1, 2] and engine.health() == []


def test_one_that_falls_behind_is_named(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes one piece after the other, but never has all of them."""
    monkeypatch.setattr("windrow.runtime.outputs.feeder.PATIENCE", 0.0)
    taking, go_on = threading.Event(), threading.Event()

    def slow(table: pa.Table) -> None:
        taking.set()
        go_on.wait()

    engine.query(ALL, name="q").subscribe(slow)
    step(engine, 1, 2, 3)
    taking.wait()
    assert [one.name for one in engine.health()] == ["q"]
    go_on.set()


def test_close_does_not_wait_for_ever(engine: Any) -> None:
    engine.sql(f"CREATE QUERY q AS {ALL} {RECEIVE}")
    hang("q")
    step(engine, 1, 2, 3)
    engine.close()
    assert not HANGING["q"].is_set()


@pytest.mark.parametrize("kind", ["local", "loop"])
def test_a_run_ends_though_a_sink_hangs(kind: str, tmp_path: Path) -> None:
    engine = connected(kind, tmp_path / "checkpoint", ManualClock(1_000 * SECOND))
    rows = tmp_path / "rows"
    rows.mkdir()
    for second in range(1, 5):
        (rows / f"{second}.json").write_text(f'{{"ts": "1970-01-01 00:00:0{second}", "v": {second}}}\n')
    engine.sql(f"CREATE STREAM s (ts TIMESTAMP, v INT) FROM json('{rows}') TIMESTAMP BY ts")
    for name in ("q", "other"):
        engine.sql(f"CREATE QUERY {name} AS SELECT v FROM s [RANGE 9 SECONDS] {RECEIVE}")
    engine.end("s") if kind == "loop" else None
    hang("q")
    engine.run()
    assert sorted(got("other")) == [1, 2, 3, 4]
    assert [one.name for one in engine.health()] == ["q"]
    engine.close()


def test_what_waits_for_one_that_hangs_has_a_bound(engine: Any) -> None:
    """Returning, it gets what was kept, then the difference."""
    into = "INTO python('support.failing_sink:receive', mode => 'upsert')"
    engine.sql(f"CREATE QUERY q AS {SUMS} {into}; CREATE QUERY every AS {SUMS} {into}; SET sink_backlog = '1 B'")
    step(engine, 1, 2)
    hang("q")
    step(engine, *range(3, 12))
    (failing,) = engine.health()
    assert "sink_backlog" in failing.hint
    returns("q")

    def is_same() -> bool:
        engine.step()
        return known("q") == known("every")

    until(is_same, "that q knows the same as every")
    assert len(GOT["q"]) < len(GOT["every"])
    step(engine, 12, 13)
    assert known("q") == known("every") and engine.health() == []


def test_one_that_takes_what_was_kept_slowly_goes_on(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches after what was kept for it are forgotten while it is busy."""
    monkeypatch.setattr("windrow.runtime.shards.storage.collection.RETAINED_BATCHES", 3)
    into = "INTO python('support.failing_sink:receive', mode => 'upsert')"
    engine.sql(f"CREATE QUERY q AS {SUMS} {into}; CREATE QUERY every AS {SUMS} {into}; SET sink_backlog = '1 B'")
    REFUSING["q"] = "away"
    step(engine, *range(1, 7))
    hang("q")
    REFUSING.clear()
    clock_of(engine).advance(61 * SECOND)
    step(engine, *range(7, 15))
    returns("q")

    def is_same() -> bool:
        engine.step()
        return known("q") == known("every") and not engine.health()

    until(is_same, "that q knows the same as every")


@pytest.mark.parametrize("backlog", ["unlimited", "3 kB", "1 B"])
def test_one_that_is_now_slow_now_quick_has_the_answer_in_the_end(
    engine: Any, backlog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for it: it takes pieces while others are kept, dropped or made up for by a difference."""
    monkeypatch.setattr("windrow.runtime.outputs.feeder.MOMENT", 0.0)
    monkeypatch.setattr("windrow.runtime.outputs.feeder.PATIENCE", 0.0)
    into = "INTO python('support.failing_sink:receive', mode => 'upsert')"
    engine.sql(f"CREATE QUERY q AS {SUMS} {into}; SET sink_backlog = '{backlog}'")
    pace = random.Random(7)
    for second in range(1, 41):
        if pace.random() < 0.3:
            returns("q") if "q" in HANGING else hang("q")
        step(engine, second)
    if "q" in HANGING:
        returns("q")

    def has_the_answer() -> bool:
        engine.step()
        rows = engine["q"].answer().to_pylist()
        return known("q") == sorted((row["k"], row["total"]) for row in rows)

    until(has_the_answer, "that q has the answer")
    numbers = [int(table.schema.metadata[b"batch"]) for table in GOT["q"]]
    assert numbers == sorted(set(numbers))


def known(name: str) -> list[tuple[str, int]]:
    latest = {row["k"]: row for table in GOT.get(name, []) for row in table.to_pylist()}
    return sorted((row["k"], row["total"]) for row in latest.values() if row["_sign"] > 0)


def test_a_sink_that_is_to_stop_the_engine_may_be_slow(engine: Any) -> None:
    engine.sql(f"CREATE QUERY q AS {ALL} INTO python('support.failing_sink:receive', on_error => 'stop')")
    event = hang("q")
    step(engine, 1, 2)
    REFUSING["q"] = "full"
    event.set()

    def stops() -> bool:
        try:
            engine.step()
        except OSError as error:
            return str(error) == "full"
        return False

    until(stops, "that the engine stops")
    REFUSING.clear()


def test_a_function_that_ends_the_program_does_so(engine: Any) -> None:
    is_to_leave = [True]

    def leave(table: pa.Table) -> None:
        if is_to_leave.pop():
            raise SystemExit(3)

    engine.query(ALL, name="q").subscribe(leave)
    with pytest.raises(SystemExit):
        step(engine, 1, 2)
    is_to_leave.append(False)


def test_a_subscriber_may_ask_and_push(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.runtime.outputs.feeder.PATIENCE", 600.0)
    engine.sql("CREATE STREAM t (ts TIMESTAMP, v INT) TIMESTAMP BY ts")
    query, second = engine.query(ALL, name="q"), engine.query("SELECT v FROM t [RANGE 9 SECONDS]", name="second")
    answers: list[int] = []

    def subscriber(table: pa.Table) -> None:
        answers.append(query.answer().num_rows)
        rows = table.select(["_ts", "v"]).rename_columns(["ts", "v"]).to_pylist()
        engine.push("t", rows)
        engine.sql(f"SET waiting_limit = {1_000 + len(answers)}")

    query.subscribe(subscriber)
    step(engine, 1, 2, 3, 4)
    engine.step()
    assert answers == [1, 2, 3]
    assert sorted(second.answer()["v"].to_pylist()) == [1, 2]


def test_subscribing_in_the_middle_of_a_segment_harms_no_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """From another thread, in another form than those that are already fed."""
    engine, heard = LocalEngine(clock=ManualClock(1_000 * SECOND)), list[pa.Table]()
    engine.sql(f"{STREAM}; CREATE QUERY q AS {SUMS} INTO python('support.failing_sink:receive', mode => 'upsert')")
    subscribing = threading.Thread(target=lambda: engine["q"].subscribe(heard.append))
    put = QueuedFeed.put

    def subscribed_meanwhile(*arguments: Any) -> None:
        if not subscribing.ident:
            subscribing.start()
            subscribing.join(0.2)
        put(*arguments)

    monkeypatch.setattr(QueuedFeed, "put", subscribed_meanwhile)
    step(engine, 1, 2)
    subscribing.join()
    step(engine, 3, 4)
    assert engine.health() == [] and heard and known("q")
    engine.close()


def test_after_a_restart_it_gets_what_it_was_busy_with_again(tmp_path: Path) -> None:
    clock = ManualClock(1_000 * SECOND)
    engine = connected("loop", tmp_path, clock)
    engine.sql(f"{STREAM}; CREATE QUERY q AS {ALL} {RECEIVE}")
    step(engine, 1, 2)
    event = hang("q")
    step(engine, 3, 4)
    engine.close()
    HANGING.clear()
    again = connected("loop", tmp_path, clock)
    again.step()
    assert got("q") == [1, 2, 3]
    event.set()
    until(lambda: len(got("q")) > 3, "that the old call returns")
    assert got("q") == [1, 2, 3, 2], "one that was closed gets nothing more than what it was busy with"
    again.close()


def test_late_rows_beyond_the_backlog_are_counted(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process those that came then; on shards those that the log does not have any more."""
    monkeypatch.setattr("windrow.runtime.shards.storage.collection.RETAINED_BATCHES", 3)
    engine.sql(f"""
        CREATE STREAM t (ts TIMESTAMP, v INT) TIMESTAMP BY ts LATE {RECEIVE};
        CREATE QUERY q AS SELECT v FROM t [RANGE 1 HOUR]; SET sink_backlog = '1 B'
    """)
    REFUSING["t late"] = "away"
    engine.push("t", [{"ts": 9_000_000_000, "v": 0}])
    engine.step()
    for number in range(1, 11):
        engine.push("t", [{"ts": number, "v": number}])
        engine.step()
    (failing,) = engine.health()
    assert "sink_backlog" in failing.hint and "counted" in failing.hint
    REFUSING.clear()
    clock_of(engine).advance(61 * SECOND)
    engine.step()
    engine.push("t", [{"ts": 11, "v": 11}])
    engine.step()
    had = got("t late")
    assert had == sorted(had) and had[0] == 1 and had[-1] == 11
    (warning,) = (one for one in engine.status()["warnings"] if "LATE INTO" in one["what"])
    assert warning["count"] == 11 - len(had) > 0
    assert warning["stream"] == "t" and "engine.late('t')" in warning["what"] and "1970" in warning["since"]
    assert engine.health() == []


def clock_of(engine: Any) -> ManualClock:
    clock = engine._inputs.clock if isinstance(engine, LocalEngine) else engine.driver.readers.clock
    assert isinstance(clock, ManualClock)
    return clock


def test_what_the_log_still_has_of_late_rows_is_given(tmp_path: Path) -> None:
    """Also after a restart; nothing is missed then."""
    clock = ManualClock(1_000 * SECOND)
    engine = connected("shards", tmp_path, clock)
    engine.sql(f"""
        CREATE STREAM t (ts TIMESTAMP, v INT) TIMESTAMP BY ts LATE {RECEIVE};
        CREATE QUERY q AS SELECT v FROM t [RANGE 1 HOUR]; SET sink_backlog = '1 B'
    """)
    REFUSING["t late"] = "away"
    engine.push("t", [{"ts": 9_000_000_000, "v": 0}])
    engine.step()
    for number in range(1, 11):
        engine.push("t", [{"ts": number, "v": number}])
        engine.step()
    engine = connected("shards", tmp_path, clock)
    REFUSING.clear()
    engine.push("t", [{"ts": 11, "v": 11}])
    engine.step()
    assert got("t late") == list(range(1, 12))
    assert not [one for one in engine.status()["warnings"] if "LATE INTO" in one["what"]]
