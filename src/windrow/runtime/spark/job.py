"""One micro-batch as one Spark job: rows are read and routed, then every stage is one exchange and one step a shard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from windrow.runtime.shards.batch_loop import Job
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.run_loop import SourceErrors
from windrow.runtime.shards.sources.deliveries import Delivery
from windrow.runtime.shards.tasks import messages
from windrow.runtime.shards.tasks.messages import ReadReport, ShardReport
from windrow.runtime.shards.tasks.router import route
from windrow.runtime.shards.tasks.shard import step
from windrow.runtime.spark.own_spark import log_to_read
from windrow.runtime.spark.spark_errors import translated
from windrow.runtime.spark.spark_session import check_running
from windrow.runtime.spark.workers import python_of_workers

_CANCELLED = "SPARK_JOB_CANCELLED"
OBSERVED = "windrow"  # the name under which listeners find metrics


def job_on(spark: SparkSession, delivered: Mapping[str, Delivery]) -> Job:
    """A job over what the batch is to read and what Spark has brought."""

    def run(spec: BatchSpec) -> list[ShardReport | ReadReport]:
        frames = [delivery.rows for stream, delivery in delivered.items() if stream in spec.delivered]
        try:
            return _run(reduce(DataFrame.union, [_reading(spark, spec), *frames]), spec)
        except Exception as error:
            check_running(spark)
            if _CANCELLED in str(error):
                raise
            if failed := {stream: why for stream, it in delivered.items() if (why := _failure(it.rows)) is not None}:
                raise SourceErrors(failed) from error
            raise translated(error, log_to_read()) from error

    return run


def _reading(spark: SparkSession, spec: BatchSpec) -> DataFrame:
    """A row for each task that reads for the driver: what it reads stands in the plan of the batch."""
    tasks = max(1, min(len(spec.reads), spark.sparkContext.defaultParallelism))
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


def _run(packed: DataFrame, spec: BatchSpec) -> list[ShardReport | ReadReport]:
    """What every shard of every stage reports, and every task that could not read something."""

    def routed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return route(spec, batches)

    with python_of_workers(packed.sparkSession.sparkContext):
        moving = packed.mapInArrow(routed, messages.SCHEMA)
        for stage in range(1, spec.plan.stages + 1):
            moving = (
                moving.repartition(spec.plan.shards, "slot")
                .groupBy("slot")
                .applyInArrow(_step(spec, stage), messages.SCHEMA)
            )
    reported = moving.observe(OBSERVED, *_metrics(spec))
    return [messages.report_in(row.body) for row in reported.select("body").collect()]


def _metrics(spec: BatchSpec) -> Iterator[Column]:
    """For Spark's listeners: a JSON list of what the operators of each shard did, stage by stage."""
    for stage in range(1, spec.plan.stages + 1):
        for shard, slot in enumerate(messages.slots(spec.plan.shards)):
            is_its_own = (F.col("slot") == slot) & (F.col("stage") == messages.REPORT + stage)
            yield F.max(F.when(is_its_own, F.col("metrics"))).alias(f"stage {stage} shard {shard}")


def _step(spec: BatchSpec, stage: int):  # type: ignore[no-untyped-def]
    def stepped(received: pa.Table) -> pa.Table:
        return step(spec, stage, received)

    return stepped
