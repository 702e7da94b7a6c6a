"""Files that shards write themselves: a name for every batch and shard, so that a replay replaces them."""

from __future__ import annotations

import pyarrow as pa

from windrow.catalog import Connector
from windrow.runtime.outputs.sinks import write_file


def write_sink(sink: Connector, table: pa.Table, batch: int, shard: int) -> bool:
    """What a query emitted in a batch on a shard; whether that could be written. The driver does what is left.

    Without rows a file of an attempt that died is taken away: a table's file may have changed since.
    """
    try:
        write_file(table, str(sink.arguments[0]), file_name(sink, batch, shard), sink.name)
    except Exception:
        if sink.option("on_error") == "stop":
            raise
        return False
    return True


def file_name(sink: Connector, batch: int, shard: int) -> str:
    """Of what a query emitted in a batch on a shard."""
    return f"{batch_prefix(batch)}{shard:03}.{sink.name}"


def batch_prefix(batch: int) -> str:
    """What all files of a batch begin with."""
    return f"part-{batch:09}-"
