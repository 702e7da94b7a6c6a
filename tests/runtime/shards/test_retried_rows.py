"""Rejected rows that are taken again: of the stream that is there, each once, and while the log has them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from support.shard_runs import SourcesInProcess
from windrow.runtime.shards import driver
from windrow.runtime.shards.sources.rejected_rows import rows_to_retry
from windrow.runtime.shards.statement_log import RetryRows
from windrow.runtime.shards.storage import collection
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.units import SECOND

STREAM = "CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts AHEAD 1 HOUR"
QUERY = "CREATE QUERY q AS SELECT k FROM s"
YEAR_2100 = 4_102_444_800
ANY_TIME = "ALTER STREAM s SET AHEAD UNLIMITED"


def opened(place: Path) -> SourcesInProcess:
    return SourcesInProcess(2, checkpoint=str(place))


def push(engine: SourcesInProcess, k: int, second: int = 1) -> None:
    engine.push("s", [{"ts": second * SECOND, "k": k}])
    engine.step()


def reject(engine: SourcesInProcess, k: int) -> None:
    push(engine, k, YEAR_2100)


def numbers(engine: SourcesInProcess) -> list[int]:
    engine.end("s")
    engine.run()
    return sorted(row["k"] for row in engine["q"].changes().to_pylist())


@pytest.mark.parametrize("asked", ["before", "after"])
@pytest.mark.parametrize("steps", [False, True], ids=["at once", "in batches"])
def test_rows_of_a_dropped_stream_stay_out_of_the_next_of_its_name(tmp_path: Path, asked: str, steps: bool) -> None:
    engine = opened(tmp_path)
    engine.sql(f"{STREAM}; {QUERY}")
    push(engine, 5, 100)
    push(engine, 4)
    reject(engine, 111)
    assert engine.rejected("s")["k"].to_pylist() == [111] and engine.late("s")["k"].to_pylist() == [4]
    if asked == "before":
        assert engine.retry("s") == ["1 rejected row"]
    engine.sql("DROP QUERY q; DROP STREAM s")
    if steps:
        engine.step()
    engine.sql(f"{STREAM}; {QUERY}")
    assert engine.rejected("s") is None and engine.late("s") is None
    engine.step()
    assert engine.retry("s") == []
    push(engine, 1)
    reject(engine, 222)
    assert engine.rejected("s")["k"].to_pylist() == [222] and engine.late("s") is None
    engine.sql(ANY_TIME)
    assert engine.retry("s") == ["1 rejected row"]
    assert numbers(engine) == [1, 222]
    engine.close()


def test_what_a_copy_had_not_reached_can_still_be_taken_again(tmp_path: Path) -> None:
    """It has gone back to a batch before those that were to be taken again."""
    engine = opened(tmp_path)
    engine.sql(f"{STREAM}; {QUERY}")
    reject(engine, 1)
    engine.driver._record(RetryRows("s", -1, until=9))
    engine.step()
    assert engine.rejected("s")["k"].to_pylist() == [1], "rejected once more"
    reject(engine, 2)
    engine.sql(ANY_TIME)
    assert engine.retry("s") == ["2 rejected rows"]
    assert numbers(engine) == [1, 2]
    engine.close()


def test_a_batch_that_runs_again_has_no_rows_that_a_restart_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = opened(tmp_path)
    engine.sql(f"{STREAM}; {QUERY}")
    for k in range(4):
        reject(engine, k)
    engine.sql(ANY_TIME)
    monkeypatch.setattr(collection, "RETAINED_BATCHES", 2)  # a sink has needed those before, and is gone
    assert engine.retry("s") == ["2 rejected rows"]

    def fails(spec: object) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        engine.driver.batches.micro_batch(fails)
    again = opened(tmp_path)
    again.step()
    again.end("s")
    again.run()
    assert again.status()["streams"]["s"]["rows"] == 2
    again.close()


def test_rows_are_counted_while_the_engine_goes_on_and_taken_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = opened(tmp_path)
    engine.sql(f"{STREAM}; {QUERY}")
    reject(engine, 1)
    engine.sql(ANY_TIME)
    others: list[list[str]] = []

    def counting(checkpoint: Checkpoint, again: RetryRows) -> int:
        rows = rows_to_retry(checkpoint, again)
        if not others:
            others.append([])
            other = threading.Thread(target=lambda: others.append(engine.retry("s")))
            other.start()
            other.join(60)
        return rows

    monkeypatch.setattr(driver, "rows_to_retry", counting)
    assert engine.retry("s") == []
    assert others[1:] == [["1 rejected row"]]
    assert numbers(engine) == [1]
    engine.close()
