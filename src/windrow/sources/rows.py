"""Rows that Python holds, as Arrow tables: Arrow, pandas, other frames that give Arrow, iterables of dictionaries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow.errors import WindrowError

CHUNK = 100_000  # rows read at a time
UNPARSABLE = "_unparsable"  # the column in which readers hand over lines that they could not read


def tables_of(data: Any, chunk: int = CHUNK) -> Iterator[pa.Table]:
    """Arrow tables from Arrow, pandas, other frames that give Arrow, or an iterable of rows or batches."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        table = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
        yield from (table.slice(first, chunk) for first in range(0, table.num_rows, chunk))
    elif hasattr(data, "to_dict") and hasattr(data, "index"):
        yield from tables_of(pa.Table.from_pandas(data, preserve_index=False), chunk)
    elif hasattr(data, "__arrow_c_stream__") and not isinstance(data, pa.RecordBatchReader):
        yield from tables_of(pa.table(data), chunk)
    elif isinstance(data, Iterable):
        yield from _from_rows(data, chunk)
    else:
        hint = "hand over an Arrow table, a pandas frame, or an iterable of dictionaries"
        raise WindrowError(f"{type(data).__name__} is not a source of rows", hint)


def _from_rows(rows: Iterable[Any], chunk: int) -> Iterator[pa.Table]:
    waiting: list[Any] = []
    for row in rows:
        if isinstance(row, pa.Table | pa.RecordBatch):
            yield from tables_of(row, chunk)
            continue
        waiting.append(row)
        if len(waiting) >= chunk:
            yield rows_table(waiting)
            waiting = []
    if waiting:
        yield rows_table(waiting)


def rows_table(rows: Sequence[Any]) -> pa.Table:
    """A table of dictionaries; a column whose values have several types becomes text, to be judged at the intake."""
    rows = [row if isinstance(row, Mapping) else {UNPARSABLE: repr(row)} for row in rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table([_array([row.get(name) for row in rows]) for name in names], names=names)


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:
    return json.dumps(value, default=str) if isinstance(value, list | dict) else str(value)
