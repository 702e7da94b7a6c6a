"""Files as sources of the engine in one process: the same definition of what is read as on shards."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from windrow.clock import ManualClock
from windrow.errors import WindrowError
from windrow.runtime.local import LocalEngine
from windrow.units import SECOND


def declared(folder: Path, form: str = "csv", options: str = "", clock: ManualClock | None = None) -> LocalEngine:
    engine = LocalEngine(clock=clock)
    engine.sql(f"CREATE STREAM f (ts TIMESTAMP, k INT) FROM {form}('{folder}'{options}) TIMESTAMP BY ts SLACK 1 HOUR")
    engine.query("SELECT k FROM f", "q")
    return engine


def csv(path: Path, *numbers: int) -> Path:
    path.write_text("ts,k\n" + "".join(f"2026-01-01 00:00:{number:02},{number}\n" for number in numbers))
    return path


def taken(engine: LocalEngine) -> list[int]:
    return sorted(row["k"] for row in engine["q"].changes().to_pylist())


def test_what_is_there_is_read_whatever_it_looks_like(tmp_path: Path) -> None:
    folder = tmp_path / "a b [1]#%20"
    folder.mkdir()
    (folder / "empty.csv").touch()
    (folder / "_not_ready.csv").write_text("ts,k\n2026-01-01 00:00:01,99\n")
    os.utime(csv(folder / "old.csv", 1), (5, 5))
    (folder / "zipped.csv.gz").write_bytes(gzip.compress(b"ts,k\n2026-01-01 00:00:02,2\n"))
    (folder / "no_end.csv").write_text("ts,k\n2026-01-01 00:00:03,3")
    (folder / "broken.csv.gz").write_bytes(b"no gzip at all")
    engine = declared(folder)
    engine.run()
    assert taken(engine) == [1, 2, 3]
    files = engine.status()["streams"]["f"]["files"]
    assert (files["read"], list(files["rejected"])) == (3, ["broken.csv.gz"])
    assert engine.status()["streams"]["f"]["rejected"] == {"it cannot be read": 1}


def test_an_empty_folder_is_one_without_rows(tmp_path: Path) -> None:
    engine = declared(tmp_path)
    engine.run()
    assert taken(engine) == []


def test_half_a_parquet_file_never_counts(tmp_path: Path) -> None:
    times = pa.array([number * SECOND for number in range(200_000)], pa.timestamp("us"))
    table = pa.table({"ts": times, "k": pa.array(range(200_000), pa.int32())})
    pa.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1_000, compression="zstd")
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 2_000] = bytes(2_000)
    (tmp_path / "a.parquet").write_bytes(content)
    engine = declared(tmp_path, "parquet")
    engine.run()
    status = engine.status()["streams"]["f"]
    assert (status["rows"], list(status["files"]["rejected"])) == (0, ["a.parquet"])


def test_a_run_that_follows_waits_for_more(tmp_path: Path) -> None:
    csv(tmp_path / "a.csv", 1)
    engine = declared(tmp_path)
    other = iter(range(1_000_000))

    def poll() -> None:
        if next(other) == 2:
            csv(tmp_path / "b.csv", 2)
            with (tmp_path / "a.csv").open("a") as file:
                file.write("2026-01-01 00:00:03,3\n")
        if engine.status()["streams"]["f"]["rows"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.run(poll, follow=True)
    engine.end("f")
    engine.step()
    assert taken(engine) == [1, 2, 3]


def test_a_folder_that_goes_away_keeps_nobody_else(tmp_path: Path) -> None:
    clock = ManualClock(100 * SECOND)
    folder = tmp_path / "rows"
    folder.mkdir()
    engine = declared(folder, clock=clock)
    engine.sql("CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts")
    engine.query("SELECT k FROM s", "other")
    shutil.rmtree(folder)
    engine.push("s", [{"ts": 1, "k": 1}, {"ts": 2, "k": 2}])
    engine.step()
    assert engine["other"].answer().num_rows == 1
    (failing,) = engine.health()
    assert (failing.what, failing.name, failing.since) == ("source", "f", 100 * SECOND)
    folder.mkdir()
    csv(folder / "a.csv", 1)
    clock.advance(2 * SECOND)
    engine.run()
    assert engine.health() == [] and taken(engine) == [1]


def test_a_run_that_waits_for_nothing_else_ends_with_the_reason(tmp_path: Path) -> None:
    clock = ManualClock(100 * SECOND)
    for options, message in (
        ("", "sources cannot be reached: f: there is no"),
        (", on_error => 'stop'", "there is no"),
    ):
        folder = tmp_path / "rows"
        folder.mkdir()
        engine = declared(folder, options=options, clock=clock)
        shutil.rmtree(folder)
        with pytest.raises(WindrowError, match=message):
            engine.run(poll=lambda: clock.advance(60 * SECOND))
