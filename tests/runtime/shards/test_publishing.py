"""Sinks that are no files, and subscribers: they get a batch once it is committed, and never a second time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.shard_runs import ShardsInProcess
from windrow.runtime.shards.storage.checkpoint import Checkpoint

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


def an_engine(place: Path, queries: tuple[str, ...] = ("q",)) -> ShardsInProcess:
    engine = ShardsInProcess(2, checkpoint=str(place))
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


def test_a_batch_is_under_way_until_everybody_has_it(tmp_path: Path) -> None:
    engine = an_engine(tmp_path)
    batches, idle = engine.driver.batches, list[bool]()
    engine["q"].subscribe(lambda table: idle.append(batches.is_idle))
    step(engine, 1, 2)
    assert idle == [False]
    assert batches.is_idle


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


def test_a_crash_between_commit_and_handing_over_leaves_the_batch_out_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = an_engine(tmp_path)
    step(engine, 1, 2)
    with monkeypatch.context() as broken:
        broken.setattr("windrow.runtime.shards.driver.publish", crash)
        with pytest.raises(InterruptedError):
            step(engine, 3)
    again = an_engine(tmp_path)
    again.micro_batch(1, [])  # Spark did not learn of the commit: it has happened
    step(again, 4)
    assert RECEIVED == [("q", 0, [1]), ("q", 2, [3])]
    assert again["q"].changes()["k"].to_pylist() == [1, 2, 3], "the log has what the sink missed"


def test_one_that_fails_keeps_the_batch_from_no_other(tmp_path: Path) -> None:
    engine = an_engine(tmp_path, ("first", "second"))
    subscribed: list[Any] = []
    engine["first"].subscribe(lambda table: subscribed.extend(table["k"].to_pylist()))
    FAILING.add("first")
    with pytest.raises(ValueError, match="first does not want batch 0"):
        step(engine, 1, 2)
    assert RECEIVED == [("second", 0, [1])]
    assert subscribed == [1]
    FAILING.clear()
    step(engine, 3)
    assert RECEIVED[1:] == [("first", 1, [2]), ("second", 1, [2])]


def crash(*arguments: object) -> None:
    raise InterruptedError
