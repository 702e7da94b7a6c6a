"""What a micro-batch writes: as much as rows came and went, however much is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from support.shard_runs import ShardsInProcess

KEPT = 20_000  # rows of each stream
FEW = 10
QUERIES = {
    "selection": "SELECT k, v FROM a [RANGE 1 HOUR] WHERE v > 0",
    "rows": "SELECT k, v FROM a [ROWS 100000]",
    "join": "SELECT a.k, a.v, b.v AS w FROM a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE a.k = b.k",
    "negation": "SELECT k, v FROM a [RANGE 1 HOUR] WHERE NOT EXISTS (SELECT * FROM b [RANGE 1 HOUR] WHERE b.k = a.k)",
    "groups": "SELECT k, COUNT(*) AS n, MAX(v) AS m, AVG(v) AS a FROM a [RANGE 1 HOUR] GROUP BY k",
    "slices": "SELECT k, COUNT(*) AS n, MAX(v) AS m FROM a [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY k",
    "distinct": "SELECT DISTINCT k FROM a [RANGE 1 HOUR]",
    "table": "SELECT a.k, known.n FROM a [RANGE 1 HOUR], known WHERE a.k = known.k",
}


def rows(count: int, second: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    times = pa.array(second * 1_000_000 + np.arange(count)).view(pa.timestamp("us", "UTC"))
    return pa.table({"t": times, "k": random.integers(0, KEPT, count), "v": random.normal(100, 1, count)})


def filled(query: str) -> ShardsInProcess:
    """An engine with a large state, in four batches."""
    engine = ShardsInProcess(1)
    for stream in "ab":
        engine.sql(f"CREATE STREAM {stream} (t TIMESTAMP, k BIGINT, v DOUBLE) TIMESTAMP BY t")
    engine.sql("CREATE TABLE known (k BIGINT, n BIGINT)")
    engine.sql("INSERT INTO known VALUES " + ", ".join(f"({key}, {key})" for key in range(2_000)))
    engine.sql(f"CREATE QUERY q AS {query}")
    for batch in range(4):
        stepped(engine, KEPT // 4, batch)
    return engine


def stepped(engine: ShardsInProcess, count: int, second: int) -> int:
    """The bytes that a batch wrote."""
    for place, stream in enumerate("ab"):
        engine.push(stream, rows(count, second, 2 * second + place))
    engine.step()
    written: int = engine.status()["written_bytes"]
    return written


@pytest.mark.parametrize("name", QUERIES)
def test_a_batch_of_few_rows_over_a_large_state_writes_little(name: str) -> None:
    engine = filled(QUERIES[name])
    written = [stepped(engine, FEW, second) for second in range(4, 24)]
    kept = engine.status()["state_bytes"]
    assert kept > 500_000
    assert sum(written) / len(written) < kept / 20, (written, kept)
    engine.close()


def test_written_bytes_are_those_of_the_files_of_the_batch() -> None:
    engine = filled(QUERIES["join"])
    folder = Path(engine.place) / "windrow"
    before = {path for path in folder.rglob("*") if path.is_file()}
    written = stepped(engine, FEW, 4)
    new = {path for path in folder.rglob("*") if path.is_file()} - before
    of_tasks = [path for path in new if path.parent.name in ("pieces", "manifests", "changes", "side_outputs")]
    assert written == sum(path.stat().st_size for path in of_tasks) > 0
    engine.close()
