"""How fast the kernels keep an answer up to date, beside DuckDB and Polars computing it once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

import windrow
from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring

if TYPE_CHECKING:
    import polars as pl

THREADS = 1
CHUNK = 100_000  # rows of a stream that are pushed before each step
STEP = 1_000  # microseconds between the rows of a stream
HOSTS = 10_000
MEMORY_OF_A_ROW = 300  # bytes that a side may need, about
SIDES = ("windrow", "duckdb", "polars")
SLIDING = "windrow, a tenth"  # the same query with a window of a tenth of the rows: tuples also leave

Answer = Callable[[], pa.Table]


@dataclass(frozen=True)
class Kernel:
    """One query in three languages; the windows of Windrow's are written {w}."""

    name: str
    streams: Mapping[str, tuple[str, ...]]  # the columns of each, besides ts
    query: str
    duckdb: str
    polars: Callable[[Mapping[str, pl.LazyFrame]], pl.LazyFrame]


class Timed(NamedTuple):
    """How long a side took, its answer, and how much of the time went into showing an answer that was there."""

    seconds: float
    answer: pa.Table
    showing: float = 0.0


TYPES = {"id": "BIGINT", "host": "STRING", "v": "DOUBLE"}


def _kernels() -> tuple[Kernel, ...]:
    import polars as pl

    return (
        Kernel(
            "selection",
            {"s": ("id", "v")},
            "SELECT id, v FROM s {w} WHERE v < 0.5",
            "SELECT id, v FROM s WHERE v < 0.5",
            lambda t: t["s"].filter(pl.col("v") < 0.5).select("id", "v"),
        ),
        Kernel(
            "join",
            {"s": ("id", "v"), "r": ("id", "v")},
            "SELECT s.id, s.v, r.v AS w FROM s {w}, r {w} WHERE s.id = r.id",
            "SELECT s.id, s.v, r.v AS w FROM s, r WHERE s.id = r.id",
            lambda t: t["s"].join(t["r"], on="id").select("id", "v", pl.col("v_right").alias("w")),
        ),
        Kernel(
            "distinct",
            {"s": ("host",)},
            "SELECT DISTINCT host FROM s {w}",
            "SELECT DISTINCT host FROM s",
            lambda t: t["s"].select("host").unique(),
        ),
        Kernel(
            "negation",
            {"s": ("id", "v"), "r": ("id",)},
            "SELECT id, v FROM s {w} WHERE NOT EXISTS (SELECT * FROM r {w} WHERE r.id = s.id)",
            "SELECT id, v FROM s WHERE NOT EXISTS (SELECT * FROM r WHERE r.id = s.id)",
            lambda t: t["s"].join(t["r"], on="id", how="anti").select("id", "v"),
        ),
        Kernel(
            "groupby",
            {"s": ("host", "v")},
            "SELECT host, COUNT(*) AS n, SUM(v) AS total FROM s {w} GROUP BY host",
            "SELECT host, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY host",
            lambda t: t["s"].group_by("host").agg(pl.len().cast(pl.Int64).alias("n"), pl.col("v").sum().alias("total")),
        ),
    )


def run(quick: bool) -> Report:
    return compared(100_000, 1_000_000, quick) if quick else compared(1_000_000, 10_000_000, quick)


def compared(few: int, many: int, quick: bool, repeats: int = 2) -> Report:
    """All kernels on streams of few and of many rows."""
    _one_thread()
    results: list[dict[str, object]] = []
    seconds: dict[tuple[str, int, str], float] = {}
    tables = {rows: _tables(rows) for rows in (few, many)}
    for kernel in _kernels():
        _windrow(kernel, _tables(2 * CHUNK), 2 * CHUNK)  # compiles the loops, which is not counted
        for rows in (few, many):
            measuring(f"{kernel.name}, {rows:,} rows")
            best = _measured(kernel, tables[rows], rows, repeats)
            _check_equal(kernel.name, {side: best[side].answer for side in SIDES})
            for side, timed in best.items():
                seconds[kernel.name, rows, side] = timed.seconds
                results.append(_result(kernel.name, rows, side, timed))
    ratios = _ratios(seconds, few, many)
    _draw(seconds, few, many)
    return Report("kernels", _params(few, many, repeats, quick), results, ratios)


def _one_thread() -> None:
    """Of all sides; Polars asks for it before it is loaded."""
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)
    pa.set_cpu_count(THREADS)


def _params(few: int, many: int, repeats: int, quick: bool) -> dict[str, object]:
    import polars as pl

    return {
        "rows": [few, many],
        "ratios_at": many,
        "growth_from": few,
        "growth_to": many,
        "batch_rows": CHUNK,
        "threads": THREADS,
        "polars_threads": pl.thread_pool_size(),
        "best_of": repeats,
        "quick": quick,
    }


def _ratios(seconds: Mapping[tuple[str, int, str], float], few: int, many: int) -> dict[str, float]:
    names = list(dict.fromkeys(name for name, _, _ in seconds))
    ratios = {
        f"{name}_over_best": seconds[name, many, "windrow"]
        / min(seconds[name, many, side] for side in ("duckdb", "polars"))
        for name in names
    }
    growth = {name: seconds[name, many, "windrow"] / (many / few * seconds[name, few, "windrow"]) for name in names}
    return {**ratios, "growth_10x": max(growth.values())}


def _result(kernel: str, rows: int, side: str, timed: Timed) -> dict[str, object]:
    return {
        "kernel": kernel,
        "rows": rows,
        "side": side,
        "seconds": timed.seconds,
        "showing": timed.showing,
        "rows_per_s": rows / timed.seconds,
        "answer_rows": timed.answer.num_rows,
    }


