"""Folders of checkpoints: the same verbs on every file system, any path, for this user alone; names that are safe."""

from __future__ import annotations

import os
import stat
import unicodedata
from pathlib import Path

import pytest

from support.shard_runs import ShardsInProcess, SourcesInProcess
from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.files import object_files
from windrow.runtime.shards.storage.files.arrow_files import ArrowFiles
from windrow.runtime.shards.storage.files.file_names import file_name
from windrow.runtime.shards.storage.files.folder import Files, Folder, place_of
from windrow.runtime.shards.storage.files.local_files import LocalFiles
from windrow.runtime.shards.storage.files.object_files import ObjectFiles

STRANGE = [
    "a b",
    "[1]",
    "{a,b}",
    "run*",
    "why?",
    "#1",
    "100%",
    "%20",
    "it's",
    'a"b',
    "ärger",
    "日本",
    "🙂",
    "a\\b",
    "x" * 200,
]
KINDS = {"local": LocalFiles, "object": ObjectFiles, "arrow": ArrowFiles}


@pytest.fixture(params=list(KINDS))
def files(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    from obstore.store import LocalStore

    monkeypatch.setattr(object_files, "store_at", lambda place: LocalStore(place, mkdir=True))
    place = tmp_path / "inside"
    if request.param == "arrow":
        place.mkdir()
        return ArrowFiles(place.as_uri())
    return KINDS[request.param](str(place))


def test_the_verbs_mean_the_same_everywhere(files: Files) -> None:
    files.make()
    assert list(files.names("a")) == [] and not files.exists("a/b")
    files.write("a/b", b"first")
    files.write("a/b", b"0123456789")
    files.create("a/c/d", b"x")
    assert files.read("a/b") == b"0123456789"
    assert files.read_parts("a/b", [(2, 3), (0, 1)]) == [b"234", b"0"]
    with pytest.raises(FileExistsError):
        files.create("a/b", b"y")
    assert files.read("a/b") == b"0123456789"
    assert list(files.names("a")) == ["b"] and list(files.folders("a")) == ["c"]
    files.delete("a/b")
    assert not files.exists("a/b") and files.exists("a/c/d")
    with pytest.raises(FileNotFoundError):
        files.read("a/b")
    with pytest.raises(FileNotFoundError):
        files.read_parts("a/b", [(0, 1)])


def test_files_are_for_this_user_alone_and_no_half_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(str(tmp_path / "checkpoint"))
    before = os.umask(0)
    try:
        folder.write("a/b", b"x")
        folder.create("a/c", b"x")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "checkpoint").rglob("*")}
    assert modes == {"a": 0o700, "b": 0o600, "c": 0o600}

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match="a/b of the checkpoint cannot be written: No space left") as caught:
        folder.write("a/b", b"y")
    assert "nothing is lost" in str(caught.value.hint)
    monkeypatch.undo()
    assert folder.names("a", hidden=True) == ["b", "c"]
    assert folder.read("a/b") == b"x"


def test_a_file_is_synced_before_it_has_its_name_and_its_folder_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        inside = sorted(path.name for path in (tmp_path / "a").iterdir())
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        seen.append(f"{kind}, {'named' if 'b' in inside else 'hidden'}")
        fsync(descriptor)

    (tmp_path / "a").mkdir()
    monkeypatch.setattr(os, "fsync", noted)
    Folder(str(tmp_path)).write("a/b", b"x")
    assert seen == ["file, hidden", "folder, named"]
    (tmp_path / "a" / "b").unlink()
    seen.clear()
    Folder(str(tmp_path)).create("a/b", b"x")
    assert seen == ["file, hidden", "folder, named"]


def test_a_file_system_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refused)
    folder = Folder(str(tmp_path))
    folder.create("a", b"x")
    with pytest.raises(FileExistsError):
        folder.create("a", b"y")
    assert (folder.read("a"), folder.names("", hidden=True)) == (b"x", ["a"])


@pytest.mark.parametrize("name", STRANGE)
def test_a_checkpoint_may_be_anywhere(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    for second in range(2):
        engine = ShardsInProcess(2, forgetful=True, checkpoint=str(place))
        if not engine.queries:
            engine.sql("CREATE STREAM s (t TIMESTAMP, k BIGINT) TIMESTAMP BY t")
            engine.sql("CREATE QUERY q AS SELECT k FROM s [RANGE 1 HOUR]")
        engine.push("s", [{"t": second * 1_000_000, "k": second}])
        engine.step()
        engine.close()
    assert [row["k"] for row in engine["q"].answer().to_pylist()] == [0]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_places_are_plain_paths_unless_they_are_addresses(tmp_path: Path) -> None:
    assert place_of((tmp_path / "a b%#").as_uri()) == str(tmp_path / "a b%#")
    assert place_of(f"{tmp_path}/x/../100%20") == str(tmp_path / "100%20")
    assert place_of("s3://bucket/a b/") == "s3://bucket/a b"


def test_any_name_becomes_a_file_of_its_own() -> None:
    plain = ["trades", "a_1", "_x", "x" * 60]
    assert [file_name(name) for name in plain] == plain
    decomposed = unicodedata.normalize("NFD", "ärger")
    others = [
        "/etc/passwd",
        "a/b",
        "..",
        ".",
        "",
        "a\0b",
        "a\nb",
        "A",
        "x" * 300,
        "🙂",
        "ärger",
        decomposed,
        "a-b",
        "con.",
    ]
    others += [file_name("a/b"), "\ud800", *(name for name in STRANGE if name not in others)]
    encoded = [file_name(name) for name in others]
    assert len({*map(str.lower, encoded), *plain}) == len(others) + len(plain)
    for name in encoded:
        assert name.isascii() and len(name) < 70 and not {*name} & {*"/\\.:*?\0 "}, name


def test_streams_tables_and_queries_of_any_name_stay_in_the_checkpoint(tmp_path: Path) -> None:
    """Each has its own rows, and nothing is written or deleted outside."""
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "000000000000").write_text("mine")
    names = [
        str(beside),
        "a",
        "a/b",
        "a\nb",
        "n" * 300,
        "🙂",
        "ärger",
        unicodedata.normalize("NFD", "ärger"),
        "a b",
    ]
    for second in range(2):
        engine = SourcesInProcess(1, checkpoint=str(tmp_path / "checkpoint"))
        for number, name in enumerate(names if not engine.queries else ()):
            engine.sql(f'CREATE STREAM "{name}" (t TIMESTAMP, k BIGINT) TIMESTAMP BY t')
            engine.sql(f'CREATE QUERY "{name} of {number}" AS SELECT k FROM "{name}" [RANGE 1 DAY]')
        for number, name in enumerate(names):
            engine.push(name, [{"t": second * 1_000_000, "k": number}])
        engine.step()
        answers = {query.name: [row["k"] for row in query.answer().to_pylist()] for query in engine.queries}
        engine.close()
    assert answers == {f"{name} of {number}": [number] for number, name in enumerate(names)}
    assert (beside / "000000000000").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beside", "checkpoint"]
    assert [path.name for path in beside.iterdir()] == ["000000000000"]


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"file/checkpoint of the checkpoint cannot be written: Not a directory"):
        ShardsInProcess(1, checkpoint=str(tmp_path / "file" / "checkpoint"))
