"""Sources of the local runtime: anything that gives Arrow tables, in the order in which rows arrive."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.batch import arrow_type
from windrow.catalog import ColumnDefinition, Connector
from windrow.errors import WindrowError
from windrow.runtime.intake import UNPARSABLE
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


def _generated(made: Generator) -> Iterator[pa.Table]:
    first = 0
    while made.rows is None or first < made.rows:
        last = first + CHUNK if made.rows is None else min(first + CHUNK, made.rows)
        yield made.read(first, last)
        first = last


def _paths(connector: Connector) -> list[Path]:
    place = Path(str(connector.arguments[0]))
    paths = sorted(place.rglob(f"*.{connector.name}")) if place.is_dir() else [place]
    if not paths or not paths[0].exists():
        raise WindrowError(
            f"there are no {connector.name} files in {place}", "give a file, or a folder with such files"
        )
    return paths


def _read(paths: list[Path], form: str, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """The files one after the other; one that cannot be read counts as a row that cannot be read."""
    for path in paths:
        yield from read_file(path, form, columns)


def read_file(path: Path, form: str, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """The rows of one file, a chunk at a time."""
    try:
        yield from _FORMATS[form](path, columns)
    except (pa.ArrowException, OSError) as error:
        yield pa.table({UNPARSABLE: [f"{path.name}: {error}"]})


def _arrow(path: Path, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    yield from tables_of(pa.ipc.open_stream(path.read_bytes()).read_all())


def _parquet(path: Path, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    file = pa.parquet.ParquetFile(path)
    wanted = [column.name for column in columns if column.name in file.schema_arrow.names]
    for batch in file.iter_batches(CHUNK, columns=wanted):
        yield pa.Table.from_batches([batch])


def _csv(path: Path, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """Everything is read as text; the intake decides what fits the declared types, row by row.

    Nothing between two commas is null, "" is an empty text; columns that are not declared are not read.
    """
    if not path.stat().st_size:
        return
    names = [column.name for column in columns]
    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.binary()),
        include_columns=names,
        include_missing_columns=True,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    bad: list[str] = []

    def skip(row: Any) -> str:
        bad.append(row.text)
        return "skip"

    parse = pa.csv.ParseOptions(invalid_row_handler=skip)
    for batch in pa.csv.open_csv(path, convert_options=convert, parse_options=parse):
        yield from tables_of(_decoded(batch))
    if bad:
        yield pa.table({UNPARSABLE: pa.array(bad, pa.string())})


def _decoded(batch: pa.RecordBatch) -> pa.Table:
    """Texts of bytes; rows with bytes that are no text cannot be read."""
    try:
        return pa.table([column.cast(pa.string()) for column in batch.columns], names=batch.schema.names)
    except pa.ArrowInvalid:
        return rows_table([_decoded_row(row) for row in batch.to_pylist()])


def _decoded_row(row: dict[str, bytes | None]) -> dict[str, str | None]:
    try:
        return {name: None if value is None else value.decode() for name, value in row.items()}
    except UnicodeDecodeError:
        return {UNPARSABLE: ",".join("" if value is None else repr(value)[2:-1] for value in row.values())}


def _json(path: Path, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = pa.json.read_json(path, parse_options=options)
    except pa.ArrowException:
        yield from _json_lines(path)
    else:
        yield from tables_of(table)


def _json_lines(path: Path) -> Iterator[pa.Table]:
    """Line by line, for files in which something is wrong, or of a type that Arrow does not read from JSON."""

    def read() -> Iterator[Mapping[str, Any]]:
        for line in path.read_bytes().split(b"\n"):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode())
                yield row if isinstance(row, dict) else {UNPARSABLE: line.decode()}
            except ValueError:
                yield {UNPARSABLE: line.decode(errors="replace")}

    yield from tables_of(read())


_FORMATS = {"parquet": _parquet, "csv": _csv, "json": _json, "arrow": _arrow}
