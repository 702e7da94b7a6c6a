"""Rows that Python holds, as Arrow tables: Arrow, pandas, other frames that give Arrow, iterables of dictionaries.

Rows that are pushed are checked at once, while whoever wrote them is there: what is no row, and columns that were not
declared, are errors. What values are worth is seen later, as for all other rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow.errors import WindrowError, nearest
from windrow.sources.declared_columns import declared_columns

CHUNK = 100_000  # rows read at a time
_SHOWN = 60  # characters of something that is no row
REASON = "_reason"  # the column of late and rejected rows that says why; they may be pushed again as they are
UNPARSABLE = "_unparsable"  # the column in which readers hand over lines that they could not read


def tables_of(
    data: Any, chunk: int = CHUNK, table_of: Callable[[Sequence[Any]], pa.Table] | None = None
) -> Iterator[pa.Table]:
    """Arrow tables from Arrow, pandas, other frames that give Arrow, or an iterable of rows or batches."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        table = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
        yield from (table.slice(first, chunk) for first in range(0, table.num_rows, chunk))
    elif hasattr(data, "to_dict") and hasattr(data, "index"):
        yield from tables_of(pa.Table.from_pandas(data, preserve_index=False), chunk)
    elif hasattr(data, "__arrow_c_stream__") and not isinstance(data, pa.RecordBatchReader):
        yield from tables_of(pa.table(data), chunk)
    elif isinstance(data, Iterable):
        yield from _from_rows(data, chunk, table_of or rows_table)
    else:
        hint = "hand over an Arrow table, a pandas frame, or an iterable of dictionaries"
        raise WindrowError(f"{type(data).__name__} is not a source of rows", hint)


def pushed_tables(rows: Any, stream: str, declared: Sequence[str], chunk: int = CHUNK) -> Iterator[pa.Table]:
    """Rows that are pushed into a stream, with the columns that it declares; one dictionary is one row."""
    if isinstance(rows, str | bytes):
        raise _no_row(rows, stream, declared)
    if isinstance(rows, Mapping):
        rows = [rows]
    if isinstance(rows, list) and not any(isinstance(row, pa.Table | pa.RecordBatch) for row in rows):
        rows = _checked_table(rows, stream, declared)  # all of them are taken, or none
    tables = tables_of(rows, chunk, lambda some: _checked_table(some, stream, declared))
    return (_with_declared(table, stream, declared) for table in tables)


def _checked_table(rows: Sequence[Any], stream: str, declared: Sequence[str]) -> pa.Table:
    for row in rows:
        if not isinstance(row, Mapping):
            raise _no_row(row, stream, declared)
    names = {name for row in rows for name in row}
    if strange := [name for name in names if not isinstance(name, str)]:
        raise WindrowError(f"a column is called by a text, not by {strange[0]!r}", _example(declared))
    if len({name.lower() for name in names}) < len(names):  # rows that differ in the case of their letters
        rows = [renamed(row, declared) for row in rows]
    return rows_table(rows)


def _no_row(row: Any, stream: str, declared: Sequence[str]) -> WindrowError:
    return WindrowError(f"{_shown(row)} is not a row of {stream}, but {_kind(row)}", _example(declared))


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"of type {type(value).__name__}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _example(declared: Sequence[str]) -> str:
    return f"write [{{{', '.join(f'{name!r}: ...' for name in declared)}}}]"


def renamed(row: Mapping[str, Any], declared: Sequence[str]) -> dict[str, Any]:
    """A row under the declared names; what is not declared stays as it is."""
    found = declared_columns(list(row), declared)
    return {**{name: row[name] for name in found.others}, **{name: row[given] for name, given in found.names.items()}}


def _with_declared(table: pa.Table, stream: str, declared: Sequence[str]) -> pa.Table:
    found = declared_columns(table.column_names, declared)
    unknown = [name for name in found.others if name not in (UNPARSABLE, REASON)]
    if unknown:
        raise WindrowError(f"{stream} has no column {unknown[0]}", nearest(unknown[0], declared, "columns"))
    if REASON in found.others:
        table = table.drop_columns([REASON])
    declared_as = {given: name for name, given in found.names.items()}
    return table.rename_columns([declared_as.get(name, name) for name in table.column_names])


def _from_rows(rows: Iterable[Any], chunk: int, table_of: Callable[[Sequence[Any]], pa.Table]) -> Iterator[pa.Table]:
    waiting: list[Any] = []
    for row in rows:
        if isinstance(row, pa.Table | pa.RecordBatch):
            yield from tables_of(row, chunk)
            continue
        waiting.append(row)
        if len(waiting) >= chunk:
            yield table_of(waiting)
            waiting = []
    if waiting:
        yield table_of(waiting)


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
