"""What Spark's tasks do: they carry rows to the shard servers of their machine and take away what comes out.

Workers load this file and what it names, which is next to nothing: operators and state are in the servers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import TaskContext

from windrow.runtime.shards.serving.arrow_streams import rows_from, rows_to
from windrow.runtime.shards.serving.channel import Channel
from windrow.runtime.shards.serving.client import ROUTE, STEP, Request, ShardServers
from windrow.runtime.shards.serving.coordinator import PACKED, coordinated

Batches = Iterator[pa.RecordBatch]


def coordinating(servers: ShardServers, channel: Channel) -> Callable[[Batches], Batches]:
    """The one task of a job that is the whole micro-batch; what it gets that are not rows of streams means nothing."""

    def coordinate(batches: Batches) -> Batches:
        packed = [batch for batch in batches if batch.num_rows and batch.num_columns == len(PACKED)]
        rows = [rows_to(pa.Table.from_batches([batch])) for batch in packed]
        yield from coordinated(servers, channel, rows).to_batches()

    return coordinate


def routing(servers: ShardServers, channel: Channel) -> Callable[[Batches], Batches]:
    """A task that reads, or gets rows that Spark has packed; it sends messages to shards."""

    def routed(packed: Batches) -> Batches:
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        batches = list(packed)
        rows = pa.Table.from_batches(batches) if batches else PACKED.empty_table()
        (answer,) = servers.ask(channel, channel.batch(), [(number, Request(ROUTE, 0, rows_to(rows)))])
        yield from rows_from(answer).to_batches()

    return routed


def stepping(servers: ShardServers, channel: Channel, stage: int) -> Callable[[pa.Table], pa.Table]:
    """A task with all messages of one shard."""

    def stepped(received: pa.Table) -> pa.Table:
        batch = channel.batch()
        shard = batch.slots.index(received.column("slot")[0].as_py())
        (answer,) = servers.ask(channel, batch, [(shard, Request(STEP, stage, rows_to(received)))])
        return rows_from(answer)

    return stepped
