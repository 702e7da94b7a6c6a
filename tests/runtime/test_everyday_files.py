"""Files as people have them: other delimiters, no line of names, arrays, patterns, columns that nobody wrote down."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import date, datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import windrow
from support.shard_runs import SourcesInProcess
from windrow.errors import CqlMeaningError, WindrowError
from windrow.runtime.local import LocalEngine

Connect = Callable[[], windrow.Engine]


@pytest.fixture(params=["local", "shards"])
def connect(request: pytest.FixtureRequest) -> Connect:
    return LocalEngine if request.param == "local" else lambda: SourcesInProcess(2)


def answered(engine: windrow.Engine, declared: str) -> list[dict[str, object]]:
    engine.sql(f"CREATE STREAM s {declared}; CREATE QUERY q AS SELECT * FROM s [RANGE 1 HOUR]")
    engine.run()
    rows = engine["q"].latest_answer().to_pylist()
    engine.close()
    return rows


def noon(second: int) -> datetime:
    return datetime(2026, 1, 1, 12, 0, second, tzinfo=timezone.utc)


def test_csv_as_others_write_it(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("2026-01-01 12:00:01;'a;b';NA\n2026-01-01 12:00:02;;3\n")
    options = "delimiter => ';', quote => '''', null => 'NA', header => FALSE"
    rows = answered(connect(), f"(ts TIMESTAMP, k STRING, v INT) FROM csv('{tmp_path}', {options}) TIMESTAMP BY ts")
    assert rows == [{"ts": noon(1), "k": "a;b", "v": None}, {"ts": noon(2), "k": None, "v": 3}]


def test_a_csv_without_names_that_grows(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("2026-01-01 12:00:01;1\n")
    with SourcesInProcess(2, checkpoint=str(tmp_path / "checkpoint")) as engine:
        options = "delimiter => ';', header => FALSE"
        engine.sql(f"CREATE STREAM s (ts TIMESTAMP, v INT) FROM csv('{file}', {options}) TIMESTAMP BY ts")
        engine.query("SELECT v FROM s", "q")
        engine.step()
        with file.open("a") as more:
            more.write("2026-01-01 12:00:02;2\n2026-01-01 12:00:03;3\n")
        engine.step()
        engine.end("s")
        engine.step()
        assert sorted(row["v"] for row in engine["q"].changes().to_pylist()) == [1, 2, 3]


def test_an_array_of_json(connect: Connect, tmp_path: Path) -> None:
    rows = [{"ts": "2026-01-01T12:00:01Z", "tags": ["x"], "o": {"p": 1}}, {"TS": "2026-01-01T12:00:02Z"}, 7]
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=2))
    engine = connect()
    columns = "(ts TIMESTAMP, tags ARRAY<STRING>, o STRUCT<p: INT>)"
    found = answered(engine, f"{columns} FROM json('{tmp_path}', array => TRUE) TIMESTAMP BY ts")
    assert found == [{"ts": noon(1), "tags": ["x"], "o": {"p": 1}}, {"ts": noon(2), "tags": None, "o": None}]
    assert engine.status()["streams"]["s"]["rejected"] == {"it cannot be read": 1}


def test_what_is_no_array_is_rejected_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"ts": "2026-01-01T12:00:01Z"}')
    engine = LocalEngine()
    assert answered(engine, f"(ts TIMESTAMP) FROM json('{tmp_path}', array => TRUE) TIMESTAMP BY ts") == []
    assert engine.status()["streams"]["s"]["files"]["rejected"] == {"a.json": "it is not an array of rows"}


def test_a_pattern_of_names(connect: Connect, tmp_path: Path) -> None:
    for name in ("part-1.txt", "below/part-2.txt", "other.txt", "part-3.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"ts,name\n2026-01-01 12:00:01,{name}\n")
    options = "files => 'part-*.txt'"
    rows = answered(connect(), f"(ts TIMESTAMP, name STRING) FROM csv('{tmp_path}', {options}) TIMESTAMP BY ts")
    assert [row["name"] for row in rows] == ["below/part-2.txt", "part-1.txt"]


def test_columns_that_nobody_wrote_down(connect: Connect, tmp_path: Path) -> None:
    table = pa.table({"at": pa.array([noon(1)], pa.timestamp("ns", "UTC")), "k": ["a"], "d": [date(2026, 1, 1)]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    assert answered(connect(), f"FROM parquet('{tmp_path}') TIMESTAMP BY at") == [
        {"at": noon(1), "k": "a", "d": date(2026, 1, 1)}
    ]


@pytest.mark.parametrize(
    ("name", "content", "source"),
    [
        ("a.csv", b"at;k;v\n2026-01-01 12:00:01;a;1.5\n", "csv('{}', delimiter => ';')"),
        ("a.csv.gz", gzip.compress(b"at,k,v\n2026-01-01 12:00:01,a,1.5\n"), "csv('{}')"),
        ("a.json", b'{"at": "2026-01-01T12:00:01", "k": "a", "v": 1.5}\n', "json('{}')"),
    ],
    ids=["csv", "gzip", "json"],
)
def test_columns_of_texts_are_those_of_a_sample(tmp_path: Path, name: str, content: bytes, source: str) -> None:
    (tmp_path / name).write_bytes(content)
    engine = LocalEngine()
    (rows,) = [answered(engine, f"FROM {source.format(tmp_path)} TIMESTAMP BY at")]
    assert rows == [{"at": noon(1), "k": "a", "v": 1.5}]
    described = engine.session.execute("DESCRIBE s")[0]
    assert described.rows == (("at", "TIMESTAMP", "timestamp"), ("k", "STRING", ""), ("v", "DOUBLE", ""))


def test_files_with_different_columns_have_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,a\n2026-01-01 12:00:01,1\n")
    (tmp_path / "b.csv").write_text("ts,b\n2026-01-01 12:00:02,x\n")
    rows = answered(LocalEngine(), f"FROM csv('{tmp_path}') TIMESTAMP BY ts")
    assert rows == [{"ts": noon(1), "a": 1, "b": None}, {"ts": noon(2), "a": None, "b": "x"}]


def test_a_text_is_run_again_with_the_columns_that_were_found(tmp_path: Path) -> None:
    folder, checkpoint = tmp_path / "rows", str(tmp_path / "checkpoint")
    folder.mkdir()
    (folder / "a.csv").write_text("ts,a\n2026-01-01 12:00:01,1\n")
    text = f"CREATE STREAM s FROM csv('{folder}') TIMESTAMP BY ts; CREATE QUERY q AS SELECT a FROM s"
    with SourcesInProcess(1, checkpoint=checkpoint) as engine:
        engine.resume(text)
        engine.step()
    (folder / "a.csv").unlink()
    (folder / "b.csv").write_text("ts,a,more\n2026-01-01 12:00:02,2,x\n")
    with SourcesInProcess(1, checkpoint=checkpoint) as engine:
        assert engine.resume(text) == []
        engine.step()
        engine.end("s")
        engine.step()
        assert sorted(row["a"] for row in engine["q"].changes().to_pylist()) == [1, 2]


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        ("csv('{}')", "there is no csv file yet", "write the columns"),
        ("csv('{}/nowhere')", "there is no file or folder", "give a file"),
        ("csv('{}', delimiter => 'ab')", "delimiter cannot be 'ab'", "one sign"),
        ("csv('{}', header => 1)", "header cannot be 1", "TRUE or FALSE"),
        ("dataframe()", "dataframe does not say which columns", "write the columns"),
    ],
)
def test_what_cannot_be_found_out_is_said(tmp_path: Path, source: str, message: str, hint: str) -> None:
    with pytest.raises(CqlMeaningError, match=message) as raised:
        LocalEngine().sql(f"CREATE STREAM s FROM {source.format(tmp_path)} TIMESTAMP BY ts")
    assert hint in str(raised.value)


def test_options_are_checked_where_columns_are_written(tmp_path: Path) -> None:
    with pytest.raises(WindrowError, match="header cannot be 'no'"):
        LocalEngine().sql(f"CREATE STREAM s (ts TIMESTAMP) FROM csv('{tmp_path}', header => 'no') TIMESTAMP BY ts")


COMPUTED = """(raw STRING, ts TIMESTAMP NOT NULL AS CAST(raw AS TIMESTAMP), v INT, twice AS v * 2, text STRING AS v)
    TIMESTAMP BY ts"""


def test_columns_are_computed_from_others(connect: Connect) -> None:
    engine = connect()
    engine.sql(f"CREATE STREAM s {COMPUTED}; CREATE QUERY q AS SELECT ts, twice, text FROM s [RANGE 1 HOUR]")
    engine.push("s", [{"raw": "2026-01-01 12:00:01", "v": 1}, {"raw": "soon", "v": 2}])
    engine.push("s", [{"raw": "2026-01-01 12:00:02", "v": None}])
    engine.end("s")
    engine.step()
    assert engine["q"].latest_answer().to_pylist() == [
        {"ts": noon(1), "twice": 2, "text": "1"},
        {"ts": noon(2), "twice": None, "text": None},
    ]
    rejected = engine.rejected("s")
    assert rejected is not None
    assert rejected.select(["raw", "_reason"]).to_pylist() == [{"raw": "soon", "_reason": "ts is null"}]
    with pytest.raises(WindrowError, match="no column twice"):
        engine.push("s", [{"raw": "2026-01-01 12:00:03", "twice": 4}])
    engine.close()


def test_computed_columns_outlive_the_process(tmp_path: Path) -> None:
    engine = LocalEngine(str(tmp_path))
    engine.sql(f"CREATE STREAM s {COMPUTED}")
    engine.close()
    again = LocalEngine(str(tmp_path))
    described = again.sql("DESCRIBE s")[0].rows
    assert ("twice", "INT", "AS s.v * 2") in described
    assert ("ts", "TIMESTAMP", "timestamp, AS CAST(s.raw AS TIMESTAMP)") in described
    again.close()
