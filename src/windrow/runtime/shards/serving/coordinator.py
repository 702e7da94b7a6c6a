"""A micro-batch through all its stages, by one task: rows are routed and exchanged here instead of by Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from windrow.runtime.shards.serving.arrow_streams import rows_from, rows_to
from windrow.runtime.shards.serving.channel import Channel
from windrow.runtime.shards.serving.client import ROUTE, STEP, Request, ShardServers

PACKED = pa.schema([("source", pa.string()), ("task", pa.int32()), ("tasks", pa.int32()), ("blob", pa.binary())])


def coordinated(servers: ShardServers, channel: Channel, brought: Sequence[pa.Buffer] = ()) -> pa.Table:
    """What all shards of all stages report, of what the batch is to read and rows that were brought along, packed."""
    batch = channel.batch()
    packed = [*(_task(task, batch.tasks) for task in range(batch.tasks)), *brought]
    routing = [(task, Request(ROUTE, 0, rows)) for task, rows in enumerate(packed)]
    moving = _together(servers.ask(channel, batch, routing))
    for stage in range(1, batch.stages + 1):
        of_slots = [moving.filter(pc.equal(moving["slot"], slot)) for slot in batch.slots]
        stepping = [(shard, Request(STEP, stage, rows_to(rows))) for shard, rows in enumerate(of_slots)]
        moving = _together(servers.ask(channel, batch, stepping))
    return moving


def _task(number: int, tasks: int) -> pa.Buffer:
    return rows_to(pa.table([[""], [number], [tasks], [None]], schema=PACKED))


def _together(parts: Sequence[memoryview]) -> pa.Table:
    return pa.concat_tables(map(rows_from, parts)).combine_chunks()
