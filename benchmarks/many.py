"""One to 1,000 aggregate queries over one stream: in process and on Spark, created together and one by one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.figure import drawn, plotting
from benchmarks.many_queries import BOUNDS, GROUPS, PIECE, SPAN, asked, by_others, half, together
from benchmarks.on_spark.many_on_spark import native, windrow_on_spark, written
from benchmarks.runner import Report, measuring
from benchmarks.spark_runs import in_process_of_its_own

Result = dict[str, Any]
COUNTS = (1, 10, 100, 1_000)
FEWER = 10  # queries of a quick run, one by one
ON_SPARK = 12_500  # rows of a micro-batch


def run(quick: bool) -> Report:
    """A quick run has a tenth of the rows, and no Spark."""
    rows = 100_000 if quick else 1_000_000
    results = [_one("windrow", count, together, count, rows) for count in COUNTS]
    fewer = FEWER if quick else 100
    results += [_one(how, fewer, half, fewer, rows, how == "one by one") for how in ("created together", "one by one")]
    results += [_one(side, 100, by_others, side, 100, rows) for side in ("duckdb", "polars")]
    if not quick:
        results += _on_spark()
    ratios = _ratios({(str(one["side"]), int(str(one["queries"]))): one for one in results}, fewer)
    _draw(results)
    params = {"rows": rows, "span": SPAN, "groups": GROUPS, "bounds": list(BOUNDS), "rows_a_push": PIECE}
    return Report("many", {**params, "rows_on_spark": ON_SPARK, "one_by_one": fewer, "quick": quick}, results, ratios)


def _one(side: str, count: int, does: Callable[..., Result], *arguments: object) -> Result:
    measuring(f"{side}, {count:,} queries")
    return {"side": side, "queries": count, **in_process_of_its_own(does, *arguments)}


def _on_spark() -> list[Result]:
    found = []
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as place:
        files = written(Path(place) / "rows", ON_SPARK)
        for count in COUNTS:
            texts = [one.text for one in asked(count)]
            found.append(_one("windrow on spark", count, windrow_on_spark, files, f"{place}/{count}", texts))
        for count in (1, 10):
            found.append(_one("native", count, native, count, f"{place}/native{count}"))
    return found


def _ratios(by: Mapping[tuple[str, int], Result], fewer: int) -> dict[str, float]:
    def seconds(side: str, count: int) -> float:
        return float(by[side, count]["seconds"])

    apart, joint = by["one by one", fewer], by["created together", fewer]
    best = min(seconds(side, 100) for side in ("duckdb", "polars"))
    ratios = {f"local_{count}_over_1": seconds("windrow", count) / seconds("windrow", 1) for count in (100, 1_000)}
    ratios["apart_over_together"] = apart["seconds"] / joint["seconds"]
    ratios["state_apart_over_together"] = apart["state_rows"] / joint["state_rows"]
    ratios["best_over_windrow_100"] = best / seconds("windrow", 100)
    if ("native", 1) in by:
        on_spark = "windrow on spark"
        ratios |= {f"spark_{count}_over_1": seconds(on_spark, count) / seconds(on_spark, 1) for count in (100, 1_000)}
        ratios["native_10_over_1"] = seconds("native", 10) / seconds("native", 1)
    return ratios


def _draw(results: list[Result]) -> None:
    figure, axes = plotting().subplots(figsize=(6, 3.5))
    for side in ("windrow", "windrow on spark", "native"):
        points = [(one["queries"], one["seconds"]) for one in results if one["side"] == side]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=side)
    axes.set(xscale="log", yscale="log", xlabel="queries", ylabel="seconds")
    axes.legend()
    drawn(figure, "many")
