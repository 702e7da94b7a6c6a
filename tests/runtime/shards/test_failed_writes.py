"""A write that fails once costs nothing when the same process goes on: every row and statement counts once."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.shard_runs import ShardsInProcess, SourcesInProcess
from windrow.errors import CheckpointError
from windrow.runtime.shards.sources import file_manifests
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.units import SECOND

STREAM = "CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts SLACK 1 HOUR"
QUERY = "CREATE QUERY q AS SELECT k FROM s"


def failing_once(monkeypatch: pytest.MonkeyPatch, verb: str, under: str, number: int = errno.ENOSPC) -> None:
    """The next time that a verb of folders is called for a file below one."""
    usual: Callable[..., Any] = getattr(Folder, verb)
    left = [None]

    def fails(self: Folder, name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith(under) and left:
            left.clear()
            raise OSError(number, os.strerror(number), name)
        return usual(self, name, *rest, **named)

    monkeypatch.setattr(Folder, verb, fails)


def numbers(engine: SourcesInProcess, query: str = "q") -> list[int]:
    return sorted(row["k"] for row in engine[query].answer().to_pylist())


def opened(place: Path) -> SourcesInProcess:
    return SourcesInProcess(2, checkpoint=str(place / "checkpoint"))


@pytest.mark.parametrize("under", ["batches/", "plans/", "commits/"])
def test_what_a_batch_was_to_take_is_not_lost_with_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, under: str
) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    engine = opened(tmp_path)
    engine.sql(f"{STREAM}; {QUERY}; CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    engine.sql(f"CREATE STREAM f (ts TIMESTAMP, k INT) FROM csv('{folder}') TIMESTAMP BY ts SLACK 1 HOUR")
    engine.sql(
        "CREATE QUERY files AS SELECT k FROM f; CREATE QUERY joined AS SELECT t.v AS k FROM s JOIN t ON s.k = t.k"
    )
    engine.step()
    (folder / "a.csv").write_text("ts,k\n1970-01-01 00:00:01,7\n")
    engine.push("s", [{"ts": SECOND, "k": 1}])
    engine.sql("INSERT INTO t VALUES (1, 10), (2, 20); CREATE QUERY other AS SELECT k FROM s")
    failing_once(monkeypatch, "create", under)
    with pytest.raises(OSError, match="No space left"):
        engine.step()
    engine.push("s", [{"ts": 2 * SECOND, "k": 2}])
    engine.step()
    engine.end("s")
    engine.end("f")
    engine.run()
    assert (numbers(engine), numbers(engine, "files"), numbers(engine, "joined")) == ([1, 2], [7], [10, 20])
    engine.close()


def test_a_plan_that_cannot_be_read_for_a_moment_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(tmp_path)
    engine.sql(f"{STREAM}; {QUERY}")
    engine.step()
    engine.push("s", [{"ts": SECOND, "k": 1}])
    failing_once(monkeypatch, "create", "commits/")
    with pytest.raises(OSError, match="No space left"):
        engine.step()
    again = opened(tmp_path)
    failing_once(monkeypatch, "read", "batches/", errno.EMFILE)
    with pytest.raises(CheckpointError, match=r"batches/.* cannot be read"):
        again.step()
    assert list((tmp_path / "checkpoint" / "windrow" / "batches").iterdir())
    again.push("s", [{"ts": 2 * SECOND, "k": 2}])
    again.end("s")
    again.run()
    assert numbers(again) == [1, 2]
    again.close()


@pytest.mark.parametrize(("verb", "under"), [("create", "files/"), ("read", "files/"), ("create", "commits/")])
def test_files_are_read_once_whatever_list_of_them_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, under: str
) -> None:
    monkeypatch.setattr(file_manifests, "_FEW", 0)  # a list for every batch
    folder = tmp_path / "rows"
    folder.mkdir()
    engine = opened(tmp_path)
    engine.sql(f"CREATE STREAM f (ts TIMESTAMP, k INT) FROM csv('{folder}') TIMESTAMP BY ts SLACK 1 HOUR")
    engine.sql("CREATE QUERY q AS SELECT k FROM f")
    made = 0
    for files in (8, 2, 2):  # the last list takes the one before it along, and reads it
        for _ in range(files):
            (folder / f"{made}.csv").write_text(f"ts,k\n1970-01-01 00:00:01,{made}\n")
            made += 1
        if made == 12:
            failing_once(monkeypatch, verb, under)
            with pytest.raises((OSError, CheckpointError)):
                engine.step()
        engine.step()
    engine.close()
    again = opened(tmp_path)
    again.step()
    assert again.status()["streams"]["f"]["rows"] == made
    last = again.driver.checkpoint.last_commit()
    assert last is not None
    lists = {one.name for one in again.driver.readers._manifests._lists["f"]}
    there = {f"files/{path.name}" for path in (tmp_path / "checkpoint" / "windrow" / "files").iterdir()}
    thrown_away = {name for record in again.driver.checkpoint.commits() for name in record.garbage}
    assert there - thrown_away == lists
    again.close()


def test_what_a_source_of_the_hosts_brought_to_a_failed_commit_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = ShardsInProcess(2, checkpoint=str(tmp_path / "checkpoint"))
    engine.sql(f"{STREAM}; {QUERY}")
    engine.push("s", [{"ts": SECOND, "k": 1}])
    failing_once(monkeypatch, "create", "commits/")
    with pytest.raises(OSError, match="No space left"):
        engine.step()
    engine.driver.batches.micro_batch(engine._job([]))
    assert engine.next_number == 0
    engine.close()
