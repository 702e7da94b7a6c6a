"""Columns go by their declared names, in any case; what is no row, no column or no such column is said at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from support.shard_runs import SourcesInProcess
from windrow.errors import WindrowError
from windrow.runtime.engine import Engine
from windrow.runtime.local import LocalEngine

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
FORMS = ("parquet", "csv", "json")


@pytest.fixture(params=["local", "shards"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    engine: Engine = LocalEngine() if request.param == "local" else SourcesInProcess(2)
    engine.sql("CREATE STREAM trades (ts TIMESTAMP, symbol STRING, size BIGINT) TIMESTAMP BY ts")
    engine.query("SELECT symbol, size FROM trades", "q")
    yield engine
    engine.close()


def answer(engine: Engine) -> list[tuple[Any, ...]]:
    engine.end("trades")
    engine.step()
    engine.run()
    return sorted((tuple(row.values()) for row in engine["q"].latest_answer().to_pylist()), key=str)


def refused(engine: Engine, rows: Any) -> tuple[str, str | None]:
    with pytest.raises(WindrowError) as caught:
        engine.push("trades", rows)
    return caught.value.message, caught.value.hint


EXAMPLE = "write [{'ts': ..., 'symbol': ..., 'size': ...}]"


@pytest.mark.parametrize(
    ("rows", "message", "hint"),
    [
        ([(NOON, "A", 1)], "is not a row of trades, but of type tuple", EXAMPLE),
        ((NOON, "A", 1), "is not a row of trades, but of type datetime", EXAMPLE),
        ([None], "None is not a row of trades, but nothing", EXAMPLE),
        (["ts"], "'ts' is not a row of trades, but of type str", EXAMPLE),
        ("ts", "'ts' is not a row of trades, but of type str", EXAMPLE),
        (17, "int is not a source of rows", "hand over an Arrow table, a pandas frame, or an iterable of dictionaries"),
        ({"ts": NOON, "symbl": "A"}, "trades has no column symbl", "did you mean symbol?"),
        ([{"ts": NOON}, {"ts": NOON, "volume": 1}], "trades has no column volume", "columns here: size, symbol, ts"),
        (pa.table({"ts": [NOON], "volume": [1]}), "trades has no column volume", "columns here: size, symbol, ts"),
        (pa.table({"SIZE": [1], "Size": [1]}), "the columns SIZE and Size could both be size", "call one of them size"),
        ({"SIZE": 1, "Size": 1}, "the columns SIZE and Size could both be size", "call one of them size"),
        ({"ts": NOON, 1: 2}, "a column is called by a text, not by 1", EXAMPLE),
    ],
    ids=str,
)
def test_what_is_no_row_is_refused(engine: Engine, rows: Any, message: str, hint: str) -> None:
    said = refused(engine, rows)
    assert said[0].endswith(message)
    assert said[1] == hint
    assert answer(engine) == []


def test_a_list_is_taken_or_refused_as_a_whole(engine: Engine) -> None:
    refused(engine, [{"ts": NOON, "symbol": "A"}, ("B",)])
    assert answer(engine) == []


def test_a_dictionary_is_one_row(engine: Engine) -> None:
    engine.push("trades", {"ts": NOON, "symbol": "A", "size": 1})
    assert answer(engine) == [("A", 1)]


def test_letters_of_any_case_are_pushed(engine: Engine) -> None:
    engine.push("Trades", [{"TS": NOON, "Symbol": "A", "SIZE": 1}, {"ts": NOON, "symbol": "B", "size": 2}])
    engine.push("trades", pa.table({"Ts": [NOON], "SYMBOL": ["C"], "size": [3]}))
    assert answer(engine) == [("A", 1), ("B", 2), ("C", 3)]
    assert engine.status()["warnings"] == []


def write(path: Path, form: str, columns: dict[str, list[Any]]) -> None:
    if form == "parquet":
        pa.parquet.write_table(pa.table(columns), path)
    elif form == "csv":
        pa.csv.write_csv(pa.table(columns), path)
    else:
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))


def read_into(engine: Engine, folder: Path, form: str) -> None:
    """A stream `f` of a folder; on shards its files are read as a task reads them."""
    engine.sql(f"CREATE STREAM f (ts TIMESTAMP, symbol STRING, size BIGINT) FROM {form}('{folder}') TIMESTAMP BY ts")
    engine.query("SELECT symbol, size FROM f", "of_files")
    engine.end("trades")
    engine.run()


def found(engine: Engine) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in engine["of_files"].latest_answer().to_pylist()), key=str)


@pytest.mark.parametrize("form", FORMS)
def test_letters_of_any_case_in_files(engine: Engine, form: str, tmp_path: Path) -> None:
    write(tmp_path / f"a.{form}", form, {"TS": [NOON, NOON], "Symbol": ["A", "B"], "size": [1, 2]})
    write(tmp_path / f"b.{form}", form, {"size": [3], "ts": [NOON], "SYMBOL": ["C"]})
    read_into(engine, tmp_path, form)

    assert found(engine) == [("A", 1), ("B", 2), ("C", 3)]
    assert engine.status()["warnings"] == []


def test_lines_of_json_that_differ_in_case(engine: Engine, tmp_path: Path) -> None:
    lines = [{"ts": str(NOON), "symbol": "A", "size": 1}, {"ts": str(NOON), "Symbol": "B", "SIZE": 2}]
    (tmp_path / "a.json").write_text("\n".join(map(json.dumps, lines)))
    read_into(engine, tmp_path, "json")

    assert found(engine) == [("A", 1), ("B", 2)]


def test_names_of_json_that_are_written_by_numbers(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(f'{{"ts": "{NOON}", "s\\u0079mbol": "A", "size": 1}}')
    read_into(engine, tmp_path, "json")

    assert found(engine) == [("A", 1)]


@pytest.mark.parametrize("form", FORMS)
def test_a_column_that_no_file_has_is_warned_of(engine: Engine, form: str, tmp_path: Path) -> None:
    write(tmp_path / f"a.{form}", form, {"ts": [NOON, NOON], "symbl": ["A", "B"], "volume": [1, 2]})
    read_into(engine, tmp_path, form)

    assert found(engine) == [(None, None), (None, None)]
    warned = [(one["stream"], one["what"], one["count"]) for one in engine.status()["warnings"]]
    assert warned == [
        ("f", "there is no column symbol, it is NULL: did you mean symbl?", 2),
        ("f", "there is no column size, it is NULL; not declared: symbl, volume", 2),
    ]
    datetime.fromisoformat(engine.status()["warnings"][0]["since"])


@pytest.mark.parametrize("form", FORMS)
def test_a_file_with_columns_that_could_both_be_meant_is_rejected(engine: Engine, form: str, tmp_path: Path) -> None:
    write(tmp_path / f"a.{form}", form, {"ts": [NOON], "symbol": ["A"], "SIZE": [1], "Size": [2]})
    write(tmp_path / f"b.{form}", form, {"ts": [NOON], "symbol": ["B"], "size": [1], "Size": [2]})
    read_into(engine, tmp_path, form)

    assert found(engine) == [("B", 1)], "the same case wins"
    assert engine.status()["streams"]["f"]["rejected"] == {"it cannot be read": 1}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_without_any_column_that_is_declared_is_rejected(engine: Engine, form: str, tmp_path: Path) -> None:
    write(tmp_path / f"a.{form}", form, {"when": [NOON, NOON], "what": ["A", "B"]})
    read_into(engine, tmp_path, form)

    rejected = engine.rejected("f")
    assert rejected is not None
    assert rejected.column(0).to_pylist() == [f"a.{form}: it has none of the columns that are declared, but when, what"]


@pytest.mark.parametrize("form", FORMS)
def test_a_table_without_a_file_that_has_its_columns_is_refused(engine: Engine, form: str, tmp_path: Path) -> None:
    write(tmp_path / f"a.{form}", form, {"Symbol": ["A"], "volume": [1]})
    with pytest.raises(WindrowError) as caught:
        engine.sql(f"CREATE TABLE sizes (symbol STRING, size BIGINT) FROM {form}('{tmp_path}')")

    assert (caught.value.message, caught.value.hint) == ("no file has a column size", "other columns here: volume")
    write(tmp_path / f"b.{form}", form, {"Symbol": ["B"], "Size": [2]})
    engine.sql(f"CREATE TABLE sizes (symbol STRING, size BIGINT) FROM {form}('{tmp_path}')")


def test_rows_without_a_column_are_warned_of_while_none_has_it(engine: Engine) -> None:
    engine.push("trades", [{"ts": NOON, "symbol": "A"}])
    engine.step()
    warned = [(one["what"], one["count"]) for one in engine.status()["warnings"]]
    assert warned == [("there is no column size, it is NULL", 1)]

    engine.push("trades", [{"ts": NOON, "symbol": "B", "size": 1}])
    assert answer(engine) == [("A", None), ("B", 1)]
    assert engine.status()["warnings"] == []
