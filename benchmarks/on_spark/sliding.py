"""Sliding aggregates of keys on Spark: Windrow beside Spark's own window()."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring
from benchmarks.spark_runs import (
    Times,
    readings,
    run_native,
    run_windrow,
    session,
    stream_of,
    warm_seconds,
    write_files,
)

RANGE = 600  # seconds
KEYS = 1_000
SLIDES = (600, 60, 10, 1)  # seconds
STORES = {
    "in memory": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
BATCHES = 4


def run(quick: bool) -> Report:
    results: list[dict[str, object]] = []
    with session() as (spark, times, folder):
        for slide in SLIDES:
            rows = _rows(slide, quick)
            files = write_files(folder / f"rows-{slide}", readings(BATCHES, rows, RANGE // 2, KEYS))
            results += _compared(spark, times, folder / str(slide), files, slide, rows, quick)
        same, many = folder / "rows-60", _rows(60, quick)
        results.append(_windrow(spark, folder / "again", str(same), 1, many, "windrow, as many rows"))
    seconds = {(str(one["side"]), one["slide"]): float(str(one["seconds"])) for one in results}
    ratios = {
        f"native_over_windrow_{RANGE // slide}": _native(seconds, slide) / seconds["windrow", slide] for slide in SLIDES
    }
    ratios["windrow_600_over_10"] = seconds["windrow, as many rows", 1] / seconds["windrow", 60]
    _draw(results)
    params = {"range": RANGE, "keys": KEYS, "batches": BATCHES, "quick": quick}
    return Report("sliding", params, results, ratios)


def _rows(slide: int, quick: bool) -> int:
    """Rows of a micro-batch: fewer where Spark's own way copies each of them 600 times."""
    few, many = (4_000, 100_000) if quick else (150_000, 1_000_000)
    return few if slide == 1 else many


def _compared(
    spark: SparkSession, times: Times, folder: Path, files: str, slide: int, rows: int, quick: bool
) -> list[dict[str, object]]:
    found = []
    stores = {"in memory": STORES["in memory"]} if quick else STORES
    for name, store in stores.items():
        measuring(f"Spark's window(), every {slide} s, state {name}")
        place = folder / f"native-{name.replace(' ', '-')}"
        run_native(windows(stream_of(spark, files), slide), place / "checkpoint", place / "out", store)
        found.append(_result(f"native, state {name}", slide, rows, times.last()))
    found.append(_windrow(spark, folder, files, slide, rows, "windrow"))
    check_same(folder / "native-in-memory" / "out", folder / "windrow")
    return found


def _windrow(spark: SparkSession, folder: Path, files: str, slide: int, rows: int, side: str) -> dict[str, object]:
    measuring(f"Windrow, every {slide} s, {rows:,} rows a micro-batch")
    query = f"SELECT k, AVG(v) AS a, MAX(v) AS m, COUNT(*) AS n FROM s [RANGE {RANGE} SECONDS SLIDE {slide} SECONDS]"
    status = run_windrow(spark, {"s": files}, f"{query} GROUP BY k", folder / "checkpoint", folder / "windrow", None)
    return _result(side, slide, rows, warm_seconds(status))


def windows(rows: DataFrame, slide: int) -> DataFrame:
    window = F.window("ts", f"{RANGE} seconds", f"{slide} seconds").alias("w")
    grouped = rows.withWatermark("ts", "0 seconds").groupBy(window, "k")
    return grouped.agg(F.avg("v").alias("a"), F.max("v").alias("m"), F.count("*").alias("n")).select(
        "k", "a", "m", "n", F.col("w.end").alias("_window_end")
    )


def _result(side: str, slide: int, rows: int, seconds: list[float]) -> dict[str, object]:
    mean = sum(seconds) / len(seconds)
    return {"side": side, "slide": slide, "rows_a_batch": rows, "seconds": mean, "rows_per_second": rows / mean}


def _native(seconds: dict[tuple[str, object], float], slide: int) -> float:
    return min(took for (side, of), took in seconds.items() if side.startswith("native") and of == slide)


def check_same(native: Path, ours: Path) -> None:
    """Both have the same answers at every window end that both have emitted."""
    one, other = (_answers(folder) for folder in (native, ours))
    last = min(max(end for end, _ in side) for side in (one, other))
    one, other = ({key: row for key, row in side.items() if key[0] <= last} for side in (one, other))
    assert one.keys() == other.keys(), "not the same windows and keys"
    for key, (average, largest, count) in one.items():
        mean, most, number = other[key]
        assert (largest, count) == (most, number) and abs(average - mean) <= 1e-9 * abs(average), key


def _answers(folder: Path) -> dict[tuple[int, int], tuple[float, float, int]]:
    files = [str(path) for path in sorted(folder.glob("part-*.parquet"))]
    table = ds.dataset(files).to_table()
    ends = table["_window_end"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    columns = (table[name].to_pylist() for name in ("k", "a", "m", "n"))
    return {(end, k): (a, m, n) for end, k, a, m, n in zip(ends, *columns, strict=True)}


def _draw(results: list[dict[str, object]]) -> None:
    figure, axes = plotting().subplots(figsize=(7, 4))
    for side in dict.fromkeys(str(one["side"]) for one in results):
        points = [one for one in results if one["side"] == side]
        slices = [RANGE // int(str(one["slide"])) for one in points]
        axes.plot(slices, [one["rows_per_second"] for one in points], marker="o", label=side)
    axes.set(xscale="log", yscale="log", xlabel="range / slide", ylabel="rows a second")
    axes.legend()
    drawn(figure, "sliding")
