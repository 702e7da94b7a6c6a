"""Sinks: what a query emits goes to files, to the screen, or to a function.

Every piece has a number. On shards it is that of the micro-batch: files are named by it, when it has been committed,
and all other sinks get a piece after the commit, at least once.
"""

from __future__ import annotations

import importlib
import json
import math
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet

from windrow.catalog import Catalog, Connector, Entry
from windrow.errors import WindrowError
from windrow.plan.analysis.keys import chosen_key
from windrow.plan.nodes import Node
from windrow.runtime.modes import Mode, default_mode
from windrow.runtime.outputs.feed import Receiver
from windrow.runtime.outputs.sink_folders import check_folders, opened, parts_in, sinks_of

Sink = Callable[[pa.Table, int], None]  # a piece of what a query emits, and its number


@dataclass(frozen=True)
class SinkForm:
    """In which form a sink gets what a query emits; the key is for upserts."""

    mode: Mode
    key: tuple[str, ...] = ()


def sink_form(connector: Connector | None, plan: Node, slide: int | None) -> SinkForm:
    """As the options of the sink say."""
    written = None if connector is None else connector.option("mode")
    mode = default_mode(slide) if written is None else Mode(str(written))
    if mode is not Mode.UPSERT:
        return SinkForm(mode)
    assert connector is not None
    key = chosen_key(plan, connector.option("key"))
    assert key is not None, "upserts without a key are refused when the query is read"
    return SinkForm(mode, key)


def check_sinks(entry: Entry, catalog: Catalog, own: str | None) -> None:
    """Refuse sinks of a new entry that cannot be; `own` is the folder of the engine itself."""
    check_folders(entry, catalog, own)
    for connector in sinks_of(entry):
        if connector.name == "python":
            _function(str(connector.arguments[0]))


def receiver_of(connector: Connector, what: str, name: str) -> Receiver:
    """As the options of the sink say."""
    return Receiver(what, name, stops=connector.option("on_error") == "stop")


def sink_by_batch(connector: Connector, query: str) -> Sink:
    """The same, with files named by the number of a piece: one that is given again replaces its file."""
    if connector.name not in _WRITERS:
        return sink_of(connector, query)
    place, form = str(connector.arguments[0]), connector.name
    return lambda table, number: write_file(table, place, f"part-{number:09}.{form}", form)


def sink_of(connector: Connector, query: str) -> Sink:
    """A function that takes every piece of what a query emits; files go on after those of an earlier run."""
    if connector.name in _WRITERS:
        return _FileSink(str(connector.arguments[0]), connector.name)
    if connector.name == "console":
        return lambda table, number: _print(query, table)
    if connector.name == "python":
        named = str(connector.arguments[0])
        return lambda table, number: _function(named)(_labelled(table, query, number))  # it may come and go
    assert connector.name == "memory", connector
    return lambda table, number: None  # the answer is kept in memory anyway


def write_file(table: pa.Table, place: str, name: str, form: str) -> None:
    """At once or not at all; a file of that name is replaced. Without rows there is none."""
    files, root = opened(place)
    if not table.num_rows:
        if files.get_file_info(f"{root}/{name}").type != pa.fs.FileType.NotFound:
            files.delete_file(f"{root}/{name}")
        return
    hidden = f"{root}/.{name}.{secrets.token_hex(8)}"  # a task that runs twice does not write into itself
    try:
        with files.open_output_stream(hidden) as file:
            _WRITERS[form](table, file)
        files.move(hidden, f"{root}/{name}")
    except OSError:
        with suppress(OSError):  # half a file of a full disk takes room
            files.delete_file(hidden)
        raise


def write_hidden(table: pa.Table, place: str, name: str, form: str) -> None:
    """A file that is given its name later, or never; `name` is its hidden one, which nobody else has."""
    if not table.num_rows:
        return
    files, root = opened(place)
    try:
        with files.open_output_stream(f"{root}/{name}") as file:
            _WRITERS[form](table, file)
    except Exception:
        with suppress(OSError):  # half a file of a full disk takes room
            files.delete_file(f"{root}/{name}")
        raise


class _FileSink:
    """One file a piece, written under another name first, so that a reader never sees half of one."""

    def __init__(self, place: str, form: str) -> None:
        self._place, self._form = place, form
        self._number: int | None = None

    def __call__(self, table: pa.Table, number: int) -> None:
        if table.num_rows:
            if self._number is None:
                self._number = parts_in(self._place)
            write_file(table, self._place, f"part-{self._number:05}.{self._form}", self._form)
            self._number += 1


def _json(table: pa.Table, file: pa.NativeFile) -> None:
    file.write("".join(f"{line}\n" for line in json_lines(table)).encode())


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


def _csv(table: pa.Table, file: pa.NativeFile) -> None:
    shown = [_csv_column(column) for column in table.columns]
    pa.csv.write_csv(pa.table(shown, names=table.column_names), file)


def _csv_column(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    if pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    if pa.types.is_binary(column.type) or pa.types.is_nested(column.type):
        texts = [None if value is None else json.dumps(value, default=_plain) for value in column.to_pylist()]
        return pa.array([text if text is None else text.strip('"') for text in texts], pa.string())
    return column


def _parquet(table: pa.Table, file: pa.NativeFile) -> None:
    """Floating-point numbers seldom come twice: a dictionary of them takes as long as the rest, and saves nothing."""
    repeated = [field.name for field in table.schema if not pa.types.is_floating(field.type)]
    pa.parquet.write_table(table, file, use_dictionary=repeated)


_WRITERS: dict[str, Callable[[pa.Table, pa.NativeFile], None]] = {"json": _json, "csv": _csv, "parquet": _parquet}


def _print(query: str, table: pa.Table) -> None:
    for line in json_lines(table):
        sys.stdout.write(f"{query}: {line}\n")


def _labelled(table: pa.Table, query: str, number: int) -> pa.Table:
    """With the query's name and the number of the piece in the metadata of its schema."""
    return table.replace_schema_metadata({"query": query, "batch": str(number)})


def _function(name: str) -> Callable[[pa.Table], None]:
    module, _, function = name.partition(":")
    try:
        called: Callable[[pa.Table], None] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise WindrowError(f"{name} cannot be called: {error}", "write it as 'module:function'") from None
    return called
