"""Rows as they go through a socket: Arrow streams."""

from __future__ import annotations

import pyarrow as pa

from windrow.runtime.shards.serving.frames import Part


def rows_to(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def rows_from(content: Part) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(content)).read_all()
