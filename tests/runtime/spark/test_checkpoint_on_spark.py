"""Checkpoints of engines on Spark: in any folder, of one engine at a time, whole or refused; all listen on loopback."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import windrow
from support.shard_runs import SourcesInProcess
from windrow.errors import CheckpointError, WindrowError
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.spark import engine

ANYWHERE = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}  # loopback


def bring(engine: Any, rows: int) -> None:
    """A stream that Spark brings, so that it has offsets."""
    frame = engine.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).load()
    engine.stream("s", frame.select(F.col("timestamp").alias("t"), F.col("value").alias("k")), timestamp="t")


def test_in_a_folder_of_any_name_and_for_one_engine(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "a b [1] {x,y} 100%20 #1 * ? ärger"
    for second in range(3):
        engine = windrow.connect(spark=spark, checkpoint=str(place), shards=2)
        if not engine.queries:
            engine.sql('CREATE STREAM "a/b" (t TIMESTAMP, k BIGINT) TIMESTAMP BY t')
            engine.table("it's", [{"k": 1, "name": "one"}, {"k": 0, "name": "none"}])
            joined = """SELECT n.name FROM "a/b" [RANGE 1 HOUR] AS r, "it's" AS n WHERE r.k = n.k"""
            engine.sql(f"CREATE QUERY q AS {joined}")
        engine.push("a/b", [{"t": second * 1_000_000, "k": second}])
        engine.step()
        with pytest.raises(CheckpointError, match="the checkpoint is in use in this process"):
            windrow.connect(spark=spark, checkpoint=str(place))
        names = sorted(row["name"] for row in engine["q"].answer().to_pylist())
        engine.close()
    assert names == ["none", "one"]
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
    assert {oct(path.stat().st_mode & 0o77) for path in place.iterdir()} == {"0o0"}


def test_a_lost_folder_of_offsets_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    for is_first in (True, False):
        engine = windrow.connect(spark=spark, checkpoint=str(tmp_path), shards=1)
        try:
            bring(engine, 5)
            if is_first:
                engine.sql("CREATE QUERY q AS SELECT k FROM s [RANGE 1 HOUR]")
                engine.step()
            else:
                with pytest.raises(CheckpointError, match=r"spark/s/metadata of the checkpoint is missing"):
                    engine.step()
        finally:
            engine.close()
        shutil.rmtree(tmp_path / "spark", ignore_errors=True)


def _no_spark(*_: object) -> None:
    raise WindrowError("Spark is asked for")


def _in_use(place: Path) -> Checkpoint:
    opened = Checkpoint(str(place))
    opened.claim()
    return opened


def _other_format(place: Path) -> None:
    (place / "windrow" / "format").write_text('{"format": 1, "windrow": "0.0.1", "shards": 1}')


def _damaged(under: str) -> Callable[[Path], None]:
    def damage(place: Path) -> None:
        newest = max((place / "windrow" / under).iterdir())
        newest.write_bytes(newest.read_bytes()[:-1])

    return damage


def _missing(place: Path) -> None:
    next((place / "windrow" / "pieces").iterdir()).unlink()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (_in_use, "in use in this process"),
        (_other_format, "has format 1"),
        (_damaged("commits"), "commits/.* of the checkpoint is damaged"),
        (_damaged("statements"), "statements/.* of the checkpoint is damaged"),
        (_missing, "pieces/.* of the checkpoint is missing"),
    ],
    ids=["in use", "another format", "a damaged commit", "a damaged statement", "a lost piece"],
)
def test_what_cannot_be_opened_is_refused_before_spark_is_started(
    harm: Callable[[Path], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = SourcesInProcess(1, checkpoint=str(tmp_path))
    before.sql("CREATE STREAM s (t TIMESTAMP, k BIGINT) TIMESTAMP BY t; CREATE QUERY q AS SELECT k FROM s [ROWS 2]")
    before.push("s", [{"t": 1, "k": 1}])
    before.step()
    before.close()
    held = harm(tmp_path)
    monkeypatch.setattr(engine, "sessions", _no_spark)
    with pytest.raises(CheckpointError, match=message):
        windrow.connect(checkpoint=str(tmp_path))
    del held


def test_nothing_is_left_when_spark_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "sessions", _no_spark)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    for _ in range(2):  # the first has let go of it
        with pytest.raises(WindrowError, match="Spark is asked for"):
            windrow.connect(checkpoint=str(tmp_path / "checkpoint"))
    assert list((tmp_path / "scratch").iterdir()) == []


def test_nothing_listens_beyond_this_machine(spark: SparkSession) -> None:
    java = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    inodes = set()
    for process in ("self", str(java)):
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            if descriptor.is_symlink() and (target := str(descriptor.readlink())).startswith("socket:["):
                inodes.add(target[8:-1])
    listening = [
        line.split()[1].partition(":")[0]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[9] in inodes
    ]
    assert listening and set(listening) <= ANYWHERE
