"""Folders that cannot be a sink's are refused when the sink is declared, in one process and on shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.shard_runs import ShardsInProcess
from windrow.errors import WindrowError
from windrow.runtime.local import LocalEngine

STREAM = "CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts"
SELECT = "SELECT k FROM s [RANGE 5 SECONDS]"


@pytest.fixture(params=["local", "shards"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """One whose own folder is `own`."""
    own = str(tmp_path / "own")
    made: Any = LocalEngine(own) if request.param == "local" else ShardsInProcess(2, checkpoint=own)
    made.sql(STREAM)
    yield made
    made.close()


def refused(engine: Any, place: Path | str) -> str:
    with pytest.raises(WindrowError) as caught:
        engine.sql(f"CREATE QUERY refused AS {SELECT} INTO json('{place}')")
    assert engine.session.catalog.get("refused") is None
    assert caught.value.hint
    return caught.value.message


def test_two_queries_into_one_folder(engine: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    engine.sql(f"CREATE QUERY a AS {SELECT} INTO json('{out}')")
    taken = f"{out} cannot be the folder of a sink: query a writes to {out}"
    assert refused(engine, out) == taken
    assert refused(engine, f"{tmp_path}/x/../out").endswith(", which is the same folder")
    assert refused(engine, out / "deeper").endswith(", which is around it")
    assert refused(engine, tmp_path).endswith("which is inside it")
    (tmp_path / "link").symlink_to(out)
    assert refused(engine, tmp_path / "link").endswith("which is the same folder")
    engine.sql(f"CREATE QUERY b AS {SELECT} INTO csv('{tmp_path}/out2')")


WAYS = ("as it is", "slash", "dots", "relative", "link", "below a link", "address", "address/", "file:/")


@pytest.fixture(params=WAYS)
def again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], str]:
    """Another way to write the path of a folder."""

    def link(folder: Path, target: Path) -> Path:
        folder.symlink_to(target)
        return folder

    def written(place: Path) -> str:
        monkeypatch.chdir(tmp_path)
        ways: dict[str, Callable[[], object]] = {
            "as it is": lambda: place,
            "slash": lambda: f"{place}//",
            "dots": lambda: f"{place.parent}/x/.././{place.name}",
            "relative": lambda: place.relative_to(tmp_path),
            "link": lambda: link(tmp_path / "link", place),
            "below a link": lambda: link(tmp_path / "parent", place.parent) / place.name,
            "address": lambda: place.as_uri(),
            "address/": lambda: f"{place.as_uri()}/",
            "file:/": lambda: place.as_uri().replace("file://", "file:"),
        }
        return str(ways[request.param]())

    return written


def test_one_folder_however_it_is_written(engine: Any, tmp_path: Path, again: Callable[[Path], str]) -> None:
    """Of another query, of a stream's late rows, of a source, and of the engine itself."""
    out, late, rows = tmp_path / "o u%t", tmp_path / "late", tmp_path / "r o%ws"
    rows.mkdir()
    engine.sql(f"CREATE QUERY a AS {SELECT} INTO json('{out}')")
    engine.sql(f"CREATE STREAM t (ts TIMESTAMP, k INT) FROM json('{rows}') TIMESTAMP BY ts LATE INTO csv('{late}')")
    for place, user in ((out, "query a writes to"), (late, "stream t writes to"), (rows, "stream t reads")):
        assert user in refused(engine, again(place))
        for made in (tmp_path / "link", tmp_path / "parent"):
            made.unlink(missing_ok=True)
    assert "the engine itself is kept in" in refused(engine, again(tmp_path / "own"))


def test_what_is_declared_by_an_address(engine: Any, tmp_path: Path, again: Callable[[Path], str]) -> None:
    """The other way round: and rows are where the address says."""
    out = tmp_path / "o u%t"
    engine.sql(f"CREATE QUERY a AS {SELECT} INTO json('{again(out)}')")
    assert "query a writes to" in refused(engine, out)
    engine.push("s", [{"ts": second * 1_000_000, "k": second} for second in range(3)])
    engine.step()
    assert sum(len(path.read_text().splitlines()) for path in out.iterdir()) == 2


def test_all_rows_of_two_queries_are_there(engine: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        engine.sql(f"CREATE QUERY {name} AS {SELECT} INTO json('{tmp_path}/{name}')")
    engine.push("s", [{"ts": second * 1_000_000, "k": second} for second in range(11)])
    engine.step()
    lines = [line for name in "ab" for path in (tmp_path / name).iterdir() for line in path.read_text().splitlines()]
    assert len(lines) == 20


def test_a_folder_with_other_things_in_it(engine: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "old").mkdir(parents=True)
    (out / "notes.txt").write_text("mine")
    assert refused(engine, out) == f"{out} has other things in it: notes.txt, old"
    (out / "notes.txt").unlink()
    (out / "old").rmdir()
    (out / ".hidden").write_text("")
    engine.sql(f"CREATE QUERY q AS {SELECT} INTO json('{out}')")


def test_the_folder_of_the_engine_itself(engine: Any, tmp_path: Path) -> None:
    kept = "the engine itself is kept in"
    assert kept in refused(engine, tmp_path / "own")
    assert kept in refused(engine, tmp_path / "own" / "windrow" / "commits")
    assert not list((tmp_path / "own").rglob("part-*"))


@pytest.mark.parametrize("kind", ["stream", "table"])
def test_the_folder_of_a_source(engine: Any, tmp_path: Path, kind: str) -> None:
    rows = tmp_path / "rows"
    rows.mkdir()
    (rows / "a.json").write_text('{"ts": "2026-01-01 00:00:00", "k": 1}\n')
    time = " TIMESTAMP BY ts" if kind == "stream" else ""
    engine.sql(f"CREATE {kind} source (ts TIMESTAMP, k INT) FROM json('{rows}'){time}")
    assert f"{kind} source reads {rows}" in refused(engine, rows)
    assert f"{kind} source reads {rows}" in refused(engine, rows / "deeper")


def test_a_folder_that_cannot_be_made(engine: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written to" in refused(engine, tmp_path / "file" / "out")


def test_ones_own_folder_is_resumed(tmp_path: Path) -> None:
    out, own = tmp_path / "out", str(tmp_path / "own")
    for attempt in range(2):
        shards = ShardsInProcess(1, checkpoint=own)
        if not attempt:
            shards.sql(f"{STREAM}; CREATE QUERY q AS {SELECT} INTO json('{out}')")
        shards.push("s", [{"ts": second * 1_000_000, "k": second} for second in (2 * attempt, 2 * attempt + 1)])
        shards.step()
    assert len(list(out.iterdir())) == 2
