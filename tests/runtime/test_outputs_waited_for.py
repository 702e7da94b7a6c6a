"""Who waits for sinks and subscribers: for one that is only slow who gives it more, in its own calls nobody."""

from __future__ import annotations

import logging
import threading
import time
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
from windrow.runtime.shards.feeding.publishing import Publishing
from windrow.units import SECOND

KINDS = {"shards": ShardsInProcess, "loop": SourcesInProcess}
STREAM = "CREATE STREAM s (ts TIMESTAMP, v INT) TIMESTAMP BY ts"
ALL = "SELECT v FROM s [RANGE 1 SECOND]"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Who waits for one who waits for it waits for ever."""
    monkeypatch.setattr("windrow.runtime.outputs.feeder.MOMENT", 0.0)
    monkeypatch.setattr("windrow.runtime.outputs.feeder.PATIENCE", 600.0)
    GOT.clear()
    yield
    for event in HANGING.values():
        event.set()
    HANGING.clear()
    REFUSING.clear()


def connected(kind: str, place: Path, clock: ManualClock | None = None) -> Any:
    clock = clock or ManualClock(1_000 * SECOND)
    return LocalEngine(clock=clock) if kind == "local" else KINDS[kind](2, checkpoint=str(place), clock=clock)


def push(engine: Any, *seconds: int) -> None:
    engine.push("s", [{"ts": second * SECOND, "v": second} for second in seconds])


class Slow:
    """A subscriber that is slower than the engine."""

    def __init__(self) -> None:
        self.heard: list[int] = []

    def __call__(self, table: pa.Table) -> None:
        threading.Event().wait(0.05)
        self.heard += table["v"].to_pylist()


def test_one_that_is_only_slow_gets_all_in_a_run_over_files(tmp_path: Path) -> None:
    """Not the difference in the end, when nearly all has come and gone."""
    for second in range(1, 9):
        (tmp_path / f"{second}.json").write_text(f'{{"ts": "1970-01-01 00:00:0{second}", "v": {second}}}\n')
    engine, slow = LocalEngine(), Slow()
    engine.sql(f"CREATE STREAM s (ts TIMESTAMP, v INT) FROM json('{tmp_path}') TIMESTAMP BY ts")
    engine.query(ALL, name="q").subscribe(slow)
    engine.sql("SET sink_backlog = '1 B'")
    engine.run()
    assert sorted(slow.heard) == list(range(1, 9))
    engine.close()


def test_one_that_is_only_slow_gets_all_micro_batches(tmp_path: Path) -> None:
    engine, slow = connected("shards", tmp_path), Slow()
    engine.sql(f"{STREAM}; SET sink_backlog = '1 B'")
    engine.query(ALL, name="q").subscribe(slow)
    for second in range(1, 9, 2):
        push(engine, second, second + 1)
        engine.step()
    assert sorted(slow.heard) == list(range(1, 8))
    engine.close()


def test_late_rows_wait_for_a_sink_that_is_only_slow(tmp_path: Path) -> None:
    for number, second in enumerate([9, 1, 2, 3, 4, 5, 6]):
        (tmp_path / f"{number}.json").write_text(f'{{"ts": "1970-01-01 00:00:0{second}", "v": {second}}}\n')
    engine = LocalEngine()
    engine.sql(f"""
        CREATE STREAM s (ts TIMESTAMP, v INT) FROM json('{tmp_path}') TIMESTAMP BY ts
        LATE INTO python('test_outputs_waited_for:receive_slowly');
        CREATE QUERY q AS {ALL}; SET sink_backlog = '1 B'
    """)
    engine.run()
    assert [row for table in GOT["s late"] for row in table["v"].to_pylist()] == [1, 2, 3, 4, 5, 6]
    engine.close()


def receive_slowly(table: pa.Table) -> None:
    threading.Event().wait(0.05)
    GOT.setdefault(table.schema.metadata[b"query"].decode(), []).append(table)


@pytest.mark.parametrize("kind", ["local", "shards"])
def test_one_for_whom_nothing_more_is_kept_is_logged(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("windrow.runtime.outputs.feeder.PATIENCE", 0.0)
    engine, returns = connected(kind, tmp_path), threading.Event()
    engine.sql(f"{STREAM}; SET sink_backlog = '1 B'")
    engine.query(ALL, name="q").subscribe(lambda table: returns.wait() and None)
    with caplog.at_level(logging.WARNING, logger="windrow"):
        for second in range(1, 5):
            push(engine, second)
            engine.step()
    said = [one for one in caplog.messages if "nothing more is kept" in one]
    assert said == ["subscriber of q: more waits than sink_backlog, nothing more is kept"]
    returns.set()
    engine.close()


@pytest.mark.parametrize("kind", ["local", "loop"])
@pytest.mark.parametrize("is_started", [False, True], ids=["by hand", "beside a loop"])
def test_receivers_may_call_the_engine(kind: str, is_started: bool, tmp_path: Path) -> None:
    """Two of them: nobody waits for one who waits."""
    engine, heard = connected(kind, tmp_path / "checkpoint"), dict[str, list[int]](first=[], second=[])
    engine.sql(f"{STREAM}; CREATE STREAM t (ts TIMESTAMP, v INT) TIMESTAMP BY ts")
    query = engine.query(ALL, name="q")

    def calling(name: str) -> Any:
        def subscriber(table: pa.Table) -> None:
            heard[name] += table["v"].to_pylist()
            engine.step()
            engine.retry("s")
            engine.end("t") if len(heard[name]) == 1 else None

        return subscriber

    for name in heard:
        query.subscribe(calling(name))
    engine.start() if is_started and kind == "loop" else None
    for second in range(1, 5):
        push(engine, second)
        engine.step()
    assert heard == {"first": [1, 2, 3], "second": [1, 2, 3]} and engine.health() == []
    engine.close()


@pytest.mark.parametrize("kind", ["local", "loop"])
def test_a_receiver_may_close_the_engine(kind: str, tmp_path: Path) -> None:
    engine, closed = connected(kind, tmp_path / "checkpoint"), threading.Event()
    engine.sql(STREAM)
    engine.query(ALL, name="q").subscribe(lambda table: (engine.close(), closed.set()))
    push(engine, 1, 2)
    engine.step()
    assert closed.is_set()


def test_a_run_ends_though_a_receiver_steps_in_the_end(tmp_path: Path) -> None:
    engine, heard = connected("loop", tmp_path / "checkpoint"), list[int]()
    engine.sql(STREAM)
    engine.query(ALL, name="q").subscribe(lambda table: (heard.extend(table["v"].to_pylist()), engine.step()))
    push(engine, 1, 2)
    engine.end("s")
    engine.run()
    assert sorted(heard) == [1, 2]
    engine.close()


@pytest.mark.parametrize("kind", ["local", "shards", "loop"])
def test_each_that_is_to_stop_the_engine_says_why(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.runtime.outputs.feeder.MOMENT", 600.0)  # both have failed when the first is told
    engine = connected(kind, tmp_path / "checkpoint")
    engine.sql(STREAM)
    REFUSING.update(first="first is full", second="second is full")
    for name in REFUSING:
        engine.sql(f"CREATE QUERY {name} AS {ALL} INTO python('support.failing_sink:receive', on_error => 'stop')")
    push(engine, 1, 2)
    said: list[str] = []
    for _ in range(2):
        with pytest.raises(OSError) as error:
            engine.step()
        said.append(str(error.value))
        REFUSING.clear()  # what has been raised until then is said all the same
    assert sorted(said) == ["first is full", "second is full"]
    engine.close()


def test_a_step_beside_a_loop_says_what_stopped_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the loop has taken the error and is not over yet."""
    engine = connected("loop", tmp_path / "checkpoint")
    engine.sql(f"{STREAM}; CREATE QUERY q AS {ALL} INTO python('support.failing_sink:receive', on_error => 'stop')")
    engine.start()
    REFUSING["q"], HANGING["q"] = "full", threading.Event()
    over, wait, returns = engine._loop._over, Publishing.wait, HANGING["q"]
    end = over.set

    def fails_and_is_taken(publishing: Publishing) -> None:
        returns.set()
        wait(publishing)
        until(lambda: all(feed.feeder._raised is None for feed in publishing._feeds), "that the loop takes the error")

    monkeypatch.setattr(over, "set", lambda: (time.sleep(0.3), end()))
    monkeypatch.setattr(Publishing, "wait", fails_and_is_taken)
    push(engine, 1, 2)
    with pytest.raises(OSError, match="full"):
        engine.step()
    engine.close()


