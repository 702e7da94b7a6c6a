"""A Python sink that can be told to refuse what it gets, by the name of the query."""

from __future__ import annotations

import pyarrow as pa

GOT: dict[str, list[pa.Table]] = {}
REFUSING: dict[str, str] = {}  # what it says, by query


def receive(table: pa.Table) -> None:
    """Called as `python('support.failing_sink:receive')`."""
    query = table.schema.metadata[b"query"].decode()
    if query in REFUSING:
        raise OSError(REFUSING[query])
    GOT.setdefault(query, []).append(table)
