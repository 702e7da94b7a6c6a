"""Files of sinks are seen when their batch is committed, and have nothing that is not of it, whoever else writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.shard_runs import ShardsInProcess, in_process, packed
from windrow.errors import CheckpointError
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.feeding.sink_files import SinkFiles
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.shards.storage.shard_state import STATES
from windrow.sources.rows import rows_table


def _engine(place: Path) -> ShardsInProcess:
    engine = ShardsInProcess(2, checkpoint=str(place / "checkpoint"))
    if not engine.queries:
        engine.sql("CREATE STREAM s (t TIMESTAMP, k BIGINT) TIMESTAMP BY t")
        engine.sql(f"CREATE QUERY q AS SELECT k FROM s INTO json('{place / 'sink'}')")
    return engine


def _rows(second: int) -> list[dict[str, int]]:
    return [{"t": second * 1_000_000 + k, "k": second * 100 + k} for k in range(8)]


def _stepped(engine: ShardsInProcess, *seconds: int) -> None:
    for second in seconds:
        engine.push("s", _rows(second))
        engine.step()


def _seen(place: Path) -> list[int]:
    """What a reader of the folder finds."""
    files = (path for path in (place / "sink").iterdir() if not path.name.startswith("."))
    return sorted(json.loads(line)["k"] for path in files for line in path.read_text().splitlines())


def _hidden(place: Path) -> list[str]:
    return [path.name for path in (place / "sink").iterdir() if path.name.startswith(".")]


def _expected(*seconds: int) -> list[int]:
    """All but the last row, which is not final."""
    return [row["k"] for second in seconds for row in _rows(second)][:-1]


def test_nothing_is_seen_of_a_batch_that_was_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = _engine(tmp_path)
    _stepped(engine, 0, 1)

    def dies(checkpoint: Checkpoint, *_: Any) -> None:
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "commit", dies)
        with pytest.raises(InterruptedError):
            _stepped(engine, 2)
    assert _seen(tmp_path) == _expected(0, 1) and _hidden(tmp_path)
    again = _engine(tmp_path)
    assert _hidden(tmp_path) == [], "what died is removed"
    _stepped(again, 2, 3)
    assert _seen(tmp_path) == _expected(0, 1, 2, 3)
    assert _hidden(tmp_path) == []
    again.close()


def test_a_crash_before_files_have_their_names_loses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = _engine(tmp_path)
    _stepped(engine, 0)

    def dies(files: SinkFiles, *_: Any) -> None:
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(SinkFiles, "publish", dies)
        with pytest.raises(InterruptedError):
            _stepped(engine, 1)
    assert _seen(tmp_path) == _expected(0)
    again = _engine(tmp_path)
    assert _seen(tmp_path) == _expected(0, 1), "they get them when it goes on"
    for path in (tmp_path / "sink").iterdir():
        path.unlink()  # somebody has taken them
    _stepped(again, 2)
    again.close()
    _engine(tmp_path).close()
    assert _seen(tmp_path) == _expected(0, 1, 2)[len(_expected(0, 1)) :], "and none comes twice"


def test_tasks_of_an_engine_that_has_lost_the_checkpoint_change_no_file(tmp_path: Path) -> None:
    paused, begun = _engine(tmp_path), list[BatchSpec]()
    _stepped(paused, 0, 1)

    def is_paused(spec: BatchSpec) -> None:
        begun.append(spec)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        paused.driver.batches.micro_batch(is_paused, {"brought": paused.next_number})
    STATES.clear()
    taker = _engine(tmp_path)
    _stepped(taker, 2, 3)
    seen = {path.name: path.read_text() for path in (tmp_path / "sink").iterdir()}
    others = rows_table([{"t": 9_000_000 + k, "k": -1} for k in range(8)])
    STATES.clear()
    in_process([packed([("s", others)], 0, 1)], begun[0])  # its tasks wake up, with other rows
    assert _seen(tmp_path) == _expected(0, 1, 2, 3), "nobody sees what they write"
    assert {name: (tmp_path / "sink" / name).read_text() for name in seen} == seen
    with pytest.raises(CheckpointError, match="another engine has taken this checkpoint over"):
        _stepped(paused, 4)
    assert _seen(tmp_path) == _expected(0, 1, 2, 3)
    _stepped(taker, 4)
    taker.close()
    _engine(tmp_path).close()
    assert _hidden(tmp_path) == [] and _seen(tmp_path) == _expected(0, 1, 2, 3, 4)
