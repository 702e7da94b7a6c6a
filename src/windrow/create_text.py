"""Statements of what is in the catalog, as SHOW CREATE gives them: reading one makes the same again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from windrow.catalog import (
    ColumnDefinition,
    Connector,
    Entry,
    QueryEntry,
    StreamEntry,
    TableEntry,
    ViewEntry,
    WindowEntry,
)
from windrow.catalog.entries import EXACT
from windrow.masking import is_secret, masked
from windrow.plan.expressions import Literal, Value
from windrow.plan.printer import identifier, literal_text
from windrow.types import BIGINT, BOOLEAN, DOUBLE, NULL, STRING, decimal
from windrow.units import MAX_DURATION, format_duration, format_timestamp


def create_text(entry: Entry) -> str:
    """Secrets of connectors are not shown."""
    return _TEXTS[type(entry)](entry)


def _stream(entry: StreamEntry) -> str:
    times = ", ".join(map(identifier, (entry.timestamp, *entry.ties) if entry.timestamp else ()))
    clauses = (f"TIMESTAMP BY {times}" if times else "ARRIVAL", *_stream_clauses(entry))
    source = () if entry.connector is None else (f"FROM {_connector(entry.connector)}",)
    return " ".join((f"CREATE STREAM {identifier(entry.name)} ({_columns(entry.columns)})", *source, *clauses))


def _stream_clauses(entry: StreamEntry) -> Iterator[str]:
    if entry.slack:
        yield f"SLACK {format_duration(entry.slack)}"
    if entry.lifetime is not None:
        yield f"LIFETIME BY {identifier(entry.lifetime)}"
    if entry.heartbeat is not None:
        yield f"HEARTBEAT {format_duration(entry.heartbeat)}"
    if entry.idle_after is not None:
        yield f"IDLE AFTER {format_duration(entry.idle_after)}"
    if entry.ahead is not None:
        yield "AHEAD UNLIMITED" if entry.ahead == MAX_DURATION else f"AHEAD {format_duration(entry.ahead)}"
    if entry.ahead_of_newest is not None:
        yield f"AHEAD {format_duration(entry.ahead_of_newest)} OF NEWEST"
    for punctuation in entry.punctuations:
        where = () if punctuation.where is None else (f"WHERE {punctuation.where}",)
        by = () if not punctuation.by else (f"BY {', '.join(map(identifier, punctuation.by))}",)
        yield " ".join(("PUNCTUATION", *where, *by))
    if entry.late_sink is not None:
        yield f"LATE INTO {_connector(entry.late_sink)}"
    if entry.rejected_sink is not None:
        yield f"REJECTED INTO {_connector(entry.rejected_sink)}"


def _table(entry: TableEntry) -> str:
    key = f", PRIMARY KEY ({', '.join(map(identifier, entry.primary_key))})" if entry.primary_key else ""
    parts = [f"CREATE TABLE {identifier(entry.name)} ({_columns(entry.columns)}{key})"]
    if not entry.retroactive:
        parts.append("NON RETROACTIVE")
    if entry.connector is not None:
        parts.append(f"FROM {_connector(entry.connector)}")
    if entry.effective is not None:
        parts.append(f"EFFECTIVE BY {identifier(entry.effective)}")
    return " ".join(parts)


def _window(entry: WindowEntry) -> str:
    return f"CREATE WINDOW {identifier(entry.name)} AS {entry.text}"


def _view(entry: ViewEntry) -> str:
    return f"CREATE VIEW {identifier(entry.name)} AS {entry.text}"


def _query(entry: QueryEntry) -> str:
    refresh = "" if entry.refresh == EXACT else f" REFRESH {entry.refresh.upper()}"
    sink = "" if entry.sink is None else f" INTO {_connector(entry.sink)}"
    return f"CREATE QUERY {identifier(entry.name)} AS {entry.text}{refresh}{sink}{_life(entry)}"


def _life(entry: QueryEntry) -> str:
    starting = " STARTING NOW" if entry.starting_now else ""
    if entry.until is not None:
        return f"{starting} UNTIL TIMESTAMP '{format_timestamp(entry.until)}'"
    return starting if entry.lasting is None else f"{starting} FOR {format_duration(entry.lasting)}"


_TEXTS: dict[type[Any], Callable[[Any], str]] = {
    StreamEntry: _stream,
    TableEntry: _table,
    WindowEntry: _window,
    ViewEntry: _view,
    QueryEntry: _query,
}


# Of options; a number with a point is exact.
_TYPES = {str: STRING, bool: BOOLEAN, int: BIGINT, float: DOUBLE, Decimal: decimal(38, 0), type(None): NULL}


def _columns(columns: tuple[ColumnDefinition, ...]) -> str:
    return ", ".join(map(_column, columns))


def _column(column: ColumnDefinition) -> str:
    computed = "" if column.computed is None else f" AS {column.computed}"
    return f"{identifier(column.name)} {column.type}{computed}{'' if column.nullable else ' NOT NULL'}"


def _connector(connector: Connector) -> str:
    arguments = [_value(value) for value in connector.arguments]
    options = [f"{name} => {_value('***' if is_secret(name) else value)}" for name, value in connector.options]
    return f"{connector.name}({', '.join((*arguments, *options))})"


def _value(value: Value) -> str:
    shown = masked(value) if isinstance(value, str) else value
    return literal_text(Literal(shown, _TYPES[type(shown)]))
