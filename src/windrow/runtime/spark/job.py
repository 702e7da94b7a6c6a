"""One micro-batch as one Spark job: rows are read and routed, then every stage is one exchange and one step a shard."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.tasks import messages
from windrow.runtime.shards.tasks.messages import ShardReport
from windrow.runtime.shards.tasks.router import route
from windrow.runtime.shards.tasks.shard import step
from windrow.runtime.spark.workers import python_of_workers

OBSERVED = "windrow"  # the name under which listeners find metrics


def run_job(packed: DataFrame, spec: BatchSpec) -> list[ShardReport]:
    """What every shard of every stage reports."""

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
    return [pickle.loads(row.body) for row in reported.select("body").collect()]


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
