"""A window join of two streams on Spark: Windrow beside Spark's own join of streams."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.runner import Report, measuring
from benchmarks.spark_runs import readings, run_native, run_windrow, session, stream_of, warm_seconds, write_files

KEYS = 10_000
BATCHES = 4
WINDOW = 60  # seconds
SECONDS = 300  # of a micro-batch
QUERY = f"""
SELECT a.k, a.v AS v, b.v AS w FROM a [RANGE {WINDOW} SECONDS], b [RANGE {WINDOW} SECONDS] WHERE a.k = b.k
"""


def run(quick: bool) -> Report:
    rows = 50_000 if quick else 200_000
    with session() as (spark, times, folder):
        files = {
            name: write_files(folder / name, readings(BATCHES, rows, SECONDS, KEYS, seed, popular=False))
            for name, seed in (("a", 1), ("b", 100))
        }
        measuring("Spark's join of streams")
        run_native(_joined(spark, files), folder / "native" / "checkpoint", folder / "native" / "out")
        native = _mean(times.last())
        measuring("Windrow")
        status = run_windrow(spark, files, QUERY, folder / "windrow" / "checkpoint", folder / "windrow" / "out", None)
        ours = _mean(warm_seconds(status))
        final = min(stream["watermark"] for stream in status["streams"].values())
        pairs = _rows(folder / "windrow" / "out", final)
        assert pairs == _rows(folder / "native" / "out", final), "not the same number of pairs"
    results = [
        {"side": side, "seconds": took, "rows_per_second": 2 * rows / took}
        for side, took in (("native", native), ("windrow", ours))
    ]
    params = {"rows_a_batch": rows, "batches": BATCHES, "keys": KEYS, "window": WINDOW, "pairs": pairs, "quick": quick}
    return Report("sparkjoin", params, results, {"native_over_windrow": native / ours})


def _joined(spark: SparkSession, files: dict[str, str]) -> DataFrame:
    """The same pairs: those less than a window apart."""
    sides = []
    for name in ("a", "b"):
        rows = stream_of(spark, files[name]).withWatermark("ts", "0 seconds")
        sides.append(rows.select(*(F.col(column).alias(f"{name}_{column}") for column in ("ts", "k", "v"))))
    interval = F.expr(f"INTERVAL {WINDOW} SECONDS")
    near = (F.col("b_ts") > F.col("a_ts") - interval) & (F.col("b_ts") < F.col("a_ts") + interval)
    return (
        sides[0]
        .join(sides[1], (F.col("a_k") == F.col("b_k")) & near)
        .select("a_k", "a_v", "b_v", F.greatest("a_ts", "b_ts").alias("_ts"))
    )


def _rows(folder: Path, before: int) -> int:
    """Pairs that began before a time: Windrow tells what is final, Spark what it has."""
    files = [str(path) for path in folder.glob("part-*.parquet")]
    times = ds.dataset(files).to_table(["_ts"])["_ts"].cast(pa.timestamp("us")).cast(pa.int64())
    return int(np.count_nonzero(times.to_numpy() < before))


def _mean(seconds: list[float]) -> float:
    return sum(seconds) / len(seconds)
