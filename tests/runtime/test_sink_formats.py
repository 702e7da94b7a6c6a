"""What goes out through every kind of sink, of every type; nothing half written is left."""

from __future__ import annotations

import csv
import json
import math
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from support.pushed_rows import DECLARATION, at, ended, running
from support.python_sink import EMITTED
from windrow.errors import WindrowError
from windrow.runtime.local import LocalEngine

CONTINUOUS = "SELECT a, v FROM s [RANGE 2 SECONDS]"
PERIODIC = "SELECT COUNT(*) AS n FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS]"
CHANGES = [(1, 0.5, at(1), at(3), 1), (None, math.nan, at(2), at(4), 1)]
REFRESHES = [(1, at(2)), (1, at(4)), (0, at(6))]


def into(sink: str, query: str) -> LocalEngine:
    engine = LocalEngine()
    engine.sql(f"{DECLARATION}; CREATE QUERY q AS {query} INTO {sink}")
    engine.push("s", [{"ts": at(1), "a": 1, "v": 0.5}, {"ts": at(2), "a": None, "v": math.nan}])
    return ended(engine)


def parts(folder: Path) -> list[Path]:
    found = sorted(folder.iterdir())
    assert all(path.name.startswith("part-") for path in found), "nothing half written is left"
    return found


def same(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
    return repr(sorted(found, key=repr)) == repr(sorted(wanted, key=repr))


def test_parquet_sink(tmp_path: Path) -> None:
    into(f"parquet('{tmp_path}/changes')", CONTINUOUS)
    into(f"parquet('{tmp_path}/refreshes')", PERIODIC)

    changes = pa.concat_tables([pa.parquet.read_table(path) for path in parts(tmp_path / "changes")])
    assert changes.column_names == ["a", "v", "_ts", "_exp", "_sign"]
    assert same([tuple(row.values()) for row in in_utc(changes)], CHANGES)
    refreshes = pa.concat_tables([pa.parquet.read_table(path) for path in parts(tmp_path / "refreshes")])
    assert [tuple(row.values()) for row in in_utc(refreshes)] == REFRESHES


def in_utc(table: pa.Table) -> list[dict[str, Any]]:
    rows = table.to_pylist()
    return [{k: v.astimezone(timezone.utc) if isinstance(v, datetime) else v for k, v in row.items()} for row in rows]


def test_json_sink(tmp_path: Path) -> None:
    into(f"json('{tmp_path}/changes')", CONTINUOUS)
    into(f"json('{tmp_path}/refreshes')", PERIODIC)

    lines = [line for path in parts(tmp_path / "changes") for line in path.read_text().splitlines()]
    strict = [json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is not JSON")) for line in lines]
    assert strict == [
        {"a": 1, "v": 0.5, "_ts": at(1).isoformat(), "_exp": at(3).isoformat(), "_sign": 1},
        {"a": None, "v": "nan", "_ts": at(2).isoformat(), "_exp": at(4).isoformat(), "_sign": 1},
    ]
    lines = [line for path in parts(tmp_path / "refreshes") for line in path.read_text().splitlines()]
    assert [json.loads(line) for line in lines] == [{"n": n, "_window_end": end.isoformat()} for n, end in REFRESHES]


def test_csv_sink(tmp_path: Path) -> None:
    into(f"csv('{tmp_path}/changes')", CONTINUOUS)

    found = [row for path in parts(tmp_path / "changes") for row in csv.DictReader(path.open())]
    assert [row["a"] for row in found] == ["1", ""]
    assert [row["_sign"] for row in found] == ["1", "1"]
    assert [row["_ts"][:19] for row in found] == ["2026-01-01 00:00:01", "2026-01-01 00:00:02"]


def test_open_ends_are_null(tmp_path: Path) -> None:
    into(f"json('{tmp_path}')", "SELECT a FROM s [ROWS 1] WHERE a IS NULL")

    lines = [json.loads(line) for path in parts(tmp_path) for line in path.read_text().splitlines()]
    assert [(line["_exp"], line["_sign"]) for line in lines] == [(None, 1)]


def test_ends_that_no_calendar_has(tmp_path: Path) -> None:
    into(f"json('{tmp_path}')", "SELECT a FROM s [RANGE 4000000 DAYS]")

    lines = [json.loads(line) for path in parts(tmp_path) for line in path.read_text().splitlines()]
    assert [line["_sign"] for line in lines] == [1, 1]


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_every_type_goes_out(form: str, tmp_path: Path) -> None:
    engine = LocalEngine()
    columns = "ts TIMESTAMP, i INT, m DECIMAL(10, 2), p BOOLEAN, d DATE, l INTERVAL, f FLOAT, b STRING, y BINARY"
    engine.sql(f"CREATE STREAM s ({columns}) TIMESTAMP BY ts")
    engine.sql(f"CREATE QUERY q AS SELECT * FROM s [RANGE 1 SECOND] INTO {form}('{tmp_path}')")
    values = [7, Decimal("1.50"), True, at(0).date(), timedelta(seconds=1), 0.5, 'a "b", ü\n', b"\x00\xff"]
    names = ["i", "m", "p", "d", "l", "f", "b", "y"]
    engine.push("s", [{"ts": at(1), **dict(zip(names, values, strict=True))}, {"ts": at(1)}])
    ended(engine)
    (path,) = parts(tmp_path)

    if form == "parquet":
        found = [list(row.values())[1:9] for row in pa.parquet.read_table(path).to_pylist()]
        assert values in found
        assert [None] * 8 in found
        return
    if form == "json":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        texts = [7, "1.50", True, "2026-01-01", 1_000_000, 0.5, values[6], "00ff"]
    else:
        rows = list(csv.DictReader(path.open(encoding="utf-8", newline="")))
        texts = ["7", "1.50", "true", "2026-01-01", "1000000", "0.5", values[6], "00ff"]
    assert texts in [[row[name] for name in names] for row in rows]


def test_console_sink(capsys: pytest.CaptureFixture[str]) -> None:
    into("console()", PERIODIC)

    assert capsys.readouterr().out.splitlines()[0] == f'q: {{"n": 1, "_window_end": "{at(2).isoformat()}"}}'


def test_python_sink() -> None:
    EMITTED.clear()
    into("python('support.python_sink:record')", PERIODIC)

    assert [tuple(row.values()) for table in EMITTED for row in in_utc(table)] == REFRESHES


def test_a_python_sink_that_is_not_there() -> None:
    with pytest.raises(WindrowError) as caught:
        into("python('support.python_sink:nobody')", PERIODIC)

    assert "support.python_sink:nobody cannot be called" in caught.value.message


def test_a_folder_with_results_is_not_written_to(tmp_path: Path) -> None:
    into(f"json('{tmp_path}')", CONTINUOUS)
    with pytest.raises(WindrowError) as caught:
        into(f"json('{tmp_path}')", CONTINUOUS)

    assert caught.value.message == f"{tmp_path} has results already"


NESTED = "CREATE STREAM s (ts TIMESTAMP, x ARRAY<DOUBLE>, p STRUCT<a: STRING, n: INT>) TIMESTAMP BY ts"


def test_arrays_and_structs_come_in_and_go_out(tmp_path: Path) -> None:
    """As values, and as JSON where they stand as texts; what is not of the type is rejected on its own."""
    engine = running(NESTED, "SELECT x, p FROM s [RANGE 1000 SECONDS]")
    counted = "SELECT x, p, TOP(2, x) AS t FROM s [RANGE 1000 SECONDS] GROUP BY x, p"
    engine.sql(f"CREATE QUERY o AS {counted} INTO json('{tmp_path}')")
    engine.push("s", [
        {"ts": at(1), "x": [1.5, None], "p": {"a": "q", "n": 1}},
        {"ts": at(2), "x": "[NaN]", "p": None},
        {"ts": at(3), "x": "not an array", "p": None},
        {"ts": at(4), "x": None, "p": '{"a": "r", "n": "many"}'},
        {"ts": at(5), "x": [], "p": '{"a": "r"}'},
        {"ts": at(6)},
    ])  # fmt: skip
    engine.end("s")
    engine.step()
    found = engine["q"].latest_answer().to_pylist()
    assert repr(sorted(found, key=repr)) == repr(
        sorted(
            [
                {"x": [1.5, None], "p": {"a": "q", "n": 1}},
                {"x": [math.nan], "p": None},
                {"x": [], "p": {"a": "r", "n": None}},
                {"x": None, "p": None},
            ],
            key=repr,
        )
    )
    rejected = engine.rejected("s")
    assert rejected is not None
    assert set(rejected["_reason"].to_pylist()) == {"x is not ARRAY<DOUBLE>", "p is not STRUCT<a: STRING, n: INT>"}
    lines = [json.loads(line) for path in sorted(tmp_path.iterdir()) for line in path.read_text().splitlines()]
    assert {"x": ["nan"], "p": None, "t": [{"item": ["nan"], "count": 1}]} in [
        {name: line[name] for name in "xpt"} for line in lines
    ]
