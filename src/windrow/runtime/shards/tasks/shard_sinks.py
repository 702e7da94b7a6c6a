"""Files that shards write themselves: a name for every batch and shard, so that a replay replaces them."""

from __future__ import annotations

import pyarrow as pa

from windrow.catalog import Connector
from windrow.runtime.sink_folders import FILES
from windrow.runtime.sinks import write_file


def write_sink(sink: Connector, table: pa.Table, batch: int, shard: int) -> None:
    """What a query emitted in a batch on a shard; sinks that are no files are fed by the driver.

    Without rows a file of an attempt that died is taken away: a table's file may have changed since.
    """
    if sink.name in FILES:
        write_file(table, str(sink.arguments[0]), f"part-{batch:09}-{shard:03}.{sink.name}", sink.name)
