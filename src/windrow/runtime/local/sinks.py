"""Sinks of the local runtime: what a query tells goes to files, to the screen, or to a function."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from windrow.catalog import Connector
from windrow.errors import WindrowError

Sink = Callable[[pa.Table], None]


def sink_of(connector: Connector, query: str) -> Sink:
    """A function that takes every piece of what a query tells."""
    if connector.name in _WRITERS:
        return _FileSink(Path(str(connector.arguments[0])), connector.name)
    if connector.name == "console":
        return lambda table: _print(query, table)
    if connector.name == "python":
        return _function(str(connector.arguments[0]))
    assert connector.name == "memory", connector
    return lambda table: None  # the answer is kept in memory anyway


class _FileSink:
    """One file a piece, written under another name first, so that a reader never sees half of one."""

    def __init__(self, folder: Path, form: str) -> None:
        self._folder, self._form = folder, form
        self._number = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WindrowError(f"{folder} cannot be written to: {error.strerror}", "choose another folder") from None
        if any(folder.glob("part-*")):
            raise WindrowError(f"{folder} has results already", "remove them, or choose another folder")

    def __call__(self, table: pa.Table) -> None:
        if not table.num_rows:
            return
        path = self._folder / f"part-{self._number:05}.{self._form}"
        hidden = path.with_name(f".{path.name}")
        _WRITERS[self._form](table, hidden)
        hidden.replace(path)
        self._number += 1


def _json(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in table.to_pylist():
            file.write(json.dumps(row, default=_plain, ensure_ascii=False) + "\n")


def _plain(value: Any) -> Any:
    """Times as ISO texts, intervals as microseconds, decimals and bytes as texts."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    return value.hex() if isinstance(value, bytes) else str(value)


def _csv(table: pa.Table, path: Path) -> None:
    plain = [pa.array(column.to_pylist(), column.type) for column in table.columns]
    shown = [column.cast(pa.int64()) if pa.types.is_duration(column.type) else column for column in plain]
    pa.csv.write_csv(pa.table(shown, names=table.column_names), path)


def _parquet(table: pa.Table, path: Path) -> None:
    pa.parquet.write_table(table, path)


_WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {"json": _json, "csv": _csv, "parquet": _parquet}


def _print(query: str, table: pa.Table) -> None:
    for row in table.to_pylist():
        sys.stdout.write(f"{query}: {json.dumps(row, default=_plain, ensure_ascii=False)}\n")


def _function(name: str) -> Sink:
    module, _, function = name.partition(":")
    try:
        found: Sink = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise WindrowError(f"{name} cannot be called: {error}", "write it as 'module:function'") from None
    return found
