"""Sources of the local runtime: anything that gives Arrow tables, in the order in which rows arrive."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.batch import arrow_type
from windrow.catalog import ColumnDefinition, Connector
from windrow.errors import WindrowError
from windrow.runtime.local.intake import UNPARSABLE
from windrow.sources.generators import Generator, generator

CHUNK = 100_000  # rows read at a time


def source_of(connector: Connector, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """The rows of a connector, a chunk at a time; what is wrong with the connector is said at once."""
    if connector.name == "generator":
        return _generated(generator(str(connector.arguments[0]), dict(connector.options)))
    if connector.name in _FORMATS:
        return _read(_paths(connector), connector.name, columns)
    hint = "parquet, csv, json and generator are; hand other data over with engine.stream(name, data)"
    raise WindrowError(f"{connector.name} is not a source of the local runtime", hint)


def tables_of(data: Any, chunk: int = CHUNK) -> Iterator[pa.Table]:
    """Arrow tables from Arrow, pandas, or an iterable of rows or batches."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        table = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
        yield from (table.slice(first, chunk) for first in range(0, table.num_rows, chunk))
    elif hasattr(data, "to_dict") and hasattr(data, "columns"):
        yield from tables_of(pa.Table.from_pandas(data, preserve_index=False), chunk)
    elif isinstance(data, Iterable):
        yield from _from_rows(data, chunk)
    else:
        hint = "hand over an Arrow table, a pandas frame, or an iterable of dictionaries"
        raise WindrowError(f"{type(data).__name__} is not a source of rows", hint)


def _from_rows(rows: Iterable[Any], chunk: int) -> Iterator[pa.Table]:
    waiting: list[Mapping[str, Any]] = []
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


def rows_table(rows: list[Mapping[str, Any]]) -> pa.Table:
    """A table of dictionaries; a column whose values have several types becomes text, to be judged at the intake."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table([_array([row.get(name) for row in rows]) for name in names], names=names)


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def _generated(made: Generator) -> Iterator[pa.Table]:
    first = 0
    while made.rows is None or first < made.rows:
        last = first + CHUNK if made.rows is None else min(first + CHUNK, made.rows)
        yield made.read(first, last)
        first = last


def _paths(connector: Connector) -> list[Path]:
    if connector.options:
        hint = f"write {connector.name}('folder')"
        raise WindrowError(f"{connector.name} has no option {connector.options[0][0]}", hint)
    place = Path(str(connector.arguments[0]))
    paths = sorted(place.rglob(f"*.{connector.name}")) if place.is_dir() else [place]
    if not paths or not paths[0].exists():
        raise WindrowError(
            f"there are no {connector.name} files in {place}", "give a file, or a folder with such files"
        )
    return paths


def _read(paths: list[Path], form: str, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    for path in paths:
        yield from _FORMATS[form](path, columns)


def _parquet(path: Path, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    file = pa.parquet.ParquetFile(path)
    wanted = [column.name for column in columns if column.name in file.schema_arrow.names]
    for batch in file.iter_batches(CHUNK, columns=wanted):
        yield pa.Table.from_batches([batch])


def _csv(path: Path, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """Everything is read as text; the intake decides what fits the declared types, row by row."""
    texts = pa.csv.ConvertOptions(
        column_types={column.name: pa.string() for column in columns}, strings_can_be_null=True
    )
    bad: list[str] = []

    def skip(row: Any) -> str:
        bad.append(row.text)
        return "skip"

    parse = pa.csv.ParseOptions(invalid_row_handler=skip)
    for batch in pa.csv.open_csv(path, convert_options=texts, parse_options=parse):
        yield from tables_of(batch)
    if bad:
        yield pa.table({UNPARSABLE: pa.array(bad, pa.string())})


def _json(path: Path, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
    try:
        options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        yield from tables_of(pa.json.read_json(path, parse_options=options))
    except pa.ArrowInvalid:
        yield from _json_lines(path)


def _json_lines(path: Path) -> Iterator[pa.Table]:
    """Line by line, for files in which something is wrong."""

    def read() -> Iterator[Mapping[str, Any]]:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                row = json.loads(line)
                yield row if isinstance(row, dict) else {UNPARSABLE: line}
            except ValueError:
                yield {UNPARSABLE: line}

    yield from tables_of(read())


_FORMATS = {"parquet": _parquet, "csv": _csv, "json": _json}
