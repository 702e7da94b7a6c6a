"""What comes in through every kind of source, of streams and of tables; what is not right in a file is rejected."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from support.pushed_rows import ALL, DECLARATION, answer, at, ended, reasons, running
from windrow.errors import WindrowError
from windrow.runtime.local import LocalEngine


def frames() -> dict[str, Any]:
    table = pa.table({"ts": [at(1), at(2)], "a": [1, 2], "b": ["x", None], "v": [0.5, None]})
    rows = table.to_pylist()

    class Frame:
        """What frames of other libraries look like from here."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return table.__arrow_c_stream__(requested_schema)

    def generated() -> Iterator[dict[str, Any]]:
        yield from rows

    return {
        "table": table,
        "record batch": table.to_batches()[0],
        "record batches": table.to_batches(max_chunksize=1),
        "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        "list of rows": rows,
        "generator of rows": generated(),
        "frame": Frame(),
    }


@pytest.mark.parametrize("kind", list(frames()))
def test_python_sources(kind: str) -> None:
    engine = LocalEngine()
    engine.stream("s", frames()[kind], timestamp="ts")
    engine.query(ALL, "q")
    engine.run()

    assert answer(engine) == [(1, "x", 0.5), (2, None, None)]


def test_something_that_is_no_source() -> None:
    with pytest.raises(WindrowError) as caught:
        LocalEngine().stream("s", 17, timestamp="ts")

    assert caught.value.message == "int is not a source of rows"


def reading(form: str, place: Path, columns: str = "ts TIMESTAMP, a BIGINT, b STRING, v DOUBLE") -> LocalEngine:
    engine = running(f"CREATE STREAM s ({columns}) FROM {form}('{place}') TIMESTAMP BY ts")
    engine.run()
    return engine


def test_csv_with_bad_lines(tmp_path: Path) -> None:
    lines = [
        b"ts,a,b,v,unread",
        b"2026-01-01 00:00:01,1,x,0.5,7",
        b"2026-01-01 00:00:02,two,x,0.5,7",
        b"2026-01-01 00:00:03,3",
        b"not a time,3,x,0.5,7",
        b"2026-01-01 00:00:04,4,\xff\xfe,0.5,7",
        b"2026-01-01 00:00:05,5,NA,,text",
        b'2026-01-01 00:00:06,6,"",1e3,7',
        b"2026-01-01 00:00:07,7,,NaN,7",
    ]
    (tmp_path / "rows.csv").write_bytes(b"\n".join(lines) + b"\n")
    engine = reading("csv", tmp_path / "rows.csv")

    found = answer(engine)
    assert [(a, b) for a, b, _ in found] == [(1, "x"), (5, "NA"), (6, ""), (7, None)]
    assert [v for _, _, v in found[:3]] == [0.5, None, 1000.0]
    assert math.isnan(found[3][2])
    assert reasons(engine) == {"a is not BIGINT": 1, "it cannot be read": 2, "ts is not TIMESTAMP": 1}


def test_json_with_bad_lines(tmp_path: Path) -> None:
    lines = [
        '{"ts": "2026-01-01 00:00:01", "a": 1, "b": "x", "v": 0.5, "unread": {"deep": 1}}',
        '{"ts": "2026-01-01 00:00:02", "a": "two", "b": "x"}',
        '{"ts": "2026-01-01 00:00:03", "a": 3, ',
        "[1, 2]",
        "",
        '{"ts": "2026-01-01T00:00:04Z", "a": 4, "b": {"no": "text"}}',
        '{"ts": "2026-01-01T00:00:05Z", "a": 5, "b": null, "v": 7}',
        f'{{"ts": "2026-01-01 00:00:06", "a": {2**80}}}',
        '{"a": 7}',
    ]
    (tmp_path / "rows.json").write_text("\n".join(lines), encoding="utf-8")
    engine = reading("json", tmp_path)

    assert answer(engine)[0] == (1, "x", 0.5)
    assert (5, None, 7.0) in answer(engine)
    assert reasons(engine)["it cannot be read"] == 2
    assert reasons(engine)["a is not BIGINT"] == 2
    assert reasons(engine)["ts is null"] == 1


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_folders_are_read_file_by_file_and_broken_files_do_not_stop_it(form: str, tmp_path: Path) -> None:
    for number, name in enumerate(["one", "sub/two"], start=1):
        path = tmp_path / f"{name}.{form}"
        path.parent.mkdir(exist_ok=True)
        table = pa.table({"ts": [at(number)], "a": [number], "b": ["x"], "v": [0.5]})
        if form == "parquet":
            pa.parquet.write_table(table, path)
        elif form == "csv":
            pa.csv.write_csv(table, path)
        else:
            path.write_text(f'{{"ts": "{at(number).isoformat()}", "a": {number}, "b": "x", "v": 0.5}}\n')
    (tmp_path / f"p_empty.{form}").write_bytes(b"")
    (tmp_path / f"other.{form}").write_bytes(b"\x00\x01 this is nothing \xff\n\xfe")
    (tmp_path / "notes.txt").write_text("not read")
    engine = reading(form, tmp_path)

    assert answer(engine) == [(1, "x", 0.5), (2, "x", 0.5)]
    assert sum(reasons(engine).values()) >= 1


