"""Files of rows: Parquet, CSV and JSON lines, read a chunk at a time.

Readers judge no values: what cannot be read at all comes as text, in a column of its own, and is rejected later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.batch import arrow_type
from windrow.catalog import ColumnDefinition
from windrow.errors import WindrowError
from windrow.sources.declared_columns import DeclaredColumns, declared_columns
from windrow.sources.file_format import FileFormat
from windrow.sources.rows import CHUNK, UNPARSABLE, renamed, rows_table, tables_of

Opening = Callable[[], pa.NativeFile]  # opens the file, as often as it is called
Columns = tuple[ColumnDefinition, ...]


def _parquet(opening: Opening, columns: Columns, form: FileFormat) -> Iterator[pa.Table]:
    with opening() as opened:
        file = pa.parquet.ParquetFile(opened)
        found = _columns_of_file(file.schema_arrow.names, columns)
        for batch in file.iter_batches(CHUNK, columns=list(found.names.values())):
            yield found.table(pa.Table.from_batches([batch]))


def _csv(opening: Opening, columns: Columns, form: FileFormat) -> Iterator[pa.Table]:
    """Everything is read as text; the intake decides what fits the declared types, row by row.

    Nothing between two commas is null, "" is an empty text; columns that are not declared are not read. In a file
    without a line of names they are the declared ones, in that order.
    """
    bad: list[str] = []

    def skip(row: Any) -> str:
        bad.append(row.text)
        return "skip"

    parse = pa.csv.ParseOptions(delimiter=form.delimiter, quote_char=form.quote, invalid_row_handler=skip)
    names = pa.csv.ReadOptions(column_names=None if form.header else _names(columns))
    with opening() as opened, pa.csv.open_csv(opened, read_options=names, parse_options=parse) as header:
        found = _columns_of_file(header.schema.names, columns)
    bad.clear()
    given = list(found.names.values())
    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(given, pa.binary()),
        include_columns=given,
        null_values=list({"", form.null}),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    with opening() as opened:
        for batch in pa.csv.open_csv(opened, names, parse, convert):
            yield from tables_of(found.remembered(_decoded(batch.rename_columns(list(found.names)))))
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


def _json(opening: Opening, columns: Columns, form: FileFormat) -> Iterator[pa.Table]:
    with opening() as opened:
        content = opened.read()
    if form.array:
        yield from _json_array(content, columns)
        return
    found = _json_columns(content, _names(columns))
    if found is None or not found.names:
        yield from _json_lines(content, columns)
        return
    schema = pa.schema(
        [(given, arrow_type(column.type)) for column in columns if (given := found.names.get(column.name))]
    )
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = pa.json.read_json(pa.BufferReader(content), parse_options=options)
    except pa.ArrowException:
        yield from _json_lines(content, columns)
    else:
        yield from tables_of(found.table(table))


def _json_array(content: bytes, columns: Columns) -> Iterator[pa.Table]:
    """One array of rows."""
    try:
        rows = json.loads(content)
    except ValueError as error:
        raise WindrowError(f"it is not JSON: {error}") from None
    if not isinstance(rows, list):
        raise WindrowError("it is not an array of rows")
    declared = _names(columns)
    for table in tables_of(renamed(row, declared) if isinstance(row, dict) else row for row in rows):
        yield _columns_of_file(table.column_names, columns).table(table)


def _json_columns(content: bytes, declared: Sequence[str]) -> DeclaredColumns | None:
    """The columns of lines that all have the same names for them; None when names differ in the case of their letters.

    Names are counted in the whole content, which costs little; what else there is is read from the first line.
    """
    lowered, first = content.lower(), _keys(content.lstrip().partition(b"\n")[0])
    names = {}
    for name in declared:
        given = next((key for key in first if key.lower() == name.lower()), name)
        times = lowered.count(_quoted(name.lower()))
        if name.isascii() and content.count(_quoted(given)) != times:
            return None
        if times or not name.isascii() or rb"\u" in content:  # letters may be written by their numbers
            names[name] = given
    return DeclaredColumns(names, [key for key in first if key.lower() not in {name.lower() for name in declared}])


def _quoted(name: str) -> bytes:
    return f'"{name}"'.encode()


def _keys(line: bytes) -> list[str]:
    try:
        row = json.loads(line)
    except ValueError:
        return []
    return list(row) if isinstance(row, dict) else []


def _json_lines(content: bytes, columns: Columns) -> Iterator[pa.Table]:
    """Line by line, for files in which something is wrong, or of a type that Arrow does not read from JSON."""
    declared = _names(columns)

    def read() -> Iterator[Mapping[str, Any]]:
        for line in content.split(b"\n"):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode())
                yield renamed(row, declared) if isinstance(row, dict) else {UNPARSABLE: line.decode()}
            except (ValueError, WindrowError):
                yield {UNPARSABLE: line.decode(errors="replace")}

    for table in tables_of(read()):
        yield _columns_of_file(table.column_names, columns).table(table)


def _columns_of_file(given: Sequence[str], columns: Columns) -> DeclaredColumns:
    found = declared_columns(given, [*_names(columns), UNPARSABLE])
    if not found.names:
        raise WindrowError(f"it has none of the columns that are declared, but {', '.join(given)}")
    return found


def _names(columns: Columns) -> list[str]:
    return [column.name for column in columns]


FORMATS = {"parquet": _parquet, "csv": _csv, "json": _json}