def _tables(rows: int) -> dict[str, pa.Table]:
    """Two streams that tick together; of `rows` rows each."""
    random = np.random.default_rng(rows)
    names = pa.array([f"10.0.{host >> 8}.{host & 255}" for host in range(HOSTS)])
    ts = pa.array(np.arange(rows) * STEP).view(pa.timestamp("us", "UTC"))
    made = {}
    for name in ("s", "r"):
        host = names.take(pa.array(random.integers(0, HOSTS, rows)))
        made[name] = pa.table({"ts": ts, "id": random.integers(0, rows, rows), "host": host, "v": random.random(rows)})
    return made


def _measured(kernel: Kernel, tables: Mapping[str, pa.Table], rows: int, repeats: int) -> dict[str, Timed]:
    """The best time of each side, taken in turns."""
    used = {name: tables[name].select(["ts", *columns]) for name, columns in kernel.streams.items()}
    sides = {
        "windrow": partial(_windrow, kernel, used, rows),
        "duckdb": partial(_duckdb, kernel, used),
        "polars": partial(_polars, kernel, used),
        SLIDING: partial(_windrow, kernel, used, rows // 10),
    }
    rounds = [{side: _in_turn(measure, rows) for side, measure in sides.items()} for _ in range(repeats)]
    return {side: min((one[side] for one in rounds), key=lambda timed: timed.seconds) for side in sides}


def _in_turn(measure: Callable[[], Timed], rows: int) -> Timed:
    """Measured with memory at hand: a virtual machine may have to fetch what was idle from its host, page by page."""
    np.ones(rows * MEMORY_OF_A_ROW, np.uint8)
    return measure()


def _windrow(kernel: Kernel, tables: Mapping[str, pa.Table], window_rows: int) -> Timed:
    """Rows pushed a chunk at a time, the dataflow taken on after each; then the answer at the last row's time."""
    window = f"[RANGE {window_rows * STEP} MICROSECONDS]"
    engine = windrow.connect(local=True)
    for name, columns in kernel.streams.items():
        declared = "".join(f", {column} {TYPES[column]}" for column in columns)
        engine.sql(f"CREATE STREAM {name} (ts TIMESTAMP{declared}) TIMESTAMP BY ts")
    query = engine.query(kernel.query.replace("{w}", window))
    pushed = {name: tables[name].select(["ts", *columns]) for name, columns in kernel.streams.items()}
    rows = tables["s"].num_rows
    later = pa.table({"ts": pa.array([rows * STEP]).view(pa.timestamp("us", "UTC"))})
    start = process_time()
    for first in range(0, rows, CHUNK):
        for name in kernel.streams:
            engine.push(name, pushed[name].slice(first, CHUNK))
        engine.step()
    for name in kernel.streams:
        engine.push(name, later)  # the next row: everything before it is final
    engine.step()
    kept_up = process_time()
    answer = query.answer()
    return Timed(process_time() - start, answer, process_time() - kept_up)


def _duckdb(kernel: Kernel, tables: Mapping[str, pa.Table]) -> Timed:
    import duckdb

    with duckdb.connect(config={"threads": THREADS}) as connection:
        for name, table in tables.items():
            connection.register(name, table)
        start = process_time()
        answer = connection.sql(kernel.duckdb).to_arrow_table()
        return Timed(process_time() - start, answer)


def _polars(kernel: Kernel, tables: Mapping[str, pa.Table]) -> Timed:
    import polars as pl

    start = process_time()
    frames = {name: pl.DataFrame(table).lazy() for name, table in tables.items()}
    answer = kernel.polars(frames).collect().to_arrow()
    return Timed(process_time() - start, answer)


def _check_equal(name: str, answers: Mapping[str, pa.Table]) -> None:
    """The sides agree: as many rows, and the same sums of their columns."""
    found = {side: _summary(answer) for side, answer in answers.items()}
    for side, summary in found.items():
        if not np.allclose(summary, found["windrow"], rtol=1e-9):
            raise AssertionError(f"{name}: windrow gives {found['windrow']}, {side} {summary}")


def _summary(answer: pa.Table) -> list[float]:
    import polars as pl

    frame = pl.DataFrame(answer)
    numbers = [float(frame[c].sum()) for c in ("id", "v", "w", "n", "total") if c in frame.columns]
    hosts = [float(frame["host"].n_unique())] if "host" in frame.columns else []
    return [float(frame.height), *numbers, *hosts]


def _draw(seconds: Mapping[tuple[str, int, str], float], few: int, many: int) -> None:
    names = list(dict.fromkeys(name for name, _, _ in seconds))
    figure, axes = plotting().subplots(1, 2, figsize=(11, 4.2))
    for axis, rows in zip(axes, (few, many), strict=True):
        _bars(axis, names, [[rows / seconds[name, rows, side] / 1e6 for name in names] for side in SIDES])
        axis.set_title(f"{rows:,} rows a stream")
    axes[0].set_ylabel("million rows of a stream a second")
    axes[0].legend(ncols=3, fontsize=8, loc="upper center")
    figure.suptitle("Answers kept up to date in batches of 100,000 rows, beside answers computed once (1 thread)")
    drawn(figure, "kernels")


def _bars(axis: Any, names: Sequence[str], sides: Sequence[Sequence[float]]) -> None:
    places = np.arange(len(names))
    labels = ("Windrow, incremental", "DuckDB, once", "Polars, once")
    for number, (heights, label) in enumerate(zip(sides, labels, strict=True)):
        bars = axis.bar(places + (number - 1) * 0.27, heights, 0.27, label=label)
        axis.bar_label(bars, fmt="%.3g", fontsize=7)
    axis.set_xticks(places, names)
    axis.set_yscale("log")
    axis.margins(y=0.2)
