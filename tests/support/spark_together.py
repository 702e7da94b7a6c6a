"""Many engines in one Spark job: their micro-batches run side by side, through Spark's own shuffle and workers.

Every engine runs on a thread of its own. When all that still run are waiting for a job, the jobs are run as one: the
messages carry the number of the engine, and everything else is what `windrow.runtime.spark.job` does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from support.shard_runs import ShardsInProcess, packed
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.tasks import messages
from windrow.runtime.shards.tasks.messages import ReadReport, ShardReport
from windrow.runtime.shards.tasks.router import route
from windrow.runtime.shards.tasks.shard import step

Found = TypeVar("Found")
Rows = Sequence[tuple[str, pa.Table]]
_MESSAGES = f"engine int, {messages.SCHEMA}"


class Together:
    def __init__(self, spark: SparkSession, tasks: int = 2) -> None:
        self._spark, self._tasks = spark, tasks
        self._changed = threading.Condition()
        self._running = 0
        self._asked: dict[int, tuple[Rows, BatchSpec]] = {}
        self._answered: dict[int, list[ShardReport | ReadReport] | BaseException] = {}
        self.jobs = 0

    def map(self, function: Callable[[int], Found], count: int) -> list[Found | BaseException]:
        """The function of 0, 1, ... on threads; what it raises is given back in its place."""
        found: list[Any] = [None] * count

        def run(number: int) -> None:
            try:
                found[number] = function(number)
            except BaseException as error:
                found[number] = error
            finally:
                self._leave()

        self._running = count
        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        self._serve()
        for thread in threads:
            thread.join()
        return found

    def job(self, number: int, rows: Rows, spec: BatchSpec) -> list[ShardReport | ReadReport]:
        """Wait until all others wait too, and for what has come of it."""
        with self._changed:
            self._asked[number] = rows, spec
            self._changed.notify_all()
            self._changed.wait_for(lambda: number in self._answered)
            answer = self._answered.pop(number)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _leave(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: len(self._asked) >= self._running)
                if not self._running:
                    return
                asked, self._asked = self._asked, {}
            self.jobs += 1
            try:
                answers: dict[int, Any] = self._run(asked)
            except BaseException as error:
                answers = dict.fromkeys(asked, error)
            with self._changed:
                self._answered |= answers
                self._changed.notify_all()

    def _run(self, asked: dict[int, tuple[Rows, BatchSpec]]) -> dict[int, list[ShardReport | ReadReport]]:
        specs = {number: spec for number, (_, spec) in asked.items()}
        moving = self._source(asked).mapInArrow(_routed(specs), _MESSAGES)
        for stage in range(1, max(spec.plan.stages for spec in specs.values()) + 1):
            spread = moving.repartition(2 * self._tasks, "engine", "slot").groupBy("engine", "slot")
            moving = spread.applyInArrow(_stepped(specs, stage), _MESSAGES)
        found: dict[int, list[ShardReport | ReadReport]] = {number: [] for number in specs}
        for row in moving.select("engine", "body").collect():
            found[row.engine].append(messages.report_in(row.body))
        return found

    def _source(self, asked: dict[int, tuple[Rows, BatchSpec]]) -> Any:
        """Every engine has a row for each task, whether there are rows in it or not."""
        rows = []
        for number, (tables, _) in asked.items():
            for task in range(self._tasks):
                content = pa.Table.from_batches([packed(tables[task :: self._tasks], task, self._tasks)])
                rows.append((number, messages.table_to_bytes(content)))
        return self._spark.createDataFrame(rows, "engine int, rows binary").repartition(self._tasks)


def _routed(specs: dict[int, BatchSpec]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def routed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                for part in route(specs[number], pa.ipc.open_stream(content).read_all().to_batches()):
                    yield from _of_engine(number, pa.Table.from_batches([part])).to_batches()

    return routed


def _stepped(specs: dict[int, BatchSpec], stage: int) -> Callable[[pa.Table], pa.Table]:
    def stepped(received: pa.Table) -> pa.Table:
        number = received.column("engine")[0].as_py()
        return _of_engine(number, step(specs[number], stage, received.drop_columns(["engine"])))

    return stepped


def _of_engine(number: int, table: pa.Table) -> pa.Table:
    return table.add_column(0, "engine", pa.array([number] * table.num_rows, pa.int32()))


class OneOfMany(ShardsInProcess):
    """An engine whose jobs run with those of others."""

    def __init__(self, together: Together, number: int, shards: int) -> None:
        super().__init__(shards)
        self._together, self._number = together, number

    def _job(self, rows: Rows) -> Callable[[BatchSpec], list[ShardReport | ReadReport]]:
        return lambda spec: self._together.job(self._number, rows, spec)
