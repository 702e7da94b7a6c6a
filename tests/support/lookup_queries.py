"""One query of every kind that is looked up or shares something, and the rows to ask them about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from support.own_aggregates import Squares
from windrow.runtime.local import LocalEngine
from windrow.types import BIGINT, DOUBLE
from windrow.units import SECOND

STREAMS = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, id BIGINT, x BIGINT) TIMESTAMP BY ts;
    CREATE STREAM t (ts TIMESTAMP, id BIGINT) TIMESTAMP BY ts;
"""
LOOKED_UP = (
    "SELECT k, COUNT(*) AS n, SUM(x) AS t, MAX(x) AS m, MEDIAN(x) AS h FROM s [RANGE 20 SECONDS] GROUP BY k",
    "SELECT COUNT(*) AS n, MIN(x) AS m FROM s [RANGE 30 SECONDS SLIDE 5 SECONDS]",
    "SELECT k, SUM(x) AS t FROM s [PARTITION BY k ROWS 7] GROUP BY k",
    "SELECT k, SUM(x) AS t FROM s [RANGE 10 SECONDS] GROUP BY k HAVING SUM(x) > 15 ORDER BY t DESC LIMIT 3",
    "SELECT k, SQUARES(x) AS q FROM s [RANGE 15 SECONDS] GROUP BY k",
    "SELECT k, APPROX_COUNT(x, 0.05) AS n, APPROX_SUM(x, 0.05) AS t FROM s [RANGE 20 SECONDS] GROUP BY k",
    "SELECT k, DECAYED_SUM(x, INTERVAL 5 SECONDS) AS t FROM s GROUP BY k",
    "SELECT s.k, COUNT(*) AS n FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS], t [RANGE 10 SECONDS SLIDE 5 SECONDS] "
    "WHERE s.id = t.id GROUP BY s.k",
)
LATER = (  # the first four are looked up in what runs when they are created
    "SELECT k, SUM(x) AS t, COUNT(*) AS n FROM s [RANGE 18 SECONDS] GROUP BY k HAVING SUM(x) > 5",
    "SELECT k, SQUARES(x) AS q FROM s [RANGE FROM 12 SECONDS TO 4 SECONDS AGO] GROUP BY k",
    "SELECT k, MEDIAN(x) AS h FROM s [RANGE 15 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    "SELECT k, SUM(x) AS t FROM s [PARTITION BY k ROWS 4] GROUP BY k",
    "SELECT MIN(x) AS m FROM s [RANGE 25 SECONDS SLIDE 5 SECONDS]",
    *LOOKED_UP[-2:],
)
TOLD = (
    "SELECT k, SUM(x) AS t FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    "SELECT k, SUM(x) AS t FROM s [RANGE 40 SECONDS SLIDE 10 SECONDS] GROUP BY k",
    "SELECT k FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k HAVING COUNT(*) > 3",
    "SELECT k FROM s [RANGE 30 SECONDS SLIDE 5 SECONDS] GROUP BY k HAVING COUNT(*) > 5",
)


def open_streams(engine: Any) -> None:
    engine.register_aggregate("SQUARES", [BIGINT], DOUBLE, Squares)
    engine.sql(STREAMS)


def create(engine: Any) -> None:
    open_streams(engine)
    for number, text in enumerate((*LOOKED_UP, *TOLD)):
        lookup = " REFRESH ON LOOKUP" if text in LOOKED_UP else ""
        engine.sql(f"CREATE QUERY q{number} AS {text}{lookup}")


def create_later(engine: Any) -> None:
    for number, text in enumerate(LATER):
        engine.sql(f"CREATE QUERY later{number} AS {text} REFRESH ON LOOKUP")


def begun_later() -> LocalEngine:
    """An engine for the same queries that gets only the rows that come from now on."""
    engine = LocalEngine()
    open_streams(engine)
    create_later(engine)
    return engine


def pieces(count: int = 6) -> Iterator[dict[str, pa.Table]]:
    """Rows of both streams, ten seconds at a time; every third second is quiet."""
    for piece in range(count):
        seconds = [second for second in range(10 * piece, 10 * piece + 10) if second % 3]
        times = pa.array([second * SECOND for second in seconds for _ in range(3)], pa.timestamp("us", "UTC"))
        number = [3 * second + one for second in seconds for one in range(3)]
        values = {"k": [f"k{n % 5}" for n in number], "id": [n % 11 for n in number], "x": [n * 7 % 13 for n in number]}
        yield {"s": pa.table({"ts": times, **values}), "t": pa.table({"ts": times, "id": [n % 11 for n in number]})}


def feed(engine: Any, tables: dict[str, pa.Table]) -> None:
    for name, rows in tables.items():
        engine.push(name, rows)
    engine.step()


def answers(engine: Any) -> dict[str, list[dict[str, Any]]]:
    """Those of all queries, each in an order that is always the same."""
    return {query.name: sorted(query.answer().to_pylist(), key=repr) for query in engine.queries}
