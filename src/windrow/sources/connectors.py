"""What FROM names in CREATE STREAM and CREATE TABLE, as Arrow tables in the order in which rows arrive."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

import pyarrow as pa

from windrow.catalog import ColumnDefinition, Connector
from windrow.errors import WindrowError, nearest
from windrow.sources.declared_columns import not_declared
from windrow.sources.file_format import file_format
from windrow.sources.file_reading import read_whole
from windrow.sources.files import FORMATS
from windrow.sources.folder_reader import FolderReader
from windrow.sources.folder_tables import FolderTables
from windrow.sources.generators import Generator, generator
from windrow.sources.rows import CHUNK, UNPARSABLE
from windrow.sources.source_folder import SourceFolder

ON_ERROR = ("retry", "stop")  # what is done when a source cannot be reached


def stream_source_of(connector: Connector, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """The rows of the source of a stream, a chunk at a time; files as they come."""
    if connector.name not in FORMATS:
        return source_of(connector, columns)
    check_source(connector)
    return FolderTables(folder_reader(connector), file_format(connector), columns)


def source_of(connector: Connector, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """The rows of a connector as they are now, a chunk at a time; what is wrong with it is said at once."""
    if connector.name == "generator":
        return _generated(generator(str(connector.arguments[0]), dict(connector.options)))
    if connector.name in FORMATS:
        check_source(connector)
        return chain.from_iterable(
            read_whole(SourceFolder(str(connector.arguments[0])), file_format(connector), columns)
        )
    hint = "parquet, csv, json and generator are; hand other data over with engine.stream(name, data)"
    raise WindrowError(f"{connector.name} is not a source of the local runtime", hint)


def check_columns(connector: Connector, columns: tuple[ColumnDefinition, ...]) -> None:
    """Refuse columns that none of the files that there are has; for what is read once, when it is declared."""
    if connector.name not in FORMATS:
        return
    missing, others, seen = [column.name for column in columns], list[str](), False
    check_source(connector)
    for tables in read_whole(SourceFolder(str(connector.arguments[0])), file_format(connector), columns):
        for table in islice(tables, 1):
            missing = [name for name in missing if name not in table.column_names]
            others += not_declared(table)
            seen = seen or UNPARSABLE not in table.column_names
        if not missing:
            return
    if seen:
        raise WindrowError(f"no file has a column {missing[0]}", nearest(missing[0], others, "other columns"))


def check_source(connector: Connector) -> None:
    """Refuse what cannot be read: a folder that is not there, a number of files that is none."""
    on_error = connector.option("on_error")
    if on_error not in (None, *ON_ERROR):
        raise WindrowError(f"{on_error!r} cannot be done on an error", "write on_error => 'retry' or 'stop'")
    if connector.name not in FORMATS:
        return
    file_format(connector)
    SourceFolder(str(connector.arguments[0])).check()
    most = connector.option("max_files")
    if most is not None and (not isinstance(most, int) or most < 1):
        hint = f"write {connector.name}('folder', max_files => 10)"
        raise WindrowError(f"{most!r} files cannot be read at a time", hint)


def folder_reader(connector: Connector) -> FolderReader:
    """What decides what is read next of the files that a connector names."""
    most = connector.option("max_files")
    return FolderReader(str(connector.arguments[0]), file_format(connector), most if isinstance(most, int) else None)


def stops_on_error(connector: Connector | None) -> bool:
    """Whether a source that cannot be reached ends the run, instead of being tried again."""
    return connector is not None and connector.option("on_error") == "stop"


def _generated(made: Generator) -> Iterator[pa.Table]:
    first = 0
    while made.rows is None or first < made.rows:
        last = first + CHUNK if made.rows is None else min(first + CHUNK, made.rows)
        yield made.read(first, last)
        first = last
