"""Thousands of selections of one stream: rows a second through the index of their predicates, and one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, process_time
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import windrow
from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring
from windrow.operators.selections import predicate_index
from windrow.sharing import indexed_selections

BATCH = 10_000
SPAN = 1_000  # of the values that are compared
LENGTHS = (1, 5, 10)  # minutes of windows
WARM = 2  # batches before time is taken


def run(quick: bool) -> Report:
    sizes = (10, 100, 1_000) if quick else (2, 4, 8, 16, 10, 100, 1_000, 100_000)
    batches = 3 if quick else 6
    results: list[dict[str, object]] = []
    rates: dict[tuple[str, int], float] = {}
    for queries in sizes:
        rows = list(_batches(queries, batches + WARM))
        found = {}
        for way in ("index", "each") if queries <= 1_000 else ("index",):
            measuring(f"{queries} selections: {way}")
            seconds, creating, found[way] = _measured(queries, rows, way)
            rates[way, queries] = batches * BATCH / seconds
            figures = {"rows_a_second": rates[way, queries], "ms_a_batch": 1_000 * seconds / batches}
            results.append({"queries": queries, "way": way, **figures, "ms_to_create": 1_000 * creating / queries})
        assert len({tuple(counts) for counts in found.values()}) == 1, "the answers differ"
    ratios = {f"index_over_each_{n}": rates["index", n] / rates["each", n] for n in sizes if ("each", n) in rates}
    if not quick:
        ratios["index_100000_over_1000"] = rates["index", 100_000] / rates["index", 1_000]
    _draw(results)
    params: dict[str, object] = {"batch": BATCH, "batches": batches, "time": "processor", "quick": quick}
    return Report("filters", params, results, ratios)


def _texts(queries: int) -> Iterator[str]:
    """A row satisfies about one of them, however many there are: half ask for a key, half for a stretch of values."""
    for number in range(queries):
        length, low = LENGTHS[number % len(LENGTHS)], SPAN * number / queries
        by_key = f"k = {number} AND x > {SPAN // 2}"
        by_value = f"x >= {low:.6f} AND x < {low + SPAN / queries:.6f} AND name IN ('a', 'b')"
        yield f"SELECT ts, k, x FROM s [RANGE {length} MINUTES] WHERE {by_value if number % 2 else by_key}"


def _batches(queries: int, count: int) -> Iterator[pa.Table]:
    random = np.random.default_rng(queries)
    names = pa.array(["a", "b", "c"])
    for number in range(count):
        ts = np.arange(number * BATCH, (number + 1) * BATCH) * 1_000
        yield pa.table(
            {
                "ts": pa.array(ts, pa.timestamp("us", "UTC")),
                "k": random.integers(0, queries, BATCH),
                "x": random.random(BATCH) * SPAN,
                "name": names.take(pa.array(random.integers(0, 3, BATCH))),
            }
        )


def _measured(queries: int, rows: list[pa.Table], way: str) -> tuple[float, float, list[int]]:
    """Seconds for all batches but the first ones, seconds of creating, and how many rows some queries have had."""
    with _forced(way):
        engine = windrow.connect(local=True)
        engine.sql("CREATE STREAM s (ts TIMESTAMP, k BIGINT, x DOUBLE, name VARCHAR) TIMESTAMP BY ts")
        began = perf_counter()
        texts = _texts(queries)
        engine.sql(";".join(f"CREATE QUERY q{number} AS {text}" for number, text in enumerate(texts)))
        created = perf_counter() - began
        for table in rows[:WARM]:
            engine.push("s", table)
            engine.step()
        start = process_time()
        for table in rows[WARM:]:
            engine.push("s", table)
            engine.step()
        seconds = process_time() - start
        looked_at = range(0, queries, max(1, queries // 50))
        counts = [engine[f"q{number}"].changes().num_rows for number in looked_at]
        engine.close()
    return seconds, created, counts


@contextmanager
def _forced(way: str) -> Iterator[None]:
    """Let the planner have no choice."""
    fewest = 1 if way == "index" else sys.maxsize
    with patch.object(indexed_selections, "WORTH_AN_INDEX", fewest), patch.object(predicate_index, "FEWEST", fewest):
        yield


def _draw(results: list[dict[str, object]]) -> None:
    figure, axis = plotting().subplots(figsize=(7, 4))
    for way in ("index", "each"):
        points = sorted((one["queries"], one["ms_a_batch"]) for one in results if one["way"] == way)
        axis.loglog(*zip(*points, strict=True), marker="o", label=way)
    axis.set_xlabel("selections")
    axis.set_ylabel(f"ms for {BATCH:,} rows")
    axis.legend()
    drawn(figure, "filters")
