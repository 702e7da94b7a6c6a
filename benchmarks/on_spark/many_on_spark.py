"""The part of `many` on Spark: micro-batches of one stream for many queries, and Spark's own windows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as f

import windrow
from benchmarks.many_queries import Asked, asked, stream_rows
from benchmarks.spark_runs import plain_session, run_native, stream_of, warm_seconds, write_files
from windrow.clock import monotonic

BATCHES, SECONDS = 12, 120  # and the time in each
NATIVE_ROWS = 50_000
NATIVE_FILES = 5


def written(folder: Path, rows: int) -> str:
    """A file for every micro-batch."""
    return write_files(folder, _cut(stream_rows(BATCHES * rows, BATCHES * SECONDS), BATCHES))


def _cut(table: pa.Table, pieces: int) -> list[pa.Table]:
    size = len(table) // pieces
    return [table.slice(number * size, size) for number in range(pieces)]


def windrow_on_spark(files: str, checkpoint: str, texts: Sequence[str]) -> dict[str, Any]:
    """Seconds of a warm micro-batch, memory of this process, Spark and the shard servers, and the checkpoint."""
    engine = windrow.connect(checkpoint=checkpoint)
    columns = "ts TIMESTAMP, k BIGINT, v DOUBLE"
    engine.sql(f"CREATE STREAM s ({columns}) FROM parquet('{files}', max_files => 1) TIMESTAMP BY ts")
    for number, text in enumerate(texts):
        engine.sql(f"CREATE QUERY q{number} AS {text}")
    engine.step()
    status, megabytes = engine.status(), _resident()
    engine.close()
    size = sum(path.stat().st_size for path in Path(checkpoint).rglob("*") if path.is_file())
    return {"seconds": median(warm_seconds(status)), "megabytes": megabytes, "checkpoint_bytes": size}


def _resident() -> float:
    """Of this process and all below it, in megabytes."""
    parents, pages = {}, {}
    for found in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = found.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents[int(found.parent.name)], pages[int(found.parent.name)] = int(fields[1]), int(fields[21])
    own = {int(re.findall(r"\d+", Path("/proc/self/stat").read_text())[0])}
    while more := {process for process, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(pages.get(process, 0) for process in own) * 4_096 / 2**20


def native(count: int, place: str) -> dict[str, Any]:
    """Spark's own queries, one after the other over the same files, until all have ended."""
    spark = plain_session()
    files = write_files(Path(place) / "rows", _cut(stream_rows(NATIVE_ROWS), NATIVE_FILES))
    rows = stream_of(spark, files).withWatermark("ts", "0 seconds")
    began = monotonic()
    for number, one in enumerate(asked(count)):
        run_native(_windows(rows, one), Path(place) / f"checkpoint{number}", Path(place) / f"out{number}")
    seconds = monotonic() - began
    spark.stop()
    return {"seconds": seconds}


def _windows(rows: Any, one: Asked) -> Any:
    if one.bound is not None:
        rows = rows.filter(f.col("v") > one.bound)
    window = f.window("ts", f"{one.minutes} minutes", f"{one.slide} seconds")
    return rows.groupBy(window, "k").agg(f.expr(f"{one.aggregate.lower()} AS a"))
