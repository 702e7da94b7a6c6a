"""A Python sink that can be told to refuse what it gets, or not to return, by the name of the query."""

from __future__ import annotations

import threading

import pyarrow as pa

GOT: dict[str, list[pa.Table]] = {}
REFUSING: dict[str, str] = {}  # what it says, by query
HANGING: dict[str, threading.Event] = {}  # until when it does not return, by query


def receive(table: pa.Table) -> None:
    """Called as `python('support.failing_sink:receive')`."""
    query = table.schema.metadata[b"query"].decode()
    if query in HANGING:
        HANGING[query].wait()
    if query in REFUSING:
        raise OSError(REFUSING[query])
    GOT.setdefault(query, []).append(table)
