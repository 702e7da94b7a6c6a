"""A stream that was dropped and created again begins at the beginning of its new source, through restarts as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.shard_runs import SourcesInProcess
from windrow.errors import WindrowError
from windrow.runtime.shards.storage import collection

Connect = Callable[[], SourcesInProcess]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    """An engine on the checkpoint, in place of the one before, which is not closed: as after a kill."""
    opened: list[SourcesInProcess] = []

    def connected() -> SourcesInProcess:
        opened.append(SourcesInProcess(2, checkpoint=str(tmp_path / "checkpoint")))
        return opened[-1]

    yield connected
    for engine in opened:
        engine.close()


def _create(engine: SourcesInProcess, source: str = "") -> None:
    engine.sql(f"CREATE STREAM s (ts TIMESTAMP, k BIGINT) {source} TIMESTAMP BY ts")
    engine.sql("CREATE QUERY q AS SELECT k FROM s")


def _drop(engine: SourcesInProcess) -> None:
    engine.sql("DROP QUERY q; DROP STREAM s")


def _push(engine: SourcesInProcess, *seconds: int) -> None:
    for second in seconds:
        engine.push("s", [{"ts": f"2026-01-01 00:00:{second:02}", "k": second}])


def _folder(tmp_path: Path, name: str, *seconds: int) -> str:
    (tmp_path / name).mkdir()
    for second in seconds:
        (tmp_path / name / f"{second}.csv").write_text(f"ts,k\n2026-01-01 00:00:{second:02},{second}\n")
    return f"FROM csv('{tmp_path / name}')"


def _taken(engine: SourcesInProcess) -> list[int]:
    engine.end("s")
    engine.step()
    assert engine.status()["streams"]["s"]["late"] == 0
    return sorted(row["k"] for row in engine["q"].changes().to_pylist())


@pytest.mark.parametrize("restarts", [False, True], ids=["at once", "restarted"])
@pytest.mark.parametrize("steps", [False, True], ids=["in one batch", "in two"])
class TestPushes:
    def test_of_the_new_stream_alone(self, connect: Connect, steps: bool, restarts: bool) -> None:
        engine = connect()
        _create(engine)
        _push(engine, 50, 51)
        engine.step()
        _push(engine, 52, 53)  # nobody will read them
        _drop(engine)
        if steps:
            engine.step()
        engine = connect() if restarts else engine
        _create(engine)
        _push(engine, 1, 2, 3)
        engine = connect() if restarts else engine
        engine.step()
        engine = connect() if restarts else engine
        _push(engine, 4)
        assert _taken(engine) == [1, 2, 3, 4]

    def test_after_the_end_of_the_old_one(self, connect: Connect, steps: bool, restarts: bool) -> None:
        engine = connect()
        engine.sql(
            "CREATE STREAM other (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts; CREATE QUERY o AS SELECT k FROM other"
        )
        _create(engine)
        _push(engine, 50)
        engine.end("s")
        engine.step()
        _drop(engine)
        if steps:
            engine.step()
        engine = connect() if restarts else engine
        _create(engine)
        _push(engine, 1)
        assert _taken(engine) == [1]


def test_a_batch_that_was_begun_before_reads_the_old_source(connect: Connect) -> None:
    engine = connect()
    _create(engine)
    _push(engine, 50)

    def fails(spec: object) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        engine.driver.batches.micro_batch(fails)
    _drop(engine)
    _create(engine)
    _push(engine, 1, 2)
    assert _taken(connect()) == [1, 2]


def test_files_and_then_others_and_then_pushes(connect: Connect, tmp_path: Path) -> None:
    engine = connect()
    _create(engine, _folder(tmp_path, "first", 50, 51))
    engine.step()
    _drop(engine)
    _create(engine, _folder(tmp_path, "second", 1, 2))
    (tmp_path / "second" / "50.csv").write_text("ts,k\n2026-01-01 00:00:40,40\n")
    engine = connect()
    engine.step()
    assert engine.status()["streams"]["s"]["rows"] == 3
    engine = connect()
    engine.step()
    assert engine.status()["streams"]["s"]["rows"] == 3, "each once"
    _drop(engine)
    _create(engine)
    _push(engine, 5)
    assert _taken(engine) == [5]
    assert [path.name for path in (tmp_path / "first").iterdir()]


def test_what_dropped_streams_had_is_thrown_away(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "KEPT_SECONDS", 0.0)
    engine = connect()
    engine.sql("CREATE STREAM other (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts")
    folder = _folder(tmp_path, "rows", 1, 2)
    for _ in range(4):
        _create(engine)
        _push(engine, 1, 2)
        engine.step()
        _push(engine, 3, 4)
        _drop(engine)
        _create(engine, folder)
        engine.step()
        _drop(engine)
    for second in range(3):
        engine.push("other", [{"ts": f"2026-01-01 00:00:{second:02}", "k": second}])
        engine.step()
    own = tmp_path / "checkpoint" / "windrow"
    assert not any(path.is_file() for path in (own / "pushed").glob("s*/*"))
    assert list((own / "files").iterdir()) == []


def test_a_stream_that_the_host_brings_needs_a_name_of_its_own(connect: Connect) -> None:
    """The host finds its place in a source by the name of the stream."""
    engine = connect()
    _create(engine)
    engine.step()
    _drop(engine)
    _create(engine, "FROM dataframe()")
    engine.step()
    _drop(engine)
    with pytest.raises(WindrowError, match="this checkpoint has had a stream s of Spark's before"):
        _create(engine, "FROM dataframe()")
    _create(engine)
    _push(engine, 1)
    assert _taken(engine) == [1]
