"""Running queries on the local engine in tests: rows in, cut into pieces at will; answers out at any instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from support.normal_rows import normal_row
from support.rows_in_view import Row
from windrow.runtime.local import LocalEngine, LocalQuery

TIMESTAMP = pa.timestamp("us", "UTC")


def table_of(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    def array(field: pa.Field) -> pa.Array:
        storage = pa.int64() if pa.types.is_timestamp(field.type) or pa.types.is_duration(field.type) else field.type
        return pa.array([row[field.name] for row in rows], storage).view(field.type)

    return pa.table([array(field) for field in schema], schema=schema)


def feed(
    engine: LocalEngine,
    streams: dict[str, list[Row]],
    schemas: dict[str, pa.Schema],
    cuts: Sequence[int],
    delays: Sequence[int] = (),
) -> None:
    """Push all rows, those that come before each cut first, stepping in between; then end every stream.

    A row comes at its time, or as much later as `delays` say, one after the other and over again.
    """
    arriving = {name: _arriving(rows, delays or [0]) for name, rows in streams.items()}
    done = dict.fromkeys(streams, 0)
    for edge in [*sorted(set(cuts)), None]:
        for name, rows in arriving.items():
            upto = len(rows) if edge is None else sum(1 for arrival, _ in rows if arrival < edge)
            if upto > done[name]:
                engine.push(name, table_of([row for _, row in rows[done[name] : upto]], schemas[name]))
                done[name] = upto
        engine.step()
    for name in streams:
        engine.end(name)
    engine.step()


def _arriving(rows: Sequence[Row], delays: Sequence[int]) -> list[tuple[int, Row]]:
    times = [(row["ts"] + delays[place % len(delays)], row) for place, row in enumerate(rows)]
    return sorted(times, key=lambda arrival: arrival[0])


def answers(query: LocalQuery, instants: Sequence[int]) -> list[Counter[Any]]:
    """The bags that the changelog stands for, by the definition."""
    changes = query.changes()
    begins = changes["_ts"].cast(pa.int64()).to_pylist()
    ends = changes["_exp"].cast(pa.int64()).to_pylist()
    signs = changes["_sign"].to_pylist()
    rows = list(zip(*(changes[name].to_pylist() for name in changes.column_names[:-3]), strict=True))
    rows = rows or [() for _ in begins]
    return [_bag(rows, begins, ends, signs, instant) for instant in instants]


def _bag(rows: list[Any], begins: list[int], ends: list[int | None], signs: list[int], instant: int) -> Counter[Any]:
    bag: Counter[Any] = Counter()
    exact: Counter[Any] = Counter()
    for row, begin, end, sign in zip(rows, begins, ends, signs, strict=True):
        if begin <= instant and (end is None or instant < end):
            bag[normal_row(row)] += sign
            exact[row if _hashable(row) else repr(row)] += sign
    assert all(count >= 0 for count in exact.values()), "more taken back than given"
    return +bag


def _hashable(row: Any) -> bool:
    return not any(isinstance(value, list | dict) for value in row)


def bag_of_table(table: pa.Table) -> Counter[Any]:
    return Counter(normal_row(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True))
