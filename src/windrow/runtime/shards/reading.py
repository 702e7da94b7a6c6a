"""Which columns of a stream leave its source, and how: what EXPLAIN says of it."""

from __future__ import annotations

from collections.abc import Callable

from windrow.catalog import StreamEntry
from windrow.plan.analysis.source_columns import source_columns
from windrow.plan.nodes import Node
from windrow.runtime.outputs.sink_folders import FILES


def columns_read(stream: StreamEntry, used: frozenset[str]) -> list[str]:
    """The columns that queries use, and those that place rows in time or say whether they can be taken."""
    used |= {name for name in (stream.timestamp, *stream.ties, stream.lifetime) if name is not None}
    used |= {column.name for column in stream.columns if not column.nullable or stream.punctuations}
    needs_all = any(column.computed is not None and column.name in used for column in stream.columns)
    return [column.name for column in stream.given if needs_all or column.name in used]


def readings(plan: Node, stream_of: Callable[[str], StreamEntry]) -> tuple[str, ...]:
    """How the streams of a plan are read, where there is something to say."""
    used, found = source_columns([plan]), []
    for name in sorted(used):
        stream = stream_of(name)
        form = "" if stream.connector is None else stream.connector.name
        if form == "dataframe":
            columns = ", ".join(columns_read(stream, used[name]))
            found.append(f"{stream.name}: Spark reads it, and only {columns} leave the JVM for this query")
        elif form in FILES:
            found.append(f"{stream.name}: workers read the {form} files, only their paths leave the JVM")
    return tuple(found)
