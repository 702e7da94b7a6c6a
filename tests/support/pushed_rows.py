"""Rows pushed into a local engine by hand: one stream, one query over all of it, times in seconds."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from windrow.runtime.local import LocalEngine

SECOND = 1_000_000
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
DECLARATION = "CREATE STREAM s (ts TIMESTAMP, a BIGINT, b STRING, v DOUBLE) TIMESTAMP BY ts"
ALL = "SELECT a, b, v FROM s [RANGE 1000 SECONDS]"


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def row(seconds: float, a: Any = 1, b: Any = "x", v: Any = 1.5) -> dict[str, Any]:
    return {"ts": at(seconds), "a": a, "b": b, "v": v}


def running(declaration: str = DECLARATION, query: str = ALL) -> LocalEngine:
    engine = LocalEngine()
    engine.sql(declaration)
    engine.query(query, "q")
    return engine


def answer(engine: LocalEngine) -> list[tuple[Any, ...]]:
    """The answer at the time of the last row."""
    table = engine["q"].answer(at=engine.last_row)
    rows = zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    return sorted(rows, key=lambda row: [(value is None, str(value)) for value in row])


def ended(engine: LocalEngine, stream: str = "s") -> LocalEngine:
    engine.end(stream)
    engine.run()
    return engine


def reasons(engine: LocalEngine, stream: str = "s") -> dict[str, int]:
    return dict(engine.status()["streams"][stream]["rejected"])
