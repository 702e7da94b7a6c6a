"""The whole pipeline on Spark beside the cheapest pass that could be: read, spread by key, count in Python."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from benchmarks.runner import Report, measuring
from benchmarks.spark_runs import readings, run_native, run_windrow, session, stream_of, warm_seconds, write_files

KEYS = 1_000
BATCHES = 4
QUERY = "SELECT k, AVG(v) AS a, COUNT(*) AS n FROM s [RANGE 10 MINUTES SLIDE 60 SECONDS] GROUP BY k"


def run(quick: bool) -> Report:
    rows = 250_000 if quick else 2_000_000
    with session() as (spark, times, folder):
        files = write_files(folder / "rows", readings(BATCHES, rows, 300, KEYS))
        measuring("the cheapest pass")
        spread = stream_of(spark, files).repartition(spark.sparkContext.defaultParallelism, "k")
        run_native(spread.mapInArrow(_counted, "n bigint"), folder / "floor", None)
        floor = _mean(times.last())
        measuring("Windrow")
        ours = _mean(warm_seconds(run_windrow(spark, {"s": files}, QUERY, folder / "windrow", None, None)))
    results = [
        {"side": side, "seconds": seconds, "rows_per_second": rows / seconds}
        for side, seconds in (("cheapest pass", floor), ("windrow", ours))
    ]
    params = {"rows_a_batch": rows, "batches": BATCHES, "keys": KEYS, "quick": quick}
    return Report("floor", params, results, {"of_floor": floor / ours})


def _counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch([pa.array([sum(batch.num_rows for batch in batches)])], names=["n"])


def _mean(seconds: list[float]) -> float:
    return sum(seconds) / len(seconds)
