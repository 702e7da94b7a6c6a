"""Late and rejected rows on shards: kept with their reasons, counted, and the same on the local runtime."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.shard_runs import ShardsInProcess
from windrow.runtime.local import LocalEngine
from windrow.sources.files import read_file

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
        for table in read_file(path, form, columns):
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
