"""Streams that are read no further because too much of them waits for others: also those that the host brings."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.shard_runs import SourcesInProcess
from support.waiting import until
from windrow.runtime.shards.run_loop import NoHostSources
from windrow.runtime.shards.sources.deliveries import Deliveries

SECOND = 1_000_000
BOTH = "SELECT a.k FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k"


class _Brought(NoHostSources):
    """Brings one micro-batch of a stream after the other, each when the one before has been taken."""

    def __init__(self, batches: list[pa.Table]) -> None:
        self._batches = batches
        self.deliveries: Deliveries
        self.taken = 0

    def start(self) -> None:
        threading.Thread(target=self._bring, daemon=True).start()

    def _bring(self) -> None:
        for number, rows in enumerate(self._batches):
            self.deliveries.deliver("a", number, rows)
            self.taken += 1

    def is_bringing(self, stream: str) -> bool:
        return stream == "a"

    def bringing(self) -> Callable[[Collection[str]], bool]:
        return lambda paused: "a" not in paused and self.taken < len(self._batches)


def _rows(*seconds: int) -> pa.Table:
    times = pa.array([second * SECOND for second in seconds], pa.timestamp("us"))
    return pa.table({"ts": times, "k": pa.array(seconds, pa.int64())})


def _declared(engine: SourcesInProcess, of_a: str) -> None:
    engine.sql("SET waiting_limit = 4")
    engine.sql(f"CREATE STREAM a (ts TIMESTAMP, k BIGINT) {of_a} TIMESTAMP BY ts")
    engine.sql("CREATE STREAM b (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts")
    engine.query(BOTH, "q")


def _status(engine: SourcesInProcess, stream: str) -> dict[str, Any]:
    found: dict[str, Any] = engine.status()["streams"][stream]
    return found


def _brought() -> tuple[SourcesInProcess, _Brought]:
    brought = _Brought([_rows(first, first + 1, first + 2) for first in (0, 3, 6)])
    engine = SourcesInProcess(2, brought=brought)
    brought.deliveries = engine.deliveries
    _declared(engine, "FROM dataframe()")
    return engine, brought


def test_what_a_paused_stream_has_delivered_waits() -> None:
    engine, brought = _brought()
    brought.start()
    engine.step()
    assert _status(engine, "a")["rows"] == 6
    until(lambda: brought.taken == 2 and engine.deliveries.waiting(), "the third one held back, and who brings it")
    engine.step()
    assert _status(engine, "a")["rows"] == 6
    engine.push("b", _rows(5))
    engine.step()
    assert _status(engine, "a")["rows"] == 9
    engine.close()


def test_a_loop_in_the_background_waits_with_a_paused_delivery() -> None:
    engine, brought = _brought()
    engine.start()
    brought.start()
    until(lambda: brought.taken == 2 and engine.deliveries.waiting(), "two micro-batches taken, the third waiting")
    passes = engine._loop._idle_passes
    until(lambda: engine._loop._idle_passes > passes, "another look")
    assert _status(engine, "a")["rows"] == 6
    engine.push("b", _rows(5))
    until(lambda: brought.taken == 3, "the third micro-batch taken")
    engine.stop()
    engine.close()


def _files(folder: Path, count: int) -> None:
    for number in range(count):
        lines = (f"2026-01-01 00:00:{3 * number + row:02},{3 * number + row}\n" for row in range(3))
        (folder / f"{number}.csv").write_text("ts,k\n" + "".join(lines))


def test_a_bounded_run_ends_where_nothing_can_move(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder := tmp_path / "rows").mkdir()
    _files(folder, 4)
    engine = SourcesInProcess(2, checkpoint=str(tmp_path / "checkpoint"))
    _declared(engine, f"FROM csv('{folder}', max_files => 1)")
    with caplog.at_level(logging.WARNING, "windrow"):
        engine.run()
    assert (_status(engine, "a")["rows"], _status(engine, "a")["unread"]) == (6, 2)
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith("not all of a has been read: waiting_limit is reached, and q waits for rows of b; declare")
    assert "waiting_limit" in engine.health()[0].message
    engine.close()
    again = SourcesInProcess(2, checkpoint=str(tmp_path / "checkpoint"))
    again.push("b", [{"ts": "2026-01-01 00:01:00", "k": 7}])
    again.run()
    assert (_status(again, "a")["rows"], _status(again, "a")["unread"]) == (12, 0), "the next run goes on"
    again.close()


def test_a_bounded_run_waits_for_a_stream_that_will_be_passed_by(tmp_path: Path) -> None:
    (folder := tmp_path / "rows").mkdir()
    _files(folder, 4)
    engine = SourcesInProcess(2, checkpoint=str(tmp_path / "checkpoint"))
    engine.sql("SET waiting_limit = 4")
    engine.sql(f"CREATE STREAM a (ts TIMESTAMP, k BIGINT) FROM csv('{folder}', max_files => 1) TIMESTAMP BY ts")
    engine.sql("CREATE STREAM b (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts IDLE AFTER 100 MILLISECONDS")
    engine.query(BOTH, "q")
    engine.run()
    assert (_status(engine, "a")["rows"], _status(engine, "a")["unread"]) == (12, 0)
    engine.close()
