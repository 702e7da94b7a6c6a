"""Connectors: what CREATE ... FROM and INTO may name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ConnectorKind:
    """How a connector is written; `fewest` and `most` count the options without a name."""

    name: str
    usage: str
    fewest: int
    most: int


def _by_name(*kinds: ConnectorKind) -> dict[str, ConnectorKind]:
    return {kind.name: kind for kind in kinds}


_FILES = (
    ConnectorKind("parquet", "parquet('folder')", 1, 1),
    ConnectorKind("csv", "csv('folder')", 1, 1),
    ConnectorKind("json", "json('folder')", 1, 1),
)
STREAM_SOURCES = _by_name(
    *_FILES,
    ConnectorKind("generator", "generator('traffic', rate => 1000)", 1, 1),
    ConnectorKind("rate", "rate(rows_per_second => 1000)", 0, 0),
    ConnectorKind("socket", "socket('host', 9999)", 2, 2),
)
TABLE_SOURCES = _by_name(*_FILES, ConnectorKind("postgres", "postgres('host=... dbname=...', 'table')", 2, 2))
SINKS = _by_name(
    *_FILES,
    ConnectorKind("console", "console()", 0, 0),
    ConnectorKind("memory", "memory()", 0, 1),
    ConnectorKind("python", "python('module:function')", 1, 1),
)
