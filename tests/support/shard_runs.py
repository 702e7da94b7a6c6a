"""The shards of an engine without Spark: the same tasks and messages, grouped here instead of by a shuffle."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.clock import Clock
from windrow.runtime.shards.batch_loop import Job
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.driver import Driver
from windrow.runtime.shards.engine import ShardedEngine
from windrow.runtime.shards.run_loop import HostSources, NoHostSources, RunLoop
from windrow.runtime.shards.sources.deliveries import Deliveries, Delivery
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.shards.storage.codec import table_to_bytes
from windrow.runtime.shards.storage.lease import forget_leases
from windrow.runtime.shards.storage.shard_state import STATES, ShardState
from windrow.runtime.shards.storage.state_cache import StateCache
from windrow.runtime.shards.tasks import messages, shard
from windrow.runtime.shards.tasks.messages import ReadReport, ShardReport
from windrow.runtime.shards.tasks.router import route
from windrow.sources.rows import pushed_tables

BROUGHT = "brought"
_OTHER_MACHINE = StateCache[ShardState]()


class ShardsInProcess(ShardedEngine):
    """Rows are pushed, `step` is a micro-batch. `forgetful` shards have at most an old state in memory."""

    def __init__(
        self,
        shards: int | None,
        forgetful: bool = False,
        tasks: int = 2,
        checkpoint: str | None = None,
        clock: Clock | None = None,
        brought: HostSources | None = None,
    ) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="windrow-", ignore_cleanup_errors=True)
        forget_leases()  # those before it in this process count as dead
        opened = Checkpoint(checkpoint or self._scratch.name, clock)
        driver, self.deliveries = Driver(opened, shards), Deliveries()
        loop = RunLoop(driver, self.deliveries, brought or NoHostSources(), self._job_with)
        super().__init__(driver, loop, is_resumable=checkpoint is not None)
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
        self._driver.readers.look()
        self.micro_batch(self.next_number, rows)
        return not self.has_ended

    @property
    def next_number(self) -> int:
        """Of the micro-batch that is brought next: all that is pushed comes from one source of the host's."""
        return self._driver.batches.positions.last_delivery(BROUGHT) + 1

    def micro_batch(self, number: int, rows: Sequence[tuple[str, pa.Table]]) -> None:
        if self._driver.batches.positions.is_expected(BROUGHT, number):
            self._driver.batches.micro_batch(self._job(rows), {BROUGHT: number})
            self._driver.publishing.settle()

    def tick(self) -> bool:
        """Have silent streams move on with the clock."""
        return self._driver.batches.tick()

    @property
    def driver(self) -> Driver:
        """For tests that look behind the curtain."""
        return self._driver

    def run(self, poll: Callable[[], object] | None = None, follow: bool = False) -> None:
        self._driver.batches.finish(self._job([]))
        self._driver.publishing.settle()

    def close(self) -> None:
        self._driver.close()
        self._scratch.cleanup()

    def _job_with(self, delivered: Mapping[str, Delivery]) -> Job:
        return self._job([(stream, delivery.rows) for stream, delivery in delivered.items()])

    def _job(self, rows: Sequence[tuple[str, pa.Table]]) -> Job:
        def job(spec: BatchSpec) -> list[ShardReport | ReadReport]:
            tasks = [packed(rows[task :: self._tasks], task, self._tasks) for task in range(self._tasks)]
            return in_process(tasks, spec, self._forgetful)

        return job


class SourcesInProcess(ShardsInProcess):
    """The whole engine on shards, but that jobs run here: rows are pushed into the checkpoint, sources are followed."""

    push, stream, step, run = ShardedEngine.push, ShardedEngine.stream, ShardedEngine.step, ShardedEngine.run

    def close(self) -> None:
        ShardedEngine.close(self)
        super().close()


def files_naming_modules(checkpoint: Path) -> list[str]:
    """The files of a checkpoint that name a module of ours."""
    paths = (path for path in checkpoint.rglob("*") if path.is_file())
    return [str(path) for path in paths if b"windrow." in path.read_bytes()]


def packed(rows: Sequence[tuple[str, pa.Table]], task: int, tasks: int) -> pa.RecordBatch:
    """Rows as Spark would bring them, and the row that says which task this is."""
    names = [*(name for name, _ in rows), ""]
    numbers = [pa.array([*(None for _ in rows), number], pa.int32()) for number in (task, tasks)]
    blobs = pa.array([*(table_to_bytes(table) for _, table in rows), None], pa.binary())
    return pa.RecordBatch.from_arrays([pa.array(names), *numbers, blobs], names=["source", "task", "tasks", "blob"])


def _move_elsewhere(batch: int) -> None:
    """All shards go to the other one of two machines; every third batch finds it with nothing in memory."""
    STATES._entries, _OTHER_MACHINE._entries = _OTHER_MACHINE._entries, STATES._entries
    if batch % 3 == 0:
        STATES.clear()


def in_process(
    tasks: Sequence[pa.RecordBatch], spec: BatchSpec, forgetful: bool = False
) -> list[ShardReport | ReadReport]:
    moving = pa.concat_tables(
        pa.Table.from_batches(batches) for task in tasks if (batches := list(route(spec, [task])))
    )
    for stage in range(1, spec.plan.stages + 1):
        if forgetful:
            _move_elsewhere(spec.number)
        groups = [moving.filter(pa.compute.equal(moving["slot"], slot)) for slot in messages.slots(spec.plan.shards)]
        moving = pa.concat_tables(shard.step(spec, stage, group.combine_chunks()) for group in groups)
    return [messages.report_in(body) for body in moving["body"].to_pylist()]
