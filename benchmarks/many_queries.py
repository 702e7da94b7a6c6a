"""The queries of `many`, and one process that runs some of them in this process: seconds, memory, state, rows."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import windrow
from windrow.runtime.local import LocalEngine

START = 1_767_225_600_000_000  # 2026-01-01
SPAN = 7_200  # seconds that the rows are spread over
GROUPS = 10
REFRESHES = (10, 12, 15, 20, 30, 60, 120, 300)  # seconds
AGGREGATES = ("SUM(v)", "MAX(v)", "AVG(v)", "COUNT(*)")
BOUNDS = (0.1, 0.3, 0.5, 0.7, 0.9)
PIECE = 100_000  # rows that are pushed before each step
DECLARATION = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v DOUBLE) TIMESTAMP BY ts"


@dataclass(frozen=True)
class Asked:
    """An aggregate of each group over the last minutes, of all rows or of those above a bound."""

    aggregate: str
    minutes: int
    slide: int
    bound: float | None

    @property
    def text(self) -> str:
        where = "" if self.bound is None else f" WHERE v > {self.bound}"
        window = f"[RANGE {self.minutes} MINUTES SLIDE {self.slide} SECONDS]"
        return f"SELECT k, {self.aggregate} AS a FROM s {window}{where} GROUP BY k"


def asked(count: int) -> Iterator[Asked]:
    """Windows and refreshes are drawn; every fourth query has a bound."""
    random = np.random.default_rng(5)
    for number in range(count):
        minutes = int(random.integers(1, 101))
        fitting = [slide for slide in REFRESHES if 60 * minutes % slide == 0]
        slide = fitting[int(random.integers(len(fitting)))]
        bound = BOUNDS[number // 4 % len(BOUNDS)] if number % 4 == 3 else None
        yield Asked(AGGREGATES[int(random.integers(len(AGGREGATES)))], minutes, slide, bound)


def stream_rows(count: int, span: int = SPAN) -> pa.Table:
    random = np.random.default_rng(3)
    times = np.sort(random.integers(0, span * 1_000_000, count)) + START
    columns = {"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": random.integers(0, GROUPS, count)}
    return pa.table({**columns, "v": random.random(count).round(6)})


def together(count: int, rows: int) -> dict[str, Any]:
    """From the first row until all that was emitted is there as Arrow tables."""
    _compiled()
    engine = _engine()
    queries = [engine.query(one.text, name=f"q{number}") for number, one in enumerate(asked(count))]
    began = process_time()
    _push(engine, stream_rows(rows))
    state = engine.status()["state_rows"]
    engine.end("s")
    engine.step()
    emitted = sum(_emitted(query.changes()) for query in queries)
    return _measured(process_time() - began, state, emitted)


def half(count: int, rows: int, apart: bool) -> dict[str, Any]:
    """The second half of the rows, with queries that came with the first row or one after the other in the first."""
    _compiled()
    engine, table = _engine(), stream_rows(rows)
    texts = [one.text for one in asked(count)]
    middle = rows // 2
    for number, text in enumerate(texts if not apart else ()):
        engine.query(text, name=f"q{number}")
    for number, text in enumerate(texts):
        if apart:
            engine.query(text, name=f"q{number}")
        engine.push("s", table.slice(number * middle // count, middle // count))
        engine.step()
    began = process_time()
    _push(engine, table.slice(middle, rows))
    return _measured(process_time() - began, engine.status()["state_rows"], 0)


def _engine() -> LocalEngine:
    engine = windrow.connect(local=True)
    engine.sql(DECLARATION)
    return engine


def _compiled() -> None:
    """Loops are compiled, or read from disk, before anything is measured."""
    engine = _engine()
    for one in asked(40):
        engine.query(one.text)
    _push(engine, stream_rows(20_000))
    engine.close()


def _push(engine: LocalEngine, rows: pa.Table) -> None:
    for first in range(0, len(rows), PIECE):
        engine.push("s", rows.slice(first, PIECE))
        engine.step()


def _emitted(changes: pa.Table) -> int:
    return int(pc.sum(pc.greater(changes["_sign"], 0)).as_py() or 0)


def _measured(seconds: float, state: int, emitted: int) -> dict[str, Any]:
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "megabytes": megabytes, "state_rows": state, "emitted": emitted}


def with_duckdb(queries: Sequence[Asked], rows: pa.Table) -> int:
    """Rows are put together by slide first, then every slice goes to the windows that it is in."""
    import duckdb

    emitted = 0
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("rows_in", rows)
        connection.execute("CREATE TABLE s AS SELECT epoch_us(ts) AS ts, k, v FROM rows_in")
        for one in queries:
            emitted += connection.sql(_duckdb_text(one)).to_arrow_table().num_rows
    return emitted


def _duckdb_text(one: Asked) -> str:
    tick, where = one.slide * 1_000_000, "" if one.bound is None else f"WHERE v > {one.bound}"
    whole = {"SUM(v)": "sum(t)", "MAX(v)": "max(m)", "AVG(v)": "sum(t) / sum(n)", "COUNT(*)": "sum(n)"}[one.aggregate]
    return f"""
        WITH slices AS (
            SELECT k, ts // {tick} AS slice, sum(v) AS t, max(v) AS m, count(*) AS n FROM s {where} GROUP BY ALL
        ), copies AS (SELECT unnest(range(1, {60 * one.minutes // one.slide + 1})) AS ahead)
        SELECT k, {whole} AS a, slice + ahead AS e FROM slices, copies GROUP BY k, slice + ahead
    """


def with_polars(queries: Sequence[Asked], rows: pa.Table) -> int:
    os.environ["POLARS_MAX_THREADS"] = "1"  # read when Polars is loaded
    import polars as pl

    value = pl.col("v")
    whole = {"SUM(v)": value.sum(), "MAX(v)": value.max(), "AVG(v)": value.mean(), "COUNT(*)": pl.len()}
    frame, emitted = pl.from_arrow(rows), 0
    assert isinstance(frame, pl.DataFrame)
    for one in queries:
        lazy = frame.lazy() if one.bound is None else frame.lazy().filter(value > one.bound)
        windows = lazy.group_by_dynamic(
            "ts", every=f"{one.slide}s", period=f"{one.minutes}m", offset=f"-{one.minutes}m", group_by="k",
            label="right", closed="left",
        )  # fmt: skip
        emitted += windows.agg(whole[one.aggregate].alias("a")).collect().height
    return emitted


def by_others(side: str, count: int, rows: int) -> dict[str, Any]:
    """All windows of the same queries over the whole file."""
    table, does = stream_rows(rows), {"duckdb": with_duckdb, "polars": with_polars}[side]
    began = process_time()
    emitted = does(list(asked(count)), table)
    return _measured(process_time() - began, 0, emitted)
