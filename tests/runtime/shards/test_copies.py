"""A checkpoint that is copied while an engine writes to it can be opened; one that is moved goes on."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from support.interrupted import over_time
from support.shard_runs import ShardsInProcess, SourcesInProcess
from windrow.errors import CheckpointError
from windrow.runtime.shards.storage import collection, copies
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.shards.storage.shard_state import STATES

QUERIES = {
    "counted": "SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k",
    "named": "SELECT name FROM s [RANGE 5 SECONDS], known WHERE s.k = known.k",
}
_FIRST_INSERT = 5  # the number of the statement


def an_engine(place: Path) -> ShardsInProcess:
    engine = ShardsInProcess(2, checkpoint=str(place))
    if not engine.queries:
        engine.sql("CREATE STREAM s (t TIMESTAMP, k BIGINT) TIMESTAMP BY t")
        engine.sql("CREATE TABLE known (k BIGINT, name STRING)")
        for name, text in QUERIES.items():
            engine.sql(f"CREATE QUERY {name} AS {text}")
    return engine


def stepped(engine: ShardsInProcess, second: int) -> None:
    """The statement of a second, unless it has been said, and its rows."""
    if engine.driver.statements.last < _FIRST_INSERT + second:
        engine.sql(f"INSERT INTO known VALUES ({1_000 + second}, 'n{second}')")
    engine.push("s", [{"t": second * 1_000_000 + place, "k": place % 4} for place in range(8)])
    engine.step()


def came(engine: ShardsInProcess) -> Any:
    """What was counted, and all that the table has."""
    engine.push("s", [{"t": 9_000_000_000, "k": 1_000 + key} for key in range(100)])
    engine.push("s", [{"t": 9_000_000_001, "k": 0}])
    engine.step()
    return over_time(engine["counted"].changes()), sorted(row["name"] for row in engine["named"].answer().to_pylist())


def went_on(place: Path, until: int) -> ShardsInProcess:
    """From where a checkpoint is, with the statements and rows that it has not had."""
    STATES.clear()
    engine = an_engine(place)
    for second in range(engine.next_number, until):
        stepped(engine, second)
    return engine


def copied_slowly(engine: ShardsInProcess, to: Path, seed: int, second: int) -> int:
    """Folder by folder in any order, with batches in between; the second that it came to."""
    order = list((engine.place / "windrow").iterdir())
    random.Random(seed).shuffle(order)
    for part in order:
        if part.is_dir():
            shutil.copytree(part, to / "windrow" / part.name)
        else:
            (to / "windrow").mkdir(parents=True, exist_ok=True)
            shutil.copy(part, to / "windrow" / part.name)
        stepped(engine, second)
        second += 1
    return second


@pytest.mark.parametrize("seed", range(8))
def test_a_folder_that_is_copied_while_it_is_written_opens_again(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "KEPT_SECONDS", 3_600.0)  # however slow this machine is
    engine = an_engine(tmp_path / "running")
    for second in range(4):
        stepped(engine, second)
    until = copied_slowly(engine, tmp_path / "copy", seed, 4)
    assert came(went_on(tmp_path / "copy", until)) == came(went_on(tmp_path / "running", until))


def test_a_copy_that_took_longer_than_old_state_lives_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "KEPT_SECONDS", 0.0)
    engine = an_engine(tmp_path / "running")
    for second in range(4):
        stepped(engine, second)
    for part in ("commits", "statements", "plans", "manifests", "leases", "beats", "fences"):
        shutil.copytree(tmp_path / "running" / "windrow" / part, tmp_path / "copy" / "windrow" / part)
    shutil.copy(tmp_path / "running" / "windrow" / "format", tmp_path / "copy" / "windrow")
    for second in range(4, 12):
        stepped(engine, second)
    for part in ("pieces", "changes"):
        shutil.copytree(tmp_path / "running" / "windrow" / part, tmp_path / "copy" / "windrow" / part)
    for extra in (tmp_path / "copy" / "windrow" / "pieces").iterdir():
        if int(extra.name[:9]) < 4:
            extra.unlink()
    with pytest.raises(CheckpointError, match="this copy of a checkpoint cannot be used, it has not got pieces/") as e:
        an_engine(tmp_path / "copy")
    assert "windrow checkpoint copy FROM TO" in str(e.value.hint)


def test_a_copy_by_the_engine_needs_no_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State is thrown away while it is copied: it begins again, and what comes out has no trace of the owner."""
    monkeypatch.setattr(collection, "KEPT_SECONDS", 0.0)
    engine = an_engine(tmp_path / "running")
    for second in range(6):
        stepped(engine, second)
    written, second, read = [0], [6], copies.Folder.read

    def disturbed(self: Any, name: str) -> bytes:
        if name.startswith("pieces/") and written[0] < 2:
            written[0] += 1
            for _ in range(4):
                stepped(engine, second[0])
                second[0] += 1
        content: bytes = read(self, name)
        return content

    monkeypatch.setattr(copies.Folder, "read", disturbed)
    Checkpoint(str(tmp_path / "running")).copy(str(tmp_path / "copy"))
    monkeypatch.undo()
    assert written[0] == 2
    assert not (tmp_path / "copy" / "windrow" / "leases").exists()
    with pytest.raises(CheckpointError, match="copy is not empty"):
        Checkpoint(str(tmp_path / "running")).copy(str(tmp_path / "copy"))
    until = second[0] + 2
    for at in range(second[0], until):
        stepped(engine, at)
    expected = came(engine)
    copy = went_on(tmp_path / "copy", until)
    copy.close()
    assert came(went_on(tmp_path / "copy", until)) == expected, "also when it is opened once more"


