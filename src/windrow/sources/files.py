"""Files of rows: Parquet, CSV, JSON lines and Arrow streams, read a chunk at a time.

Readers judge no values: what cannot be read at all comes as text, in a column of its own, and is rejected later.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.batch import arrow_type
from windrow.catalog import ColumnDefinition
from windrow.errors import WindrowError
from windrow.sources.rows import CHUNK, UNPARSABLE, rows_table, tables_of


def files_in(place: Path, form: str) -> list[Path]:
    """The files of a format in a folder, in the order of their names, or the one file that is named."""
    paths = sorted(place.rglob(f"*.{form}")) if place.is_dir() else [place]
    if not paths or not paths[0].exists():
        raise WindrowError(f"there are no {form} files in {place}", "give a file, or a folder with such files")
    return paths


def read_files(paths: list[Path], form: str, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """The rows of files, one file after the other."""
    for path in paths:
        yield from read_file(path, form, columns)


def read_file(path: Path, form: str, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """The rows of one file, a chunk at a time; a file that cannot be read counts as a row that cannot be read."""
    try:
        yield from FORMATS[form](path, columns)
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


FORMATS = {"parquet": _parquet, "csv": _csv, "json": _json, "arrow": _arrow}
