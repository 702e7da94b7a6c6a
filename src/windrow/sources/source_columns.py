"""The columns that the rows of a source have, for declarations that name none: from what files say, or a sample."""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.batch import sql_type
from windrow.catalog import ColumnDefinition, Connector
from windrow.errors import WindrowError
from windrow.sources.file_format import FileFormat, file_format
from windrow.sources.files import FORMATS
from windrow.sources.generators import generator
from windrow.sources.rows import rows_table
from windrow.sources.source_folder import SourceFolder, is_gzip
from windrow.types import STRING, Type

_FILES = 3  # that are looked at; a column of any of them is one of the source
_SAMPLE = 1 << 20  # bytes of a text
_WRITE = "write the columns: (ts TIMESTAMP, ...)"


def source_columns(connector: Connector) -> tuple[ColumnDefinition, ...]:
    """Of files those of the first few, of a generator its own; an error says what to write where there are none."""
    if connector.name == "generator":
        made = generator(str(connector.arguments[0]), dict(connector.options))
        return _definitions(made.read(0, 1).schema)
    if connector.name not in FORMATS:
        raise WindrowError(f"{connector.name} does not say which columns its rows have", _WRITE)
    place, form = SourceFolder(str(connector.arguments[0])), file_format(connector)
    files = [file for file in place.files(form) if file.size][:_FILES]
    if not files:
        raise WindrowError(f"there is no {form.name} file yet in {place.address} to take columns from", _WRITE)
    try:
        schemas = [_SCHEMAS[form.name](place, file.name, form) for file in files]
        return _definitions(pa.unify_schemas(schemas, promote_options="permissive"))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise WindrowError(f"no columns can be taken from {files[0].name or place.address}: {error}", _WRITE) from None


def _definitions(schema: pa.Schema) -> tuple[ColumnDefinition, ...]:
    return tuple(ColumnDefinition(field.name, _type_of(field.type)) for field in schema)


def _type_of(found: pa.DataType) -> Type:
    """A column that has no value in the sample may get any: texts."""
    return STRING if pa.types.is_null(found) or pa.types.is_time(found) else sql_type(found)


def _parquet(place: SourceFolder, name: str, form: FileFormat) -> pa.Schema:
    with place.open(name) as opened:
        return pa.parquet.read_schema(opened)


def _csv(place: SourceFolder, name: str, form: FileFormat) -> pa.Schema:
    if not form.header:
        raise ValueError("it has no line of names")
    read = pa.csv.ReadOptions(block_size=_SAMPLE)
    parse = pa.csv.ParseOptions(delimiter=form.delimiter, quote_char=form.quote, invalid_row_handler=lambda row: "skip")
    convert = pa.csv.ConvertOptions(null_values=list({"", form.null}), strings_can_be_null=True)
    with pa.csv.open_csv(pa.BufferReader(_sample(place, name)), read, parse, convert) as opened:
        return opened.schema


def _json(place: SourceFolder, name: str, form: FileFormat) -> pa.Schema:
    if form.array:
        with place.open_stream(name) as opened:
            return rows_table(json.loads(opened.read())).schema
    return pa.json.read_json(pa.BufferReader(_sample(place, name))).schema


def _sample(place: SourceFolder, name: str) -> bytes:
    """Whole lines from the beginning of a text."""
    with place.open_stream(name) if is_gzip(name or place.address) else place.open(name) as opened:
        content: bytes = opened.read(_SAMPLE)
    return content if len(content) < _SAMPLE else content[: content.rfind(b"\n") + 1]


_SCHEMAS: dict[str, Callable[[SourceFolder, str, FileFormat], pa.Schema]] = {
    "parquet": _parquet,
    "csv": _csv,
    "json": _json,
}
