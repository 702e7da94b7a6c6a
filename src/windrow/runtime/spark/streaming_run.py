"""Spark's streaming query over all sources of a driver: in the background, or for what is there now."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from windrow.catalog import StreamEntry
from windrow.runtime.progress import StreamProgress
from windrow.runtime.shards.driver import Driver
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.source_offsets import check_offsets
from windrow.runtime.spark.background import Background
from windrow.runtime.spark.host import SparkHost
from windrow.runtime.spark.job import run_job
from windrow.runtime.spark.micro_batches import IDLE, MicroBatches
from windrow.runtime.spark.own_spark import log_to_read
from windrow.runtime.spark.sources import files_of, rows_of, wake_stream
from windrow.runtime.spark.spark_errors import translated
from windrow.units import FOREVER

_POLL_INTERVAL = 0.25  # seconds


class StreamingRun:
    def __init__(self, driver: Driver, host: SparkHost, wake_file: Path, name: str) -> None:
        self._driver = driver
        self._host = host
        self._name = name
        self._batches = MicroBatches(self._micro_batch)
        self._wake_file = wake_file
        self._background: Background | None = None
        self._awaited: set[str] = set()  # streams that need not end for a run to end

    @property
    def is_running(self) -> bool:
        return self._background is not None

    def start(self) -> None:
        self.check()
        self._driver.publishing.retry()  # what sinks have not had of earlier runs
        if self._background is None and not self._driver.batches.has_ended:
            for stream in self._streams():
                if (rows := rows_of(stream)) is not None:
                    self._driver.end(stream.name, rows)
            self.wake()
            streaming = self._streaming()
            self._background = Background(streaming, self._poll, self._batches.stop)

    def stop(self) -> None:
        background, self._background = self._background, None
        if background is not None:
            background.stop()

    def restart(self) -> None:
        """Streams came or went: another query over the same checkpoint reads the sources that there are now."""
        awaited = self._awaited
        self.stop()
        self._awaited = awaited
        self.start()

    def wait(self, seconds: float | None) -> bool:
        if self._background is not None and not self._background.wait(seconds):
            return False
        self.check()
        return True

    def run(self, poll: Callable[[], object] | None) -> None:
        self.check()
        for stream in self._streams():
            if (files := files_of(stream)) is not None and not self._driver.batches.has_ended:
                self._driver.end(stream.name, files)
        self._awaited = {stream.name.lower() for stream in self._streams() if stream.connector is None}
        self.start()
        try:
            while not self.wait(_POLL_INTERVAL):
                if poll is not None:
                    poll()
        finally:
            self._awaited = set()
            self.stop()

    def step(self) -> None:
        self.check()
        if self._background is not None:
            self._take_available(self._background)
            self.check()
            return
        self._driver.publishing.retry()
        if self._driver.batches.has_ended:
            return
        self.wake()
        streaming = self._streaming(availableNow=True)
        try:
            streaming.awaitTermination()
        except Exception as error:
            raise translated(error, log_to_read()) from error
        finally:
            self._batches.stop()
        self._emit_final_refreshes()

    def wake(self) -> None:
        """Have Spark make a micro-batch although no rows may have come."""
        said = uuid4().hex  # by any thread, at any time of the clock: no other wake says the same
        hidden = self._wake_file.with_suffix(f".{said}")
        hidden.write_text(said)
        hidden.replace(self._wake_file)

    def check(self) -> None:
        """Raise what ended the background run."""
        if self._background is not None and self._background.is_over:
            error = self._background.error
            self.stop()
            if error is not None:
                raise translated(error, log_to_read()) from error

    def reads_all(self) -> bool:
        """Whether all columns of DataFrames that queries read are read at present."""
        given = filter(self._host.is_given, self._streams())
        return all(self._host.is_read(stream, self._driver.columns_read(stream)) for stream in given)

    def _streams(self) -> list[StreamEntry]:
        return self._driver.session.catalog.entries(StreamEntry)

    def _take_available(self, background: Background) -> None:
        """Of streams without end, what the next two micro-batches bring: the first may have begun before."""
        if not any(map(_is_endless, self._streams())):
            background.take_available()
            return
        batches = self._driver.batches
        enough = batches.next_number + 2
        while batches.next_number < enough and not background.wait(0.05):
            self.wake()  # a stream that could go on may be silent

    def _poll(self, streaming: StreamingQuery) -> bool:
        """Called every now and then while it runs in the background; whether it is over."""
        if self._is_through():
            self._batches.stop()
            if (failed := streaming.exception()) is not None:
                raise failed
            self._emit_final_refreshes()
            return True
        if streaming.status["message"] == IDLE and self._driver.batches.tick():
            self.wake()
        return False

    def _is_through(self) -> bool:
        """Whether all streams have ended, or are among those of which only the rows that are there are waited for."""
        with self._driver.lock:
            if not self._driver.batches.is_idle:
                return False
            progress, streams = self._driver.batches.progress.streams, self._streams()
            return bool(streams) and all(self._is_read(entry, progress.get(entry.name.lower())) for entry in streams)

    def _is_read(self, entry: StreamEntry, progress: StreamProgress | None) -> bool:
        if progress is None or progress.has_ended:
            return progress is not None
        name = entry.name.lower()
        return name in self._awaited and progress.intake.read >= self._host.pushed.count(name)

    def _emit_final_refreshes(self) -> None:
        """When all streams have ended, periodic queries emit their last refreshes."""
        batches = self._driver.batches
        if batches.watermark == FOREVER and not batches.has_ended:
            # Not `createDataFrame`, which makes the session the active one.
            nothing = self._host.spark.range(1).selectExpr(
                "'' source", "'end' how", "'' what", "CAST(NULL AS binary) blob"
            )
            batches.finish(partial(run_job, nothing))

    def _streaming(self, **trigger: bool) -> StreamingQuery:
        """Spark's query over all sources."""
        checkpoint = self._driver.checkpoint
        check_offsets(Folder(checkpoint.spark_folder), self._driver.batches.next_number - 1)
        self._batches = MicroBatches(self._micro_batch)
        try:
            frames = map(self._frame, self._streams())
            sources = [wake_stream(self._host.spark, self._wake_file), *frames]
            writer = reduce(DataFrame.union, sources).writeStream.queryName(self._name).foreachBatch(self._batches)
            writer = writer.option("checkpointLocation", checkpoint.spark_folder)
            return self._batches.of((writer.trigger(**trigger) if trigger else writer).start())
        except PySparkException as error:
            raise translated(error, log_to_read()) from error

    def _frame(self, stream: StreamEntry) -> DataFrame:
        if self._host.is_given(stream):
            return self._host.given_frame(stream, self._driver.columns_read(stream))
        return self._host.source_frame(stream)

    def _micro_batch(self, packed: DataFrame, number: int) -> None:
        self._driver.batches.micro_batch(number, partial(run_job, packed))


def _is_endless(stream: StreamEntry) -> bool:
    return stream.connector is not None and rows_of(stream) is None and files_of(stream) is None
