"""Sinks that are no files, and subscribers: they get a batch once it is committed, and sinks not less than once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.shard_runs import ShardsInProcess, SourcesInProcess
from windrow.clock import Clock, ManualClock
from windrow.runtime.shards.feeding.publishing import Publishing
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.shards.storage.sink_records import SinkRecords

STREAM = "CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts"
RECEIVED: list[tuple[str, int, list[int]]] = []  # the query, the batch, the rows
COMMITTED: list[int | None] = []  # what the checkpoint said then
PLACE: list[Path] = []
FAILING: set[str] = set()


def receive(table: pa.Table) -> None:
    """Called as `python('test_publishing:receive')`."""
    query, batch = table.schema.metadata[b"query"].decode(), int(table.schema.metadata[b"batch"])
    last = Checkpoint(str(PLACE[0])).last_commit()
    COMMITTED.append(None if last is None else last.number)
    if query in FAILING:
        raise ValueError(f"{query} does not want batch {batch}")
    RECEIVED.append((query, batch, table["k"].to_pylist()))


@pytest.fixture(autouse=True)
def _forget(tmp_path: Path) -> None:
    RECEIVED.clear()
    COMMITTED.clear()
    FAILING.clear()
    PLACE[:] = [tmp_path]


def an_engine(place: Path, queries: tuple[str, ...] = ("q",), clock: Clock | None = None) -> ShardsInProcess:
    engine = ShardsInProcess(2, checkpoint=str(place), clock=clock)
    if not engine.queries:
        engine.sql(STREAM)
        for name in queries:
            engine.sql(
                f"CREATE QUERY {name} AS SELECT k FROM s [RANGE 1 SECOND] INTO python('test_publishing:receive')"
            )
    return engine


def push(engine: ShardsInProcess, *seconds: int) -> None:
    engine.push("s", [{"ts": second * 1_000_000, "k": second} for second in seconds])


def step(engine: ShardsInProcess, *seconds: int) -> None:
    push(engine, *seconds)
    engine.step()


def test_they_get_a_batch_after_its_commit(tmp_path: Path) -> None:
    engine = an_engine(tmp_path)
    seen: list[int | None] = []

    def subscriber(table: pa.Table) -> None:
        last = Checkpoint(str(tmp_path)).last_commit()
        seen.append(None if last is None else last.number)

    engine["q"].subscribe(subscriber)
    for second in range(3):
        step(engine, 2 * second, 2 * second + 1)
    assert [batch for _, batch, _ in RECEIVED] == COMMITTED == [0, 1, 2]
    assert sorted({number for number in seen if number is not None}) == [0, 1, 2] and None not in seen


def test_a_run_is_not_over_until_everybody_has_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.runtime.outputs.feeder.MOMENT", 0.0)
    monkeypatch.setattr("windrow.runtime.outputs.feeder.PATIENCE", 600.0)
    engine = SourcesInProcess(1, checkpoint=str(tmp_path))
    engine.sql(f"{STREAM}; CREATE QUERY q AS SELECT k FROM s [RANGE 1 SECOND]")
    called, returns = threading.Event(), threading.Event()
    engine["q"].subscribe(lambda table: (called.set(), returns.wait()))
    engine.push("s", [{"ts": 1_000_000, "k": 1}])
    engine.end("s")
    engine.start()
    called.wait()
    assert not engine.wait(0.5)
    returns.set()
    assert engine.wait()
    engine.close()


def test_a_batch_that_was_not_committed_reaches_nobody_until_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = an_engine(tmp_path)
    push(engine, 1, 2)
    rows = list(engine._waiting)
    with monkeypatch.context() as broken:
        broken.setattr(Checkpoint, "commit", crash)
        with pytest.raises(InterruptedError):
            engine.step()
    assert not RECEIVED
    engine.micro_batch(0, rows)
    assert RECEIVED == [("q", 0, [1])]


def test_a_sink_gets_after_a_crash_what_was_committed_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = an_engine(tmp_path)
    step(engine, 1, 2)
    with monkeypatch.context() as broken:
        broken.setattr(Publishing, "publish", crash)
        with pytest.raises(InterruptedError):
            step(engine, 3)
    again = an_engine(tmp_path)
    again.micro_batch(1, [])  # Spark did not learn of the commit: it has happened
    step(again, 4)
    assert RECEIVED == [("q", 0, [1]), ("q", 1, [2]), ("q", 2, [3])]


def test_a_crash_before_the_position_is_written_gives_a_batch_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same number, by which it can be told."""
    engine = an_engine(tmp_path)
    step(engine, 1, 2)
    with monkeypatch.context() as broken:
        broken.setattr(SinkRecords, "save_positions", crash)
        with pytest.raises(InterruptedError):
            step(engine, 3)
    step(an_engine(tmp_path), 4)
    assert RECEIVED == [("q", 0, [1]), ("q", 1, [2]), ("q", 1, [2]), ("q", 2, [3])]


def test_a_sink_that_fails_goes_on_after_a_restart_where_it_was(tmp_path: Path) -> None:
    engine = an_engine(tmp_path)
    step(engine, 1, 2)
    FAILING.add("q")
    step(engine, 3)
    step(engine, 4)
    FAILING.clear()
    step(an_engine(tmp_path), 5)
    assert RECEIVED == [("q", 0, [1]), ("q", 1, [2]), ("q", 2, [3]), ("q", 3, [4])]


