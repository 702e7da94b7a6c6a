"""Pushes leave nothing behind: a long run has as many files as a short one, and looks at as many."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.shard_runs import SourcesInProcess
from windrow.runtime.shards.storage import collection
from windrow.runtime.shards.storage.files.local_files import LocalFiles

PUSHES, TOGETHER = 2_000, 40
FEW = 20  # pieces of state are put together now and then, and who has the checkpoint gives signs of life


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many names each look into a folder of the checkpoint has found."""
    found: list[int] = []
    names = LocalFiles.names

    def counted(files: LocalFiles, under: str) -> list[str]:
        seen = list(names(files, under))
        found.append(len(seen))
        return seen

    monkeypatch.setattr(LocalFiles, "names", counted)
    yield found


def test_files_and_looks_do_not_grow(tmp_path: Path, listed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "KEPT_SECONDS", 0.0)
    monkeypatch.setattr(collection, "RETAINED_BATCHES", 5)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # nobody pulls the plug here
    engine = SourcesInProcess(1, checkpoint=str(tmp_path))
    engine.sql("CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts; CREATE QUERY q AS SELECT k FROM s [ROWS 1]")
    files, looks = list[int](), list[list[int]]()
    for first in range(0, PUSHES, TOGETHER):
        del listed[:]
        for number in range(first, first + TOGETHER):
            engine.push("s", [{"ts": number, "k": number}])
        engine.step()
        looks.append(list(listed))
        files.append(sum(path.is_file() for path in (tmp_path / "windrow").rglob("*")))
    assert engine.status()["streams"]["s"]["rows"] == PUSHES
    assert sum(path.is_file() for path in (tmp_path / "windrow" / "pushed").rglob("*")) <= 2 * TOGETHER
    assert max(files[len(files) // 2 :]) <= max(files[: len(files) // 2]) + FEW, "as many as in the beginning"
    later = [max(map(len, part)) for part in (looks[5 : len(looks) // 2], looks[len(looks) // 2 :])]
    assert later[1] <= later[0] + FEW, "no more looks"
    names = [max(map(sum, part)) for part in (looks[5 : len(looks) // 2], looks[len(looks) // 2 :])]
    assert names[1] <= names[0] + FEW, "nor more names in them"
    engine.close()
    again = SourcesInProcess(1, checkpoint=str(tmp_path))
    again.step()
    assert again.status()["streams"]["s"]["rows"] == PUSHES
    again.close()
