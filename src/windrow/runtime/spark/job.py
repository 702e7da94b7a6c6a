"""One micro-batch as one Spark job.

On one machine it is one task, which takes the batch through all its stages: the shard servers do the work side by side,
and rows go from one to the other through it. On a cluster, and where Spark brings many rows, Spark moves them: every
stage is an exchange, and a task a shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from windrow.runtime.shards.batch_loop import Job
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.run_loop import SourceErrors
from windrow.runtime.shards.serving.channel import FileChannel, InlineChannel
from windrow.runtime.shards.serving.client import ShardServers
from windrow.runtime.shards.serving.sending import sent_batch
from windrow.runtime.shards.sources.deliveries import Delivery
from windrow.runtime.shards.tasks import messages
from windrow.runtime.shards.tasks.messages import ReadReport, ShardReport
from windrow.runtime.spark.own_spark import log_to_read
from windrow.runtime.spark.relay import coordinating, routing, stepping
from windrow.runtime.spark.spark_errors import translated
from windrow.runtime.spark.spark_session import check_running
from windrow.runtime.spark.workers import python_of_workers

_CANCELLED = "SPARK_JOB_CANCELLED"
OBSERVED = "windrow"  # the name under which listeners find metrics
_FEW_ROWS = 100_000  # of a stream that Spark brings in a micro-batch: one task reads them

Reports = list[ShardReport | ReadReport]


class SparkJobs:
    """The jobs of an engine. `channel` is there when all is on one machine."""

    def __init__(self, spark: SparkSession, servers: ShardServers, channel: FileChannel | None) -> None:
        self._spark, self._servers, self._channel = spark, servers, channel
        self._coordinated: dict[tuple[int, int], DataFrame] = {}  # by stages and shards
        self._brought: dict[str, int] = {}  # how many rows of a stream Spark has brought last

    def job(self, delivered: Mapping[str, Delivery]) -> Job:
        """A job over what the batch is to read and what Spark has brought."""

        def run(spec: BatchSpec) -> Reports:
            frames = {stream: delivery.rows for stream, delivery in delivered.items() if stream in spec.delivered}
            try:
                reports = [messages.report_in(row.body) for row in self._reports(spec, frames).collect()]
                self._note(spec, frames, reports)
                return reports
            except Exception as error:
                check_running(self._spark)
                if _CANCELLED in str(error):
                    raise
                failed = {stream: why for stream, it in delivered.items() if (why := _failure(it.rows)) is not None}
                if failed:
                    raise SourceErrors(failed) from error
                raise translated(error, log_to_read()) from error

        return run

    def _reports(self, spec: BatchSpec, frames: Mapping[str, DataFrame]) -> DataFrame:
        """What every shard of every stage reports, and every task that could not read something."""
        if self._channel is None or any(self._brought.get(stream, _FEW_ROWS) >= _FEW_ROWS for stream in frames):
            return self._exchanged(spec, frames.values())
        self._channel.put(sent_batch(spec, self._servers.count), spec.plan_content)
        if frames:
            return self._by_one_task(spec, self._channel, reduce(DataFrame.union, frames.values()).coalesce(1))
        form = spec.plan.stages, spec.plan.shards
        if form not in self._coordinated:  # else it is the one of the batch before, which Spark has planned already
            self._coordinated = {form: self._by_one_task(spec, self._channel, self._spark.range(0, 1, 1, 1))}
        return self._coordinated[form]

    def _by_one_task(self, spec: BatchSpec, channel: FileChannel, packed: DataFrame) -> DataFrame:
        with python_of_workers(self._spark.sparkContext):
            return _observed(packed.mapInArrow(coordinating(self._servers, channel), messages.SCHEMA), spec)

    def _note(self, spec: BatchSpec, streams: Iterable[str], reports: Reports) -> None:
        """How many rows came: the next micro-batch of a stream has about as many."""
        after = next(report.progress.streams for report in reports if isinstance(report, ShardReport))
        for stream in streams:
            if stream in after:
                had = spec.progress.streams[stream].intake.arrived
                self._brought[stream] = after[stream].intake.arrived - had

    def _exchanged(self, spec: BatchSpec, frames: Iterable[DataFrame]) -> DataFrame:
        batch = sent_batch(spec, self._spark.sparkContext.defaultParallelism)
        channel = InlineChannel(batch, spec.plan_content)
        packed = reduce(DataFrame.union, [_reading(self._spark, batch.tasks), *frames])
        with python_of_workers(self._spark.sparkContext):
            moving = packed.mapInArrow(routing(self._servers, channel), messages.SCHEMA)
            for stage in range(1, spec.plan.stages + 1):
                moving = (
                    moving.repartition(spec.plan.shards, "slot")
                    .groupBy("slot")
                    .applyInArrow(stepping(self._servers, channel, stage), messages.SCHEMA)
                )
        return _observed(moving, spec)


def _reading(spark: SparkSession, tasks: int) -> DataFrame:
    """A row for each task that reads for the driver: what it reads stands in the plan of the batch."""
    return spark.range(0, tasks, 1, tasks).select(
        F.lit("").alias("source"),
        F.col("id").cast("int").alias("task"),
        F.lit(tasks).cast("int").alias("tasks"),
        F.lit(None).cast("binary").alias("blob"),
    )


def _failure(rows: DataFrame) -> BaseException | None:
    """Whether the rows that Spark brings are what fails: then a job of them alone fails too."""
    try:
        rows.write.format("noop").mode("overwrite").save()
    except Exception as error:
        return error
    return None


def _observed(reports: DataFrame, spec: BatchSpec) -> DataFrame:
    """What the driver takes; Spark's listeners hear what the operators of each shard did."""
    return reports.observe(OBSERVED, *_metrics(spec)).select("body")


def _metrics(spec: BatchSpec) -> Iterator[Column]:
    """A JSON list of what the operators of each shard did, stage by stage."""
    for stage in range(1, spec.plan.stages + 1):
        for shard, slot in enumerate(messages.slots(spec.plan.shards)):
            is_its_own = (F.col("slot") == slot) & (F.col("stage") == messages.REPORT + stage)
            yield F.max(F.when(is_its_own, F.col("metrics"))).alias(f"stage {stage} shard {shard}")