def test_the_log_keeps_what_a_sink_has_not_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.runtime.shards.storage.collection.RETAINED_BATCHES", 3)
    monkeypatch.setattr("windrow.runtime.shards.storage.collection.SWEPT_EVERY", 4)
    clock = ManualClock()
    engine = an_engine(tmp_path, clock=clock)
    step(engine, 1, 2)
    FAILING.add("q")
    for second in range(3, 13):
        step(engine, second)
    FAILING.clear()
    clock.advance(10**9)
    for second in range(13, 18):
        step(engine, second)
    assert [rows for _, _, rows in RECEIVED] == [[second] for second in range(1, 17)]
    assert len(list((tmp_path / "windrow" / "commits").iterdir())) <= 4
    assert len({path.name[:9] for path in (tmp_path / "windrow" / "changes").iterdir()}) <= 5


def test_beyond_the_backlog_the_log_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the engine is started again in the meantime."""
    monkeypatch.setattr("windrow.runtime.shards.storage.collection.RETAINED_BATCHES", 3)
    monkeypatch.setattr("windrow.runtime.shards.storage.collection.SWEPT_EVERY", 4)
    engine = an_engine(tmp_path)
    engine.sql("SET sink_backlog = '1 B'")
    step(engine, 1, 2)
    FAILING.add("q")
    for second in range(3, 30):
        step(engine, second)
        if second == 15:
            engine = an_engine(tmp_path)
    assert len(list((tmp_path / "windrow" / "commits").iterdir())) <= 6
    FAILING.clear()
    step(an_engine(tmp_path), 30)
    assert RECEIVED[:2] == [("q", 0, [1]), ("q", 1, [2])]
    rows = {row for _, _, received in RECEIVED[2:] for row in received}
    assert 29 in rows and len(rows) <= 3, "what is alive, not what came and went"


def test_nobody_gets_a_batch_twice_who_goes_on_just_after_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    engine = ShardsInProcess(2, checkpoint=str(tmp_path), clock=clock)
    engine.sql(f"{STREAM}; CREATE QUERY q AS SELECT k FROM s INTO python('test_publishing:receive')")
    engine.sql("SET sink_backlog = '1 B'")
    FAILING.add("q")
    for second in range(1, 6):
        step(engine, second)
    FAILING.clear()
    clock.advance(10**9)
    collect = Checkpoint.collect

    def collecting(self: Checkpoint, *arguments: Any) -> None:
        engine.driver.publishing.retry()
        engine.driver.publishing.wait()
        engine.driver.publishing.retry()
        collect(self, *arguments)

    monkeypatch.setattr(Checkpoint, "collect", collecting)
    step(engine, 6)
    step(engine, 7)
    assert sorted(row for _, _, rows in RECEIVED for row in rows) == [1, 2, 3, 4, 5, 6]
    engine.close()


def test_start_leaves_sinks_alone_while_batches_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = SourcesInProcess(2, checkpoint=str(tmp_path))
    engine.sql(f"{STREAM}; CREATE QUERY q AS SELECT k FROM s INTO python('test_publishing:receive')")
    engine.push("s", [{"ts": 1_000_000, "k": 1}])
    engine.end("s")
    collect, retry = Checkpoint.collect, Publishing.retry
    inside: list[str] = []

    def collecting(self: Checkpoint, *arguments: Any) -> None:
        inside.append("start")
        engine.start()
        inside.append("started")
        collect(self, *arguments)

    def retrying(self: Publishing) -> None:
        inside.append("retry")
        retry(self)

    monkeypatch.setattr(Checkpoint, "collect", collecting)
    monkeypatch.setattr(Publishing, "retry", retrying)
    engine.start()
    assert engine.wait(300)
    began = [place for place, what in enumerate(inside) if what == "start"]
    assert began and all(inside[place + 1] == "started" for place in began)
    assert RECEIVED == [("q", 0, [1])]
    engine.close()


def test_one_that_fails_keeps_the_batch_from_no_other(tmp_path: Path) -> None:
    clock = ManualClock()
    engine = an_engine(tmp_path, ("first", "second"), clock)
    subscribed: list[Any] = []
    engine["first"].subscribe(lambda table: subscribed.extend(table["k"].to_pylist()))
    FAILING.add("first")
    step(engine, 1, 2)
    assert RECEIVED == [("second", 0, [1])]
    assert subscribed == [1]
    FAILING.clear()
    clock.advance(2_000_000)
    step(engine, 3)
    assert [got for got in RECEIVED[1:] if got[0] == "first"] == [("first", 0, [1]), ("first", 1, [2])]
    assert RECEIVED[1:].count(("second", 1, [2])) == 1


def crash(*arguments: object) -> None:
    raise InterruptedError


@pytest.mark.parametrize("going_on", ["step", "run"])
def test_a_run_that_has_ended_still_gives_what_a_sink_has_not_had(tmp_path: Path, going_on: str) -> None:
    engine = SourcesInProcess(2, checkpoint=str(tmp_path))
    engine.sql(f"{STREAM}; CREATE QUERY q AS SELECT k FROM s [RANGE 1 SECOND] INTO python('test_publishing:receive')")
    FAILING.add("q")
    engine.push("s", [{"ts": second * 1_000_000, "k": second} for second in range(1, 4)])
    engine.end("s")
    engine.run()
    assert engine.has_ended and not RECEIVED and [one.name for one in engine.health()] == ["q"]
    engine.close()
    FAILING.clear()
    again = SourcesInProcess(2, checkpoint=str(tmp_path))
    getattr(again, going_on)()
    assert sorted(row for _, _, rows in RECEIVED for row in rows) == [1, 2, 3]
    assert again.health() == []
    again.close()
