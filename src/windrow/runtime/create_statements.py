"""Statements that declare what Python holds: streams and tables with the columns of the rows that are handed over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from windrow.batch import sql_type
from windrow.errors import WindrowError
from windrow.plan.printer import identifier

Columns = Sequence[tuple[str, str]]  # names and types


def columns_of(rows: pa.Table) -> Columns:
    return [(field.name, str(sql_type(field.type))) for field in rows.schema]


def no_rows(name: str, hint: str = "write CREATE STREAM and push rows") -> WindrowError:
    """Why nothing can be declared."""
    return WindrowError(f"{name} has no rows to tell its columns from", hint)


def stream_statement(name: str, columns: Columns, timestamp: str, slack: str | None, source: str = "") -> str:
    late = "" if slack is None else f" SLACK {slack}"
    declared = ", ".join(_declared(columns))
    return f"CREATE STREAM {identifier(name)} ({declared}){source} TIMESTAMP BY {identifier(timestamp)}{late}"


def table_statement(name: str, columns: Columns, key: Sequence[str], retroactive: bool, folder: str) -> str:
    """A table of Parquet files."""
    primary = [f"PRIMARY KEY ({', '.join(map(identifier, key))})"] if key else []
    kind = "" if retroactive else " NON RETROACTIVE"
    declared = ", ".join([*_declared(columns), *primary])
    place = folder.replace("'", "''")
    return f"CREATE TABLE {identifier(name)} ({declared}){kind} FROM parquet('{place}')"


def _declared(columns: Columns) -> Iterable[str]:
    return (f"{identifier(name)} {of}" for name, of in columns)
