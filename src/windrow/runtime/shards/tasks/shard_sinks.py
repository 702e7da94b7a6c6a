"""Files that shards write themselves: a name for every batch and shard, which they get when the batch is committed.

Until then they are hidden, under a name that has the attempt in it. So whatever a task writes that is not of a
committed batch, because it died, was run twice, or works for a driver that has lost its checkpoint, is seen by nobody.
"""

from __future__ import annotations

import pyarrow as pa

from windrow.catalog import Connector
from windrow.runtime.outputs.sinks import write_hidden


def write_sink(sink: Connector, table: pa.Table, name: str, attempt: str) -> bool:
    """What a query emitted in a batch on a shard; whether that could be written. The driver does what is left."""
    try:
        write_hidden(table, str(sink.arguments[0]), hidden_name(name, attempt), sink.name)
    except Exception:
        if sink.option("on_error") == "stop":
            raise
        return False
    return True


def file_name(sink: Connector, batch: int, shard: int) -> str:
    """Of what a query emitted in a batch on a shard."""
    return f"{batch_prefix(batch)}{shard:03}.{sink.name}"


def hidden_name(name: str, attempt: str) -> str:
    """Until its batch is committed."""
    return f".{name}.{attempt}"


def batch_prefix(batch: int) -> str:
    """What all files of a batch begin with."""
    return f"part-{batch:09}-"
