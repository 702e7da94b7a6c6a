"""What FROM names in CREATE STREAM and CREATE TABLE, as Arrow tables in the order in which rows arrive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from windrow.catalog import ColumnDefinition, Connector
from windrow.errors import WindrowError
from windrow.sources.files import FORMATS, files_in, read_files
from windrow.sources.generators import Generator, generator
from windrow.sources.rows import CHUNK


def source_of(connector: Connector, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """The rows of a connector, a chunk at a time; what is wrong with the connector is said at once."""
    if connector.name == "generator":
        return _generated(generator(str(connector.arguments[0]), dict(connector.options)))
    if connector.name in FORMATS:
        return read_files(files_in(Path(str(connector.arguments[0])), connector.name), connector.name, columns)
    hint = "parquet, csv, json and generator are; hand other data over with engine.stream(name, data)"
    raise WindrowError(f"{connector.name} is not a source of the local runtime", hint)


def _generated(made: Generator) -> Iterator[pa.Table]:
    first = 0
    while made.rows is None or first < made.rows:
        last = first + CHUNK if made.rows is None else min(first + CHUNK, made.rows)
        yield made.read(first, last)
        first = last
