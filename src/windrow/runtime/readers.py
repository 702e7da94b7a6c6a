"""Queries as time sees them: what each reads, and since when."""

from __future__ import annotations

from typing import NamedTuple

from windrow.plan.analysis.relations import streams_of, tables_of
from windrow.plan.nodes import Node

Streams = frozenset[str]  # names in lower case


class Reader(NamedTuple):
    """What a query reads, from `start` on; rows before it are not in its windows."""

    streams: Streams
    tables: frozenset[str]
    start: int


def reader_of(plan: Node, start: int) -> Reader:
    return Reader(streams_of(plan), tables_of(plan), start)
