"""Runs on Spark that benchmarks share: one session, a file for every micro-batch, times as Spark tells them."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

import windrow
from windrow.runtime.spark import SparkEngine
from windrow.runtime.spark.own_spark import started_session

START = 1_767_225_600_000_000  # 2026-01-01
SECOND = 1_000_000
Measured = TypeVar("Measured")


class Times(StreamingQueryListener):
    """How long every micro-batch with rows took, by the run of the query."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self._over = threading.Event()  # the last query that was started

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        self._over.clear()
        self.seconds[str(event.runId)] = []

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        took = event.progress.durationMs
        if event.progress.numInputRows and "addBatch" in took:
            self.seconds[str(event.progress.runId)].append(took["triggerExecution"] / 1e3)

    def onQueryIdle(self, event: QueryIdleEvent) -> None: ...

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self._over.set()

    def last(self) -> list[float]:
        """Of the query that was started last; the first batch warms up and is left out."""
        self._over.wait(60)  # listeners hear of batches a little later
        return list(self.seconds.values())[-1][1:]


def plain_session() -> SparkSession:
    """Spark as people have it: its own defaults, on all cores."""
    builder = SparkSession.builder.master("local[*]").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.driver.host", "localhost").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def in_process_of_its_own(function: Callable[..., Measured], *arguments: object) -> Measured:
    """What a function gives in a fresh process, so that no side finds warm what another has used."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(function, *arguments).result()


@contextmanager
def session() -> Iterator[tuple[SparkSession, Times, Path]]:
    """Spark, what it tells of times, and a folder that goes away."""
    spark, times = started_session(None), Times()
    spark.streams.addListener(times)
    folder = Path(tempfile.mkdtemp(prefix="windrow-bench-"))
    try:
        yield spark, times, folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        spark.stop()


def zipf_keys(rows: int, keys: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Keys of which the k-th is drawn in proportion to 1/k."""
    weights = 1.0 / np.arange(1, keys + 1)
    edges = np.cumsum(weights / weights.sum())
    return np.searchsorted(edges, np.random.default_rng(seed).random(rows)).astype(np.int64)


def write_files(folder: Path, batches: Sequence[pa.Table]) -> str:
    """A file for each micro-batch; Spark reads them in the order of their times."""
    folder.mkdir(parents=True)
    for number, table in enumerate(batches):
        pq.write_table(table, folder / f"{number:05}.parquet")
        time.sleep(0.01)
    return str(folder)


def readings(
    batches: int, rows: int, seconds: int, keys: int, seed: int = 1, popular: bool = True, first: int = 0
) -> list[pa.Table]:
    """(ts, k, v) in the order of time, `seconds` in a micro-batch; keys may be as popular as each other."""
    made = []
    for number in range(first, first + batches):
        random = np.random.default_rng([seed, number])
        begin = START + number * seconds * SECOND
        ts = np.sort(random.integers(begin, begin + seconds * SECOND, rows))
        k = zipf_keys(rows, keys, seed + number) if popular else random.integers(0, keys, rows)
        columns = {"ts": pa.array(ts).view(pa.timestamp("us", "UTC")), "k": k}
        made.append(pa.table({**columns, "v": np.round(random.normal(100, 20, rows), 2)}))
    return made


def stream_of(spark: SparkSession, folder: str) -> DataFrame:
    """The files as Spark reads them, one a micro-batch."""
    schema = spark.read.parquet(folder).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)


def run_native(rows: DataFrame, checkpoint: Path, sink: Path | None, store: str | None = None) -> None:
    """A streaming query of Spark's own until all files are read; without a sink its rows are thrown away."""
    if store is not None:
        rows.sparkSession.conf.set("spark.sql.streaming.stateStore.providerClass", store)
    rows.sparkSession.conf.set("spark.sql.shuffle.partitions", rows.sparkSession.sparkContext.defaultParallelism)
    writer = rows.writeStream.outputMode("append").option("checkpointLocation", str(checkpoint))
    writer = writer.format("noop") if sink is None else writer.format("parquet").option("path", str(sink))
    writer.trigger(availableNow=True).start().awaitTermination()


def run_windrow(
    spark: SparkSession,
    streams: Mapping[str, str],
    query: str,
    checkpoint: Path,
    sink: Path | None,
    shards: int | None,
) -> dict[str, Any]:
    """The same on Windrow; what `status` says at the end."""
    return run_on(windrow.connect(spark=spark, checkpoint=str(checkpoint), shards=shards), streams, query, sink)


def run_on(engine: SparkEngine, streams: Mapping[str, str], query: str, sink: Path | None) -> dict[str, Any]:
    """A query over files until all are read, on an engine that is closed then; what `status` says at the end."""
    try:
        for name, folder in streams.items():
            columns = "ts TIMESTAMP, k BIGINT, v DOUBLE"
            engine.sql(f"CREATE STREAM {name} ({columns}) FROM parquet('{folder}', max_files => 1) TIMESTAMP BY ts")
        into = "" if sink is None else f" INTO parquet('{sink}')"
        engine.sql(f"CREATE QUERY q AS {query}{into}")
        engine.step()
        return engine.status()
    finally:
        engine.close()


def warm_seconds(status: Mapping[str, Any]) -> list[float]:
    """Of the micro-batches of a run but the first, which warms up."""
    return list(status["batch_seconds"])[1:]
