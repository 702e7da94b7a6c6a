"""Files that shards write themselves: a name for every batch and shard, so that a replay replaces them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from windrow.runtime.local.sinks import FILES, write_file
from windrow.runtime.spark.running import RunningQuery


def write_sink(query: RunningQuery, table: pa.Table, batch: int, shard: int) -> None:
    """What a query told in a batch on a shard; sinks that are no files are fed by the driver."""
    assert query.sink is not None
    form = query.sink.name
    if form not in FILES:
        return
    folder = Path(str(query.sink.arguments[0]))
    part = folder / f"part-{batch:09}-{shard:03}.{form}"
    if table.num_rows:
        folder.mkdir(parents=True, exist_ok=True)
        write_file(table, part, form)
    else:
        part.unlink(missing_ok=True)  # an attempt that died may have had rows, from a table's file that has changed