def test_a_copy_that_was_not_finished_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = an_engine(tmp_path / "running")
    stepped(engine, 0)

    def full(self: Any, name: str, content: bytes, write: Any = copies.Folder.write) -> None:
        if name == "windrow/format":
            raise CheckpointError("no space left on device")
        write(self, name, content)

    monkeypatch.setattr(copies.Folder, "write", full)
    with pytest.raises(CheckpointError, match="no space left"):
        Checkpoint(str(tmp_path / "running")).copy(str(tmp_path / "copy"))
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="format of the checkpoint is missing"):
        an_engine(tmp_path / "copy")


def test_a_checkpoint_that_is_moved_goes_on(tmp_path: Path) -> None:
    undisturbed = an_engine(tmp_path / "undisturbed")
    for second in range(6):
        stepped(undisturbed, second)
    engine = an_engine(tmp_path / "here")
    for second in range(3):
        stepped(engine, second)
    engine.close()
    written = (path for path in (tmp_path / "here").rglob("*") if path.is_file())
    assert [path for path in written if str(tmp_path).encode() in path.read_bytes()] == []
    (tmp_path / "here").rename(tmp_path / "there")
    assert came(went_on(tmp_path / "there", 6)) == came(undisturbed)


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_were_pushed_and_files_are_read_once_in_a_copy(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a copy of a running checkpoint every push that it has is read once, and every file."""
    monkeypatch.setattr(collection, "KEPT_SECONDS", 3_600.0)
    source = tmp_path / "source"
    source.mkdir()
    engine = SourcesInProcess(1, checkpoint=str(tmp_path / "running"))
    engine.sql("CREATE STREAM p (t TIMESTAMP, k BIGINT) TIMESTAMP BY t")
    engine.sql(f"CREATE STREAM f (t TIMESTAMP, k BIGINT) FROM json('{source}') TIMESTAMP BY t")
    engine.sql(
        "CREATE QUERY pushed AS SELECT k FROM p [RANGE 1 DAY]; CREATE QUERY files AS SELECT k FROM f [RANGE 1 DAY]"
    )
    number = 0

    def another() -> None:
        nonlocal number
        number += 1
        engine.push("p", [{"t": number * 1_000_000, "k": number}])
        (source / f"{number:03}.json").write_text(f'{{"t": "2026-01-01 00:00:{number:02}", "k": {number}}}\n')
        engine.step()

    another()
    order = sorted((tmp_path / "running" / "windrow").iterdir())
    random.Random(seed).shuffle(order)
    for part in order:
        (shutil.copytree if part.is_dir() else _copied)(part, tmp_path / "copy" / "windrow" / part.name)
        another()
    engine.close()
    copy = SourcesInProcess(1, checkpoint=str(tmp_path / "copy"))
    copy.push("p", [{"t": 80_000_000, "k": 99}, {"t": 81_000_000, "k": 100}])
    (source / "999.json").write_text('{"t": "2026-01-01 00:00:59", "k": 99}\n')
    copy.step()
    pushed, read = (sorted(row["k"] for row in copy[name].answer().to_pylist()) for name in ("pushed", "files"))
    assert read == list(range(1, number + 1))
    assert pushed == [*range(1, len(pushed)), 99]
    copy.close()


def _copied(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, to)


def test_rows_of_a_table_in_the_checkpoint_move_with_it(tmp_path: Path) -> None:
    engine = an_engine(tmp_path / "here")
    own = tmp_path / "here" / "windrow" / "tables" / "known"
    own.mkdir(parents=True)
    pa.parquet.write_table(pa.table({"k": [1, 2], "name": ["one", "two"]}), own / "rows.parquet")
    engine.sql("CREATE TABLE own (k BIGINT, name STRING) FROM parquet('checkpoint:tables/known')")
    engine.sql("CREATE QUERY joined AS SELECT own.name FROM s [RANGE 1 HOUR], own WHERE s.k = own.k")
    engine.close()
    (tmp_path / "here").rename(tmp_path / "there")
    moved = went_on(tmp_path / "there", 2)
    assert {row["name"] for row in moved["joined"].answer().to_pylist()} == {"one", "two"}