def test_every_type_comes_through_csv_and_json(tmp_path: Path) -> None:
    columns = "ts TIMESTAMP, i INT, m DECIMAL(10, 2), p BOOLEAN, d DATE, l INTERVAL, f FLOAT"
    wanted = [(7, Decimal("1.50"), True, at(0).date(), timedelta(seconds=1), 0.5)]
    (tmp_path / "rows.csv").write_text(
        "ts,i,m,p,d,l,f\n2026-01-01 00:00:01,7,1.50,true,2026-01-01,1 second,0.5\n2026-01-01 00:00:02,8,1.5x,,,,\n"
    )
    (tmp_path / "rows.json").write_text(
        '{"ts": "2026-01-01 00:00:01", "i": 7, "m": "1.50", "p": true, "d": "2026-01-01", "l": 1000000, "f": 0.5}\n'
    )
    for form in ("csv", "json"):
        declaration = f"CREATE STREAM s ({columns}) FROM {form}('{tmp_path}') TIMESTAMP BY ts"
        engine = running(declaration, "SELECT i, m, p, d, l, f FROM s [RANGE 1000 SECONDS]")
        engine.run()
        assert answer(engine) == wanted, form
        assert reasons(engine) == ({"m is not DECIMAL(10, 2)": 1} if form == "csv" else {})


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WindrowError) as caught:
        LocalEngine().sql(f"CREATE STREAM s (ts TIMESTAMP) FROM csv('{tmp_path}/none') TIMESTAMP BY ts")

    assert caught.value.message == f"there is no file or folder {tmp_path}/none"


def table_from(tmp_path: Path, text: str, clauses: str = "") -> LocalEngine:
    (tmp_path / "rows.csv").write_text(text)
    engine = LocalEngine()
    engine.sql(f"""
        {DECLARATION}; CREATE TABLE names (a BIGINT PRIMARY KEY, name STRING NOT NULL, since TIMESTAMP) {clauses}
        FROM csv('{tmp_path}/rows.csv')
    """)
    engine.query("SELECT name FROM s [RANGE 100 SECONDS] JOIN names ON s.a = names.a", "q")
    engine.push("s", [{"ts": at(second), "a": second} for second in range(1, 7)])
    return ended(engine)


@pytest.mark.parametrize("clauses", ["", "NON RETROACTIVE"])
def test_rows_of_a_table_that_do_not_fit_are_rejected(tmp_path: Path, clauses: str) -> None:
    text = "a,name,since\n1,one,\ntwo,two,\n3,,\n,four,\n5,five,yesterday\n1,again,\n6,six,2026-01-01 00:00:00\n"
    engine = table_from(tmp_path, text, clauses)

    assert sorted(answer(engine)) == [("one",), ("six",)]
    assert engine.status()["tables"]["names"] == {
        "rows": 2,
        "rejected": {
            "a is not BIGINT": 1,
            "a is null": 1,
            "name is null": 1,
            "since is not TIMESTAMP": 1,
            "its key is there already": 1,
        },
    }
    rejected = engine.rejected("NAMES")
    assert rejected is not None
    assert sorted(rejected["_reason"].to_pylist()) == sorted(engine.status()["tables"]["names"]["rejected"])


def test_rows_of_a_table_take_effect_when_they_say(tmp_path: Path) -> None:
    text = "a,name,since\n1,one,2026-01-01 00:00:03\n2,two,\n4,four,2026-01-01 00:00:03\n1,late,2026-01-01 00:00:05\n"
    (tmp_path / "rows.csv").write_text(text)
    engine = LocalEngine()
    engine.sql(f"""
        {DECLARATION}; CREATE TABLE names (a BIGINT PRIMARY KEY, name STRING, since TIMESTAMP)
        FROM csv('{tmp_path}/rows.csv') EFFECTIVE BY since
    """)
    query = engine.query("SELECT name FROM s [RANGE 100 SECONDS] JOIN names ON s.a = names.a", "q")
    engine.push("s", [{"ts": at(second), "a": second} for second in range(1, 7)])
    ended(engine)

    begins = query.changes().select(["name", "_ts"]).to_pylist()
    found = sorted((row["name"], row["_ts"]) for row in begins)
    assert found == [("four", at(4)), ("one", at(3)), ("two", at(2))]
    assert engine.status()["tables"]["names"]["rejected"] == {"its key is there already": 1}


def test_statements_that_a_table_refuses_are_counted() -> None:
    engine = LocalEngine()
    engine.sql(f"{DECLARATION}; CREATE TABLE names (a BIGINT PRIMARY KEY); INSERT INTO names VALUES (1)")
    engine.query("SELECT s.a FROM s [RANGE 100 SECONDS] JOIN names ON s.a = names.a", "q")
    engine.sql("INSERT INTO names VALUES (1), (2)")
    engine.push("s", [{"ts": at(1), "a": 1}])
    ended(engine)

    reason = "a row of names has a key that is there already"
    assert engine.status()["tables"]["names"] == {"rows": 1, "rejected": {reason: 1}}
