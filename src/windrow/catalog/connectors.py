"""Connectors: what CREATE ... FROM and INTO may name."""

from __future__ import annotations

from dataclasses import dataclass


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


def _by_name(*kinds: ConnectorKind) -> dict[str, ConnectorKind]:
    return {kind.name: kind for kind in kinds}


def _files(*options: str) -> tuple[ConnectorKind, ...]:
    return tuple(ConnectorKind(form, f"{form}('folder')", 1, 1, options) for form in ("parquet", "csv", "json"))


MODES = ("changelog", "upsert", "snapshot")
_TOLD = ("mode", "key")
_EXPECTED = ("rate",)  # rows a second, for the planner
STREAM_SOURCES = _by_name(
    *_files(*_EXPECTED),
    ConnectorKind("generator", "generator('traffic', rate => 1000)", 1, 1, None),
    ConnectorKind("rate", "rate(rows_per_second => 1000)", 0, 0, ("rows_per_second", *_EXPECTED)),
    ConnectorKind("socket", "socket('host', 9999)", 2, 2, _EXPECTED),
)
TABLE_SOURCES = _by_name(*_files(), ConnectorKind("postgres", "postgres('host=... dbname=...', 'table')", 2, 2))
SINKS = _by_name(
    *_files(*_TOLD),
    ConnectorKind("console", "console()", 0, 0, _TOLD),
    ConnectorKind("memory", "memory()", 0, 1, _TOLD),
    ConnectorKind("python", "python('module:function')", 1, 1, _TOLD),
)
