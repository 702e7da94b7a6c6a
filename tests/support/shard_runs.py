"""The shards of an engine without Spark: the same tasks and messages, grouped here instead of by a shuffle."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.clock import Clock
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.driver import Driver
from windrow.runtime.shards.engine import ShardedEngine
from windrow.runtime.shards.storage.lease import forget_leases
from windrow.runtime.shards.storage.shard_state import STATES
from windrow.runtime.shards.tasks import messages, shard
from windrow.runtime.shards.tasks.messages import ShardReport
from windrow.runtime.shards.tasks.router import route
from windrow.sources.rows import pushed_tables


class ShardsInProcess(ShardedEngine):
    """Rows are pushed, `step` is a micro-batch. `forgetful` workers have nothing in memory from batch to batch."""

    def __init__(
        self,
        shards: int,
        forgetful: bool = False,
        tasks: int = 2,
        checkpoint: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="windrow-")
        forget_leases()  # those before it in this process count as dead
        super().__init__(Driver(checkpoint or self._scratch.name, shards, clock=clock))
        self.place = Path(checkpoint or self._scratch.name)
        self._forgetful, self._tasks = forgetful, tasks
        self._waiting: list[tuple[str, pa.Table]] = []

    def push(self, stream: str, rows: Any) -> None:
        entry = self._driver.stream(stream)
        tables = pushed_tables(rows, stream, [column.name for column in entry.columns], 1 << 30)
        self._waiting += [(entry.name.lower(), table) for table in tables]

    def stream(self, name: str, data: Any, timestamp: str, slack: str | None = None) -> None:
        raise NotImplementedError  # streams are declared in CQL here

    def step(self) -> bool:
        rows, self._waiting = self._waiting, []
        self.micro_batch(self._driver.batches.next_number, rows)
        return not self.has_ended

    def micro_batch(self, number: int, rows: Sequence[tuple[str, pa.Table]]) -> None:
        self._driver.batches.micro_batch(number, self._job(rows))

    def tick(self) -> bool:
        """Have silent streams move on with the clock."""
        return self._driver.batches.tick()

    @property
    def driver(self) -> Driver:
        """For tests that look behind the curtain."""
        return self._driver

    def run(self, poll: Callable[[], object] | None = None) -> None:
        self._driver.batches.finish(self._job([]))

    def close(self) -> None:
        self._driver.close()
        self._scratch.cleanup()

    def _job(self, rows: Sequence[tuple[str, pa.Table]]) -> Callable[[BatchSpec], list[ShardReport]]:
        def job(spec: BatchSpec) -> list[ShardReport]:
            return in_process([packed(rows[task :: self._tasks]) for task in range(self._tasks)], spec, self._forgetful)

        return job


def files_naming_modules(checkpoint: Path) -> list[str]:
    """The files of a checkpoint that name a module of ours."""
    paths = (path for path in checkpoint.rglob("*") if path.is_file())
    return [str(path) for path in paths if b"windrow." in path.read_bytes()]


def packed(rows: Sequence[tuple[str, pa.Table]]) -> pa.RecordBatch:
    blobs = [messages.table_to_bytes(table) for _, table in rows]
    columns = [[name for name, _ in rows], ["blob"] * len(rows), [""] * len(rows)]
    arrays = [*(pa.array(column, pa.string()) for column in columns), pa.array(blobs, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=["source", "how", "what", "blob"])


def in_process(tasks: Sequence[pa.RecordBatch], spec: BatchSpec, forgetful: bool = False) -> list[ShardReport]:
    moving = pa.concat_tables(
        pa.Table.from_batches(batches) for task in tasks if (batches := list(route(spec, [task])))
    )
    for stage in range(1, spec.plan.stages + 1):
        if forgetful:
            STATES.clear()
        groups = [moving.filter(pa.compute.equal(moving["slot"], slot)) for slot in messages.slots(spec.plan.shards)]
        moving = pa.concat_tables(shard.step(spec, stage, group.combine_chunks()) for group in groups)
    return [pickle.loads(body) for body in moving["body"].to_pylist()]
