"""How time on Spark grows with rows, keys, shards and the size of micro-batches, and what state takes."""

from __future__ import annotations

from typing import Any

from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring
from benchmarks.spark_runs import readings, run_windrow, session, warm_seconds, write_files

QUERY = "SELECT k, AVG(v) AS a, MAX(v) AS m, COUNT(*) AS n FROM s [RANGE 10 MINUTES SLIDE 60 SECONDS] GROUP BY k"
JOIN = """
SELECT a.k, a.v AS v, b.v AS w FROM a [RANGE 5 MINUTES], b [RANGE 5 MINUTES] WHERE a.k = b.k AND a.v < b.v - 200
"""
KEYS = 1_000


def run(quick: bool) -> Report:
    most = 1_000_000 if quick else 20_000_000
    results: list[dict[str, object]] = []
    with session() as (spark, _, folder):

        def measured(what: str, value: int, rows: int, batch: int, keys: int, shards: int | None) -> float:
            measuring(f"{what} {value:,}")
            place = folder / f"{what}-{value}"
            batches = max(2, rows // batch)
            files = write_files(place / "rows", readings(batches, batch, 300, keys))
            seconds = warm_seconds(run_windrow(spark, {"s": files}, QUERY, place / "checkpoint", None, shards))
            total = sum(seconds) * batches / len(seconds)
            results.append({what: value, "seconds": total, "rows_per_second": batches * batch / total})
            return total

        batch = most // 20
        by_rows = [measured("rows", rows, rows, batch, KEYS, None) for rows in (most // 20 * 2, most // 4, most)]
        by_keys = [measured("keys", keys, most // 5, batch, keys, None) for keys in (1_000, 30_000, 1_000_000)]
        for shards in (1, 2, 4, 8):
            measured("shards", shards, most // 5, batch, KEYS, shards)
        for size in (batch // 10, batch // 2, batch * 2):
            measured("batch", size, most // 5, size, KEYS, None)
        state = _state_of_a_row(spark, folder, quick)
    _draw(results)
    ratios = {
        "rows_growth": (by_rows[-1] / most) / (by_rows[0] / (most // 20 * 2)),
        "keys_growth": by_keys[-1] / by_keys[0],
        "state_bytes_per_row": state,
    }
    return Report("scaling", {"most_rows": most, "quick": quick}, results, ratios)


def _state_of_a_row(spark: Any, folder: Any, quick: bool) -> float:
    """A join that keeps all rows of its windows and finds next to nothing: bytes of state over rows that are kept."""
    measuring("state of a row")
    rows = 50_000 if quick else 500_000
    files = {
        name: write_files(folder / f"state-{name}", readings(2, rows, 150, rows, seed, popular=False))
        for name, seed in (("a", 1), ("b", 9))
    }
    status = run_windrow(spark, files, JOIN, folder / "state", None, None)
    return float(status["state_bytes"]) / (4 * rows)


def _draw(results: list[dict[str, object]]) -> None:
    figure, panels = plotting().subplots(1, 4, figsize=(12, 3.2), sharey=True)
    for axes, what in zip(panels, ("rows", "keys", "shards", "batch"), strict=True):
        points = [one for one in results if what in one]
        values = [int(str(one[what])) for one in points]
        axes.plot(values, [one["rows_per_second"] for one in points], marker="o")
        axes.set(xscale="log", xlabel="rows a micro-batch" if what == "batch" else what)
        axes.set_xticks(values, [f"{value / 1e6:g} M" if value >= 100_000 else f"{value:,}" for value in values])
        axes.minorticks_off()
    panels[0].set(ylabel="rows a second", ylim=(0, None))
    drawn(figure, "scaling")
