"""The oracle: recomputes an answer from scratch, with windows by their definitions and DuckDB for the rest.

It shares no code with the kernels: a window is a function from all rows and an instant to the rows in view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from support.operator_runs import SCHEMA, Row, hashable

InView = Callable[[Sequence[Row], int], list[Row]]
_CONNECTION = duckdb.connect(config={"threads": 1})


def in_order(rows: Sequence[Row]) -> list[Row]:
    """As a source delivers them: by time, then by values, nulls first."""
    return sorted(rows, key=lambda row: (row[0], *((value is not None, _filled(value)) for value in row[1:])))


def _filled(value: Any) -> Any:
    """Nulls compare only with nulls, so what stands for them does not matter."""
    return 0 if value is None else value


def last(length: int, ago: int = 0) -> InView:
    return lambda rows, now: [row for row in rows if now - length < row[0] <= now - ago]


def last_every(length: int, slide: int) -> InView:
    def view(rows: Sequence[Row], now: int) -> list[Row]:
        end = now // slide * slide
        return [row for row in rows if end - length <= row[0] < end]

    return view


def unbounded(rows: Sequence[Row], now: int) -> list[Row]:
    return [row for row in rows if row[0] <= now]


def last_rows(count: int, ago: int = 0, slide: int = 1) -> InView:
    def view(rows: Sequence[Row], now: int) -> list[Row]:
        past = [row for row in rows if row[0] <= now]
        past = past[: len(past) // slide * slide]
        return past[max(0, len(past) - count) : max(0, len(past) - ago)]

    return view


def last_rows_every(count: int, slide: int) -> InView:
    def view(rows: Sequence[Row], now: int) -> list[Row]:
        end = now // slide * slide
        return [row for row in rows if row[0] < end][-count:]

    return view


def last_by_rows(length: int, slide: int) -> InView:
    def view(rows: Sequence[Row], now: int) -> list[Row]:
        past = [row for row in rows if row[0] <= now]
        past = past[: len(past) // slide * slide]
        return [row for row in past if past[-1][0] - length < row[0]]

    return view


def last_rows_of_each(count: int, slide: int = 1, key: int = 1) -> InView:
    def view(rows: Sequence[Row], now: int) -> list[Row]:
        kept: dict[Any, list[Row]] = {}
        for row in rows:
            if row[0] <= now:
                kept.setdefault(row[key], []).append(row)
        moved = (group[: len(group) // slide * slide] for group in kept.values())
        return [row for group in moved for row in group[-count:]]

    return view


def by_column(column: int) -> InView:
    return lambda rows, now: [r for r in rows if r[0] <= now and (r[column] is None or now < r[0] + r[column])]


def ask(sql: str, **tables: Sequence[Row]) -> Counter[Row]:
    """The answer of plain SQL over rows in view; the rows' own time is not one of the columns."""
    for name, rows in tables.items():
        arrays = [pa.array([row[1 + i] for row in rows], SCHEMA.types[i]) for i in range(len(SCHEMA))]
        _CONNECTION.register(name, pa.table(arrays, schema=SCHEMA))
    return Counter(map(hashable, _CONNECTION.execute(sql).fetchall()))
