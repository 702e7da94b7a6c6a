"""Sliding aggregates of keys in one process, all answers written: Windrow, DuckDB and Polars."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import windrow
from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring

THREADS = 1
TURNS = 3
SPAN = 3_600  # seconds that the rows are spread over
RANGE = 600
SLIDES = (60, 10, 1)
KEYS, KEYS_OF_MANY = 1_000, 100
LENGTHS = range(1, 101)  # minutes
REFRESHES = (10, 12, 15, 20, 30, 60, 120, 300)  # seconds
CHUNK, CHUNK_OF_MANY = 100_000, 250_000  # rows that are pushed before each step


@dataclass(frozen=True)
class Asked:
    """avg, max and count of each key over the last `length` seconds, every `slide`."""

    length: int
    slide: int


def _many() -> Iterator[Asked]:
    """A query for each length, refreshed at one after the other of the times that divide it."""
    for minutes in LENGTHS:
        fitting = [slide for slide in REFRESHES if 60 * minutes % slide == 0]
        yield Asked(60 * minutes, fitting[minutes % len(fitting)])


Side = Callable[[pa.Table, Sequence[Asked], Path], None]


def run(quick: bool) -> Report:
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)  # read when Polars is loaded
    import polars as pl

    pa.set_cpu_count(THREADS)
    count = 100_000 if quick else 1_000_000
    sides: dict[str, Side] = {"windrow": _windrow, "duckdb": _duckdb, "polars": _polars}
    _windrow(_rows(100_000, KEYS), (Asked(RANGE, 60), Asked(RANGE, 10)), _empty())  # compiles
    results = []
    works: dict[str, tuple[pa.Table, tuple[Asked, ...]]] = {}
    works |= {f"{slide}s": (_rows(count, KEYS), (Asked(RANGE, slide),)) for slide in SLIDES}
    works["100_queries"] = (_rows(count, KEYS_OF_MANY), tuple(_many()))
    for work, (rows, asked) in works.items():
        turns = 1 if quick or len(asked) > 1 else TURNS
        for side, does in sides.items():
            every = [_measured(work, side, does, rows, asked) for _ in range(turns)]
            results.append(min(every, key=lambda one: float(str(one["seconds"]))))
        of_work = [one for one in results if one["work"] == work]
        assert len({(one["answers"], one["digest"]) for one in of_work}) == 1, f"the answers differ: {of_work}"
    seconds = {(one["work"], one["side"]): float(str(one["seconds"])) for one in results}
    ratios = {}
    for work in works:
        best = min(seconds[work, side] for side in ("duckdb", "polars"))
        ratio, name = seconds[work, "windrow"] / best, f"windrow_over_best_{work}"
        if work == "100_queries":
            ratio, name = 1 / ratio, f"best_over_windrow_{work}"
        ratios[name] = ratio
    _draw(results)
    params = {"rows": count, "keys": KEYS, "keys_of_100_queries": KEYS_OF_MANY, "span": SPAN, "range": RANGE}
    params |= {"rows_a_push": CHUNK, "rows_a_push_of_100_queries": CHUNK_OF_MANY}
    return Report("windows", {**params, "polars_threads": pl.thread_pool_size(), "quick": quick}, results, ratios)


def _rows(count: int, keys: int) -> pa.Table:
    random = np.random.default_rng(3)
    times = np.sort(random.integers(0, SPAN * 1_000_000, count))
    columns = {"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": random.integers(0, keys, count)}
    return pa.table({**columns, "v": random.random(count).round(6)})


def _measured(work: str, side: str, does: Side, rows: pa.Table, asked: Sequence[Asked]) -> dict[str, object]:
    measuring(f"{work}: {side}")
    folder = _empty()
    try:
        start = process_time()
        does(rows, asked, folder)
        seconds = process_time() - start
        found = [_answers(folder / str(number)) for number in range(len(asked))]
        totals = np.sum([_digest(table) for table in found], axis=0)
    finally:
        shutil.rmtree(folder)
    return {
        "work": work,
        "side": side,
        "seconds": seconds,
        "answers": int(totals[0]),
        "digest": float(f"{totals[1]:.9g}"),
    }


def _answers(folder: Path) -> pa.Table:
    files = sorted(folder.glob("*.parquet"))
    return pa.concat_tables([pq.read_table(file).select(["k", "a", "m", "n"]) for file in files])


def _digest(table: pa.Table) -> tuple[int, float]:
    """Rows, and a sum that all sides have to agree on."""
    a, m, n = (table[name].to_numpy() for name in ("a", "m", "n"))
    return table.num_rows, float((a + m + n).sum())


def _empty() -> Path:
    return Path(tempfile.mkdtemp(prefix="windows-"))


def _windrow(rows: pa.Table, asked: Sequence[Asked], folder: Path) -> None:
    engine = windrow.connect(local=True)
    engine.sql("CREATE STREAM s (ts TIMESTAMP, k BIGINT, v DOUBLE) TIMESTAMP BY ts")
    for number, one in enumerate(asked):
        engine.sql(
            f"CREATE QUERY q{number} AS SELECT k, AVG(v) AS a, MAX(v) AS m, COUNT(*) AS n"
            f" FROM s [RANGE {one.length} SECONDS SLIDE {one.slide} SECONDS] GROUP BY k"
            f" INTO parquet('{folder / str(number)}')"
        )
    piece = CHUNK if len(asked) == 1 else CHUNK_OF_MANY
    for start in range(0, len(rows), piece):
        engine.push("s", rows.slice(start, piece))
        engine.step()
    engine.end("s")
    engine.step()
    engine.close()


def _duckdb(rows: pa.Table, asked: Sequence[Asked], folder: Path) -> None:
    """Rows are put together by slide first; the slices of a window are found as it is quicker, by copies or a frame."""
    import duckdb

    with duckdb.connect(config={"threads": THREADS}) as connection:
        connection.register("rows_in", rows)
        connection.execute("CREATE TABLE s AS SELECT epoch_us(ts) AS ts, k, v FROM rows_in")
        for number, one in enumerate(asked):
            (folder / str(number)).mkdir()
            sql = _by_copies(one) if one.length <= 20 * one.slide else _by_frames(one)
            connection.execute(f"COPY ({sql}) TO '{folder / str(number)}/part.parquet' (FORMAT parquet)")


def _by_copies(one: Asked) -> str:
    tick = one.slide * 1_000_000
    return f"""
        WITH slices AS ({_slices(tick)}), copies AS (SELECT unnest(range(1, {one.length // one.slide + 1})) AS ahead)
        SELECT k, sum(total) / sum(n) AS a, max(m) AS m, sum(n)::BIGINT AS n,
            make_timestamp((slice + ahead) * {tick}) AS _window_end
        FROM slices, copies GROUP BY k, slice + ahead
    """


def _by_frames(one: Asked) -> str:
    tick, copies = one.slide * 1_000_000, one.length // one.slide
    return f"""
        WITH slices AS ({_slices(tick)}),
        edges AS (SELECT min(slice) AS first, max(slice) + {copies} AS beyond FROM slices),
        ends AS (SELECT unnest(range(first, beyond)) AS e FROM edges),
        grid AS (SELECT * FROM (SELECT DISTINCT k FROM slices), ends),
        found AS (
            SELECT grid.k, e, sum(total) OVER w / sum(n) OVER w AS a, max(m) OVER w AS m, sum(n) OVER w AS n
            FROM grid LEFT JOIN slices ON grid.k = slices.k AND slice = e
            WINDOW w AS (PARTITION BY grid.k ORDER BY e ROWS BETWEEN {copies - 1} PRECEDING AND CURRENT ROW)
        )
        SELECT k, a, m, n::BIGINT AS n, make_timestamp((e + 1) * {tick}) AS _window_end FROM found WHERE n > 0
    """


def _slices(tick: int) -> str:
    return f"SELECT k, ts // {tick} AS slice, sum(v) AS total, max(v) AS m, count(*) AS n FROM s GROUP BY ALL"


def _polars(rows: pa.Table, asked: Sequence[Asked], folder: Path) -> None:
    import polars as pl

    frame: Any = pl.from_arrow(rows)
    for number, one in enumerate(asked):
        (folder / str(number)).mkdir()
        answers = (
            frame.lazy()
            .group_by_dynamic(
                "ts", every=f"{one.slide}s", period=f"{one.length}s", offset=f"-{one.length}s", group_by="k",
                label="right", closed="left",
            )
            .agg(pl.col("v").mean().alias("a"), pl.col("v").max().alias("m"), pl.len().cast(pl.Int64).alias("n"))
            .collect()
        )  # fmt: skip
        answers.write_parquet(folder / str(number) / "part.parquet")


def _draw(results: Sequence[dict[str, Any]]) -> None:
    figure, axes = plotting().subplots(figsize=(7, 4))
    works = list(dict.fromkeys(str(one["work"]) for one in results))
    for place, side in enumerate(dict.fromkeys(str(one["side"]) for one in results)):
        seconds = [next(o["seconds"] for o in results if (o["work"], o["side"]) == (work, side)) for work in works]
        axes.bar(np.arange(len(works)) + place * 0.27, seconds, 0.27, label=side)
    axes.set(xticks=np.arange(len(works)) + 0.27, xticklabels=works, ylabel="processor seconds", yscale="log")
    axes.legend()
    drawn(figure, "windows")