@pytest.mark.parametrize("kind", ["local", "shards"])
def test_rejected_rows_beyond_the_backlog_are_counted(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one process those that came then; on shards those that the log does not have any more."""
    monkeypatch.setattr("windrow.runtime.shards.storage.collection.RETAINED_BATCHES", 3)
    clock = ManualClock(1_000 * SECOND)
    engine = connected(kind, tmp_path, clock)
    engine.sql(f"""
        {STREAM} REJECTED INTO python('support.failing_sink:receive');
        CREATE QUERY q AS {ALL}; SET sink_backlog = '1 B'
    """)
    REFUSING["s rejected"] = "away"
    for number in range(1, 11):
        engine.push("s", [{"ts": None, "v": number}])
        engine.step()
    (failing,) = engine.health()
    assert "sink_backlog" in failing.hint and "counted" in failing.hint
    REFUSING.clear()
    clock.advance(61 * SECOND)
    engine.step()
    engine.push("s", [{"ts": None, "v": 11}])
    engine.step()
    had = sum(table.num_rows for table in GOT["s rejected"])
    (warning,) = (one for one in engine.status()["warnings"] if "REJECTED INTO" in one["what"])
    assert warning["count"] == 11 - had > 0 and had > 1
    assert engine.health() == []
    engine.close()
