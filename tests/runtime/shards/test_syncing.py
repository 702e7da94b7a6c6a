"""What a commit names outlives a loss of power before the commit does, and that before the batch counts."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.shard_runs import ShardsInProcess
from windrow.runtime.shards.storage.files import folder as folders
from windrow.runtime.shards.storage.files.folder import Folder

MOST_SYNCS = 11  # two shards with a bundle, a manifest and what came out each, their three folders, the commit


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The files and folders that have been synced, in order, until it is emptied."""
    found: list[str] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        sync(descriptor)
        found.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    monkeypatch.setattr(os, "fsync", note)
    yield found


def _stepped(engine: ShardsInProcess, second: int) -> None:
    engine.push("s", [{"t": second * 1_000_000, "k": key} for key in range(20)])
    engine.step()


def _engine(place: Path) -> ShardsInProcess:
    engine = ShardsInProcess(2, checkpoint=str(place))
    if not engine.queries:
        engine.sql("CREATE STREAM s (t TIMESTAMP, k BIGINT) TIMESTAMP BY t")
        engine.query("SELECT k, COUNT(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k", "q")
    return engine


def test_all_that_a_commit_names_is_synced_before_it_with_few_syncs(tmp_path: Path, synced: list[str]) -> None:
    engine, own = _engine(tmp_path), tmp_path / "windrow"
    for batch in (0, 1):  # the folders are there then
        _stepped(engine, batch)
    for batch in (2, 3, 4):
        del synced[:]
        _stepped(engine, batch)
        at = next(place for place, path in enumerate(synced) if f"commits/{batch:09}" in path)
        written = [path for under in ("pieces", "manifests", "changes") for path in (own / under).glob(f"{batch:09}-*")]
        assert len(written) == 6
        for path in written:
            assert str(path) in synced[:at], "its content"
            assert str(path.parent) in synced[:at], "and its name"
        assert synced[at + 1 :] == [str(own / "commits")]
        assert len(synced) <= MOST_SYNCS
    engine.close()


def test_who_writes_on_another_machine_syncs_its_own_files(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Folder(str(tmp_path)).synced_here()
    sent = pickle.loads(pickle.dumps(here))
    sent.write("a/b", b"x")
    assert synced.count(str(tmp_path / "a")) == 0, "the driver does"
    monkeypatch.setattr(folders, "machine", lambda: "another")
    sent.write("a/c", b"x")
    assert synced.count(str(tmp_path / "a")) == 1
    assert any(path.startswith(str(tmp_path / "a/c")) for path in synced)


@pytest.mark.parametrize("left", [b"", b"\0" * 4, b"half of it"])
def test_a_plan_that_power_was_lost_under_is_made_anew(tmp_path: Path, left: bytes) -> None:
    engine = _engine(tmp_path)
    _stepped(engine, 0)

    def fails(spec: object) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        engine.driver.batches.micro_batch(fails)
    (begun,) = (tmp_path / "windrow" / "batches").iterdir()
    begun.write_bytes(left)
    again = _engine(tmp_path)
    _stepped(again, 1)
    assert again.status()["streams"]["s"]["rows"] == 40
    assert sorted(row["n"] for row in again["q"].answer().to_pylist()) == [1] * 20
    again.close()
