"""Ten micro-batches from start to end, the first one too: Windrow beside Spark's own window()."""

from __future__ import annotations

import tempfile
from pathlib import Path

import windrow
from benchmarks.figure import drawn, plotting
from benchmarks.on_spark.sliding import check_same, windows
from benchmarks.runner import Report, measuring
from benchmarks.spark_runs import (
    in_process_of_its_own,
    plain_session,
    readings,
    run_native,
    run_on,
    stream_of,
    write_files,
)
from windrow.clock import monotonic

RANGE = 600  # seconds
BATCHES, SECONDS = 10, 360  # of time in a micro-batch
KEYS = 1_000
SLIDES = (60, 10, 1)  # seconds
SIDES = ("native", "windrow")


def run(quick: bool) -> Report:
    results: list[dict[str, object]] = []
    ratios: dict[str, float] = {}
    for slide in SLIDES:
        rows = _rows(slide, quick)
        with tempfile.TemporaryDirectory(prefix="windrow-bench-") as place:
            files = write_files(Path(place) / "rows", readings(BATCHES, rows, SECONDS, KEYS))
            came: dict[str, tuple[float, float]] = {}
            for side, measured in zip(SIDES, (native, ours), strict=True):
                measuring(f"{side}, every {slide} s, {BATCHES} micro-batches of {rows:,} rows")
                came[side] = in_process_of_its_own(measured, files, f"{place}/{side}", slide)
            check_same(Path(place) / "native" / "out", Path(place) / "windrow" / "out")
        for side, (start, seconds) in came.items():
            results.append({"side": side, "slide": slide, "rows_a_batch": rows, "start": start, "seconds": seconds})
        (native_start, native_took), (our_start, we_took) = (came[side] for side in SIDES)
        ratios[f"native_over_windrow_{slide}s"] = native_took / we_took
        ratios[f"native_over_windrow_{slide}s_with_start"] = (native_start + native_took) / (our_start + we_took)
    _draw(results)
    params = {"range": RANGE, "keys": KEYS, "batches": BATCHES, "seconds_a_batch": SECONDS, "quick": quick}
    return Report("ten", params, results, ratios)


def _rows(slide: int, quick: bool) -> int:
    """Rows of a micro-batch; a quick run has next to none where Spark's own way copies each of them 600 times."""
    if not quick:
        return 100_000
    return 100 if slide == 1 else 20_000


def native(files: str, place: str, slide: int) -> tuple[float, float]:
    """Seconds until Spark is there, and from then on until all answers are written."""
    began = monotonic()
    spark = plain_session()
    ready = monotonic()
    run_native(windows(stream_of(spark, files), slide), Path(place) / "checkpoint", Path(place) / "out")
    done = monotonic()
    spark.stop()
    return ready - began, done - ready


def ours(files: str, place: str, slide: int) -> tuple[float, float]:
    """The same, until the engine is there and from then on."""
    query = f"SELECT k, AVG(v) AS a, MAX(v) AS m, COUNT(*) AS n FROM s [RANGE {RANGE} SECONDS SLIDE {slide} SECONDS]"
    began = monotonic()
    engine = windrow.connect(checkpoint=f"{place}/checkpoint")
    ready = monotonic()
    run_on(engine, {"s": files}, f"{query} GROUP BY k", Path(place) / "out")
    return ready - began, monotonic() - ready


def _draw(results: list[dict[str, object]]) -> None:
    figure, axes = plotting().subplots(figsize=(6, 3.5))
    for place, side in enumerate(SIDES):
        points = [float(str(one["seconds"])) for one in results if one["side"] == side]
        axes.bar([number + place * 0.4 for number in range(len(SLIDES))], points, 0.4, label=side)
    axes.set(yscale="log", xlabel="slide", ylabel="seconds from start to end")
    axes.set_xticks([number + 0.2 for number in range(len(SLIDES))], [f"{slide} s" for slide in SLIDES])
    axes.legend()
    drawn(figure, "ten")
