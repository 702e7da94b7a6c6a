"""Sinks of the local runtime: what a query tells goes to files, to the screen, or to a function."""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from windrow.catalog import Connector
from windrow.errors import WindrowError

Sink = Callable[[pa.Table], None]


def sink_of(connector: Connector, query: str, again: bool = False) -> Sink:
    """A function that takes every piece of what a query tells; `again` goes on after the files of an earlier run."""
    if connector.name in _WRITERS:
        return _FileSink(Path(str(connector.arguments[0])), connector.name, again)
    if connector.name == "console":
        return lambda table: _print(query, table)
    if connector.name == "python":
        return _function(str(connector.arguments[0]))
    assert connector.name == "memory", connector
    return lambda table: None  # the answer is kept in memory anyway


class _FileSink:
    """One file a piece, written under another name first, so that a reader never sees half of one."""

    def __init__(self, folder: Path, form: str, again: bool) -> None:
        self._folder, self._form = folder, form
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WindrowError(f"{folder} cannot be written to: {error.strerror}", "choose another folder") from None
        self._number = len(list(folder.glob("part-*")))
        if self._number and not again:
            raise WindrowError(f"{folder} has results already", "remove them, or choose another folder")

    def __call__(self, table: pa.Table) -> None:
        if not table.num_rows:
            return
        write_file(table, self._folder / f"part-{self._number:05}.{self._form}", self._form)
        self._number += 1


def write_file(table: pa.Table, path: Path, form: str) -> None:
    """At once or not at all; a file of that name is replaced."""
    hidden = path.with_name(f".{path.name}.{os.getpid()}")  # a task that runs twice does not write into itself
    _WRITERS[form](table, hidden)
    hidden.replace(path)


def _json(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in json_lines(table))


def json_lines(table: pa.Table) -> Iterator[str]:
    """Rows as JSON: times as ISO texts, intervals as microseconds, decimals, bytes and NaN as texts."""
    columns = [_json_values(column) for column in table.columns]
    for row in zip(*columns, strict=True):
        named = dict(zip(table.column_names, row, strict=True))
        yield json.dumps(named, default=_plain, ensure_ascii=False, allow_nan=False)


def _json_values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        return [_finite(value) for value in column.to_pylist()]
    try:
        return list(column.to_pylist())
    except OverflowError:  # times that Python's calendar does not have
        return list(column.cast(pa.int64()).to_pylist())


def _finite(value: Any) -> Any:
    """With texts for what JSON has no numbers for."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    return value.hex() if isinstance(value, bytes) else str(value)


def _csv(table: pa.Table, path: Path) -> None:
    shown = [_csv_column(column) for column in table.columns]
    pa.csv.write_csv(pa.table(shown, names=table.column_names), path)


def _csv_column(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    if pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    if pa.types.is_binary(column.type) or pa.types.is_nested(column.type):
        texts = [None if value is None else json.dumps(value, default=_plain) for value in column.to_pylist()]
        return pa.array([text if text is None else text.strip('"') for text in texts], pa.string())
    return column


def _parquet(table: pa.Table, path: Path) -> None:
    pa.parquet.write_table(table, path)


_WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {"json": _json, "csv": _csv, "parquet": _parquet}
FILES = tuple(_WRITERS)


def _print(query: str, table: pa.Table) -> None:
    for line in json_lines(table):
        sys.stdout.write(f"{query}: {line}\n")


def _function(name: str) -> Sink:
    module, _, function = name.partition(":")
    try:
        found: Sink = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise WindrowError(f"{name} cannot be called: {error}", "write it as 'module:function'") from None
    return found
