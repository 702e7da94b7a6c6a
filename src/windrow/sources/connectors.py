"""What FROM names in CREATE STREAM and CREATE TABLE, as Arrow tables in the order in which rows arrive."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from windrow.catalog import ColumnDefinition, Connector
from windrow.errors import WindrowError, nearest
from windrow.sources.declared_columns import not_declared
from windrow.sources.files import FORMATS, files_in, read_file, read_files
from windrow.sources.generators import Generator, generator
from windrow.sources.rows import CHUNK, UNPARSABLE


def source_of(connector: Connector, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """The rows of a connector, a chunk at a time; what is wrong with the connector is said at once."""
    if connector.name == "generator":
        return _generated(generator(str(connector.arguments[0]), dict(connector.options)))
    if connector.name in FORMATS:
        return read_files(files_in(Path(str(connector.arguments[0])), connector.name), connector.name, columns)
    hint = "parquet, csv, json and generator are; hand other data over with engine.stream(name, data)"
    raise WindrowError(f"{connector.name} is not a source of the local runtime", hint)


def check_columns(connector: Connector, columns: tuple[ColumnDefinition, ...]) -> None:
    """Refuse columns that none of the files that there are has; for what is read once, when it is declared."""
    if connector.name not in FORMATS:
        return
    missing, others, seen = [column.name for column in columns], list[str](), False
    for path in files_in(Path(str(connector.arguments[0])), connector.name):
        for table in islice(read_file(path, connector.name, columns), 1):
            missing = [name for name in missing if name not in table.column_names]
            others += not_declared(table)
            seen = seen or UNPARSABLE not in table.column_names
        if not missing:
            return
    if seen:
        raise WindrowError(f"no file has a column {missing[0]}", nearest(missing[0], others, "other columns"))


def _generated(made: Generator) -> Iterator[pa.Table]:
    first = 0
    while made.rows is None or first < made.rows:
        last = first + CHUNK if made.rows is None else min(first + CHUNK, made.rows)
        yield made.read(first, last)
        first = last
