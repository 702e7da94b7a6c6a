"""Late and rejected rows on shards: kept with their reasons, counted, and the same on the local runtime."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.shard_runs import ShardsInProcess
from windrow.runtime.local import LocalEngine
from windrow.sources.file_format import FileFormat
from windrow.sources.file_reading import read_whole
from windrow.sources.source_folder import SourceFolder

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING NOT NULL, v INT) TIMESTAMP BY ts SLACK 1 SECOND"
CSV = "ts,k,v\n2026-01-01 00:00:05,a,1\nnoon,a,1\n,a,1\n2026-01-01 00:00:06,,1\n2026-01-01 00:00:06,b,many\n1,2\n"
JSON = """{"ts": "2026-01-01 00:00:05", "k": "a", "v": 1}
{"ts": 12, "k": {"x": 1}, "v": "many"}
{"ts": null, "k": "a", "v": 1}
{"k": "a"}
not json
[1, 2]
"""


def bag(table: pa.Table | None) -> Counter[str]:
    rows: list[dict[str, Any]] = [] if table is None else table.to_pylist()
    return Counter(repr({name: None if value is None else str(value) for name, value in row.items()}) for row in rows)


@pytest.mark.parametrize("content", [("csv", CSV), ("json", JSON)], ids=lambda content: content[0])
def test_rows_that_are_not_taken_are_the_same_as_in_one_process(content: tuple[str, str], tmp_path: Path) -> None:
    form, text = content
    path = tmp_path / f"rows.{form}"
    path.write_text(text)
    engines: list[Any] = [LocalEngine(), ShardsInProcess(3, forgetful=True)]
    late = [{"ts": "2026-01-01 00:00:03.9", "k": "late", "v": 1}, {"ts": "2026-01-01 00:00:04", "k": "in time", "v": 1}]
    for engine in engines:
        engine.sql(STREAM)
        engine.query("SELECT k FROM s [RANGE 1 HOUR]", name="q")
        columns = engine.session.catalog.get("s").columns
        for table in chain.from_iterable(read_whole(SourceFolder(str(path)), FileFormat(form), columns)):
            engine.push("s", table)
        engine.step()
        engine.push("s", late)
        engine.step()
    local, shards = engines
    assert bag(shards.rejected("s")) == bag(local.rejected("s"))
    assert bag(shards.late("s")) == bag(local.late("s"))
    found, wanted = shards.status()["streams"]["s"], local.status()["streams"]["s"]
    assert found["rejected"] == wanted["rejected"]
    assert (found["rows"], found["late"]) == (wanted["rows"], wanted["late"]) == (2, 1)
    assert sum(found["rejected"].values()) == 5


def test_rows_of_several_types_are_shown_together(tmp_path: Path) -> None:
    """Columns that came as numbers and as texts are texts; the others stay what they are."""
    engines: list[Any] = [LocalEngine(), ShardsInProcess(2, checkpoint=str(tmp_path))]
    for engine in engines:
        engine.sql("CREATE STREAM s (ts TIMESTAMP, k INT NOT NULL, x ARRAY<INT>, price DOUBLE) TIMESTAMP BY ts")
        engine.query("SELECT k FROM s [RANGE 1 HOUR]", name="q")
        engine.push("s", [{"ts": 1, "price": 1.5, "x": [1]}])
        engine.push("s", [{"ts": 2, "k": 7, "price": "dear", "x": "[2]"}])
        engine.push("s", [{"ts": 3, "k": 7, "price": 2.5}, {"ts": 4_000_000, "k": 7, "price": 2.5}])
        engine.step()
        engine.push("s", [{"ts": "1970-01-01 00:00:01", "k": 8, "price": 1.0}])
        engine.push("s", [{"ts": 2, "k": 8, "price": "1"}])
        engine.step()
    local, shards = engines
    for asked in (local.rejected, shards.rejected):
        rows = sorted(asked("s").to_pylist(), key=lambda row: row["_reason"])
        assert [(row["k"], row["price"], row["x"], row["_reason"]) for row in rows] == [
            (None, "1.5", "[1]", "k is null"),
            (7, "dear", "[2]", "price is not DOUBLE"),
        ]
    for asked in (local.late, shards.late):
        rows = sorted(asked("s").to_pylist(), key=lambda row: row["ts"])
        assert [(row["ts"], row["price"]) for row in rows] == [("1970-01-01 00:00:01", "1.0"), ("2", "1")]
        assert {row["_reason"] for row in rows} == {"behind the watermark"}
    again = ShardsInProcess(2, checkpoint=str(tmp_path))
    assert bag(again.rejected("s")) == bag(shards.rejected("s")) and bag(again.late("s")) == bag(shards.late("s"))


def test_rows_that_several_shards_reject_are_all_shown() -> None:
    """A row after the punctuation of its key is found by the shard of the key."""
    engine = ShardsInProcess(4)
    engine.sql("CREATE STREAM s (ts TIMESTAMP, k INT, done BOOLEAN) TIMESTAMP BY ts PUNCTUATION WHERE done BY k")
    engine.query("SELECT k, COUNT(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k", name="q")
    engine.push("s", [{"ts": k, "k": k, "done": True} for k in range(20)])
    engine.push("s", [{"ts": 100 + k, "k": k, "done": False} for k in range(20)])
    engine.push("s", [{"ts": 1_000, "k": 99, "done": False}])
    engine.step()
    rejected = engine.rejected("s")
    assert rejected is not None
    assert sorted(rejected["k"].to_pylist()) == list(range(20))


def test_streams_whose_names_begin_alike_are_kept_apart() -> None:
    engine = ShardsInProcess(1)
    for name in ("a", '"a/b"'):
        engine.sql(f"CREATE STREAM {name} (ts TIMESTAMP) TIMESTAMP BY ts")
        engine.push(name.strip('"'), [{"ts": "never"}])
    engine.query("SELECT * FROM a [RANGE 1 HOUR]", name="q")
    engine.step()
    assert [engine.rejected(name).num_rows for name in ("a", "a/b")] == [1, 1]  # type: ignore[union-attr]


def test_rejected_rows_of_a_table_are_the_same_as_in_one_process(tmp_path: Path) -> None:
    """Those that do not fit, and those whose key is there already, also when their time comes later, or a restart."""
    rows = tmp_path / "rows"
    rows.mkdir()
    lines = [("1970-01-01 00:00:00", 1, "a"), ("1970-01-01 00:00:00", 1, "b"), ("1970-01-01 00:00:05", 1, "c")]
    content = [f'{{"since": "{since}", "k": {k}, "name": "{name}"}}' for since, k, name in lines]
    (rows / "a.json").write_text("\n".join([*content, '{"k": "many", "name": "d"}']) + "\n")
    place = str(tmp_path / "checkpoint")
    engines: list[Any] = [LocalEngine(), ShardsInProcess(3, checkpoint=place)]
    for engine in engines:
        engine.sql("CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts")
        engine.sql(f"""
            CREATE TABLE t (since TIMESTAMP, k INT PRIMARY KEY, name STRING) FROM json('{rows}') EFFECTIVE BY since
        """)
        engine.query("SELECT name FROM s [RANGE 1 HOUR] JOIN t USING (k)", name="q")
        for second in (1, 9, 10):
            engine.push("s", [{"ts": second * 1_000_000, "k": 1}])
            engine.step()
    local, shards = engines
    assert local.rejected("t").num_rows == 3
    assert bag(shards.rejected("t")) == bag(local.rejected("T")) == bag(shards.rejected("T"))
    assert bag(ShardsInProcess(3, checkpoint=place).rejected("t")) == bag(local.rejected("t"))


def test_a_table_without_rejected_rows() -> None:
    for engine in (LocalEngine(), ShardsInProcess(2)):
        engine.sql("CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts; CREATE TABLE t (k INT PRIMARY KEY)")
        assert engine.rejected("t") is None
        engine.query("SELECT k FROM s [RANGE 1 HOUR]", name="q")
        engine.step()
        assert engine.rejected("t") is None
