"""Connectors: what CREATE ... FROM and INTO may name."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.types import BIGINT, STRING, TIMESTAMP, Type


@dataclass(frozen=True)
class ConnectorKind:
    """How a connector is written; `fewest` and `most` count the options without a name.

    `options` are those with a name; None where whoever makes the rows knows them, as generators do.
    """

    name: str
    usage: str
    fewest: int
    most: int
    options: tuple[str, ...] | None = ()
    columns: tuple[tuple[str, Type], ...] | None = None  # those that its rows have; None when they can have any


def _by_name(*kinds: ConnectorKind) -> dict[str, ConnectorKind]:
    return {kind.name: kind for kind in kinds}


def _files(*options: str, **own: tuple[str, ...]) -> tuple[ConnectorKind, ...]:
    """The formats of files; `own` are options that one of them has beside the others."""
    return tuple(
        ConnectorKind(form, f"{form}('folder')", 1, 1, (*own.get(form, ()), *options))
        for form in ("parquet", "csv", "json")
    )


MODES = ("changelog", "upsert", "snapshot")
ON_ERROR = ("retry", "stop")
_OUTPUT = ("mode", "key", "on_error")
_WRITTEN: dict[str, tuple[str, ...]] = {"csv": ("delimiter", "header", "quote", "null"), "json": ("array",)}
_RATE = (("timestamp", TIMESTAMP), ("value", BIGINT))  # Spark's names
_SOCKET = (("value", STRING),)
_EXPECTED = ("rate", "on_error")  # rows per second, for the planner; 'stop' when it cannot be reached
STREAM_SOURCES = _by_name(
    *_files("files", *_EXPECTED, "max_files", **_WRITTEN),  # at most so many of them in a micro-batch, on Spark
    ConnectorKind("generator", "generator('traffic', rate => 1000)", 1, 1, None),
    ConnectorKind("rate", "rate(rows_per_second => 1000)", 0, 0, ("rows_per_second", *_EXPECTED), _RATE),
    ConnectorKind("socket", "socket('host', 9999)", 2, 2, _EXPECTED, _SOCKET),
    ConnectorKind("dataframe", "dataframe()", 0, 0, _EXPECTED),  # handed over with engine.stream
)
TABLE_SOURCES = _by_name(
    *_files("files", **_WRITTEN), ConnectorKind("postgres", "postgres('host=... dbname=...', 'table')", 2, 2)
)
SINKS = _by_name(
    *_files(*_OUTPUT),
    ConnectorKind("console", "console()", 0, 0, _OUTPUT),
    ConnectorKind("memory", "memory()", 0, 1, _OUTPUT),
    ConnectorKind("python", "python('module:function')", 1, 1, _OUTPUT),
)
