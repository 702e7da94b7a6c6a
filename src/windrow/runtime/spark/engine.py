"""The engine on Spark: `foreachBatch` hands over every micro-batch with its number, and each is one Spark job."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from windrow.batch import sql_type
from windrow.catalog import StreamEntry
from windrow.clock import Clock
from windrow.cql import Create
from windrow.errors import WindrowError
from windrow.plan.analysis.source_columns import source_columns
from windrow.runtime.progress import StreamProgress
from windrow.runtime.shards import messages
from windrow.runtime.shards.driver import Driver
from windrow.runtime.shards.router import PACKED
from windrow.runtime.shards.running import RunningQuery
from windrow.runtime.shards.storage.bundles import Folder
from windrow.runtime.spark import spark_session
from windrow.runtime.spark.background import Background
from windrow.runtime.spark.job import run_job
from windrow.runtime.spark.scratch import Scratch
from windrow.runtime.spark.sources import (
    check_named,
    declared_columns,
    files_of,
    packed_rows,
    packed_stream,
    rows_of,
    wake_stream,
)
from windrow.runtime.spark.spark_errors import translated
from windrow.runtime.spark.spark_session import own_session, prepared
from windrow.runtime.spark.tables import table_from
from windrow.session import Result
from windrow.sources.readers import rows_table, tables_of
from windrow.units import FOREVER

_IDLE = "Waiting for data to arrive"  # what Spark's query says of itself when all that is there has been read
_POLL_INTERVAL = 0.25  # seconds
ROWS_A_BATCH = 1_000_000  # of a generator, unless told otherwise


class Engine(Driver):
    """`windrow.connect()`."""

    def __init__(
        self,
        spark: SparkSession | None = None,
        master: str | None = None,
        checkpoint: str | None = None,
        shards: int | None = None,
        clock: Clock | None = None,
        rows_a_batch: int | None = None,
    ) -> None:
        self._owns_spark = spark is None and SparkSession.getActiveSession() is None
        self.spark = prepared(spark or own_session(master))
        self._scratch = Scratch()
        place = checkpoint or str(self._scratch.path / "checkpoint")
        super().__init__(place, shards, clock, max(1, self.spark.sparkContext.defaultParallelism))
        self._wake_file = self._scratch.path / "wake"
        self._frames: dict[str, DataFrame] = {}
        self._read: dict[str, list[str]] = {}  # the columns of DataFrames that are read at present
        self._last_push = 0
        self._rows_a_batch = rows_a_batch or ROWS_A_BATCH
        self._background: Background | None = None
        self._awaited: set[str] = set()  # streams that need not end for a run to end

    def sql(self, text: str) -> list[Result]:
        """Carry out statements; queries, streams and table changes take effect with the next micro-batch."""
        self._check()
        before = self.session.catalog.entries(StreamEntry)
        try:
            return super().sql(text)
        finally:
            self._wake()
            streams = self.session.catalog.entries(StreamEntry)
            if self._background is not None and (streams != before or self._reads_more(streams)):
                self._restart()

    def resume(self, text: str) -> list[Result]:
        results = super().resume(text)
        self._wake()
        return results

    def end(self, stream: str) -> None:
        """No more rows of a stream will come than those that have been handed over."""
        entry = self._stream(stream)
        self._ends_at(entry, self._pushes(entry.name.lower()) if entry in self._pushed_streams() else 0)
        self._wake()

    def stream(self, name: str, data: Any, timestamp: str, slack: str | None = None) -> None:
        """Make a stream of a streaming DataFrame, or of rows that Python holds: Arrow, pandas, an iterable."""
        if not isinstance(data, DataFrame):
            tables = list(tables_of(data))
            if not tables:
                raise WindrowError(f"{name} has no rows to tell its columns from", "write CREATE STREAM and push rows")
            columns = [(field.name, str(sql_type(field.type))) for field in tables[0].schema]
            self._declare(name, columns, timestamp, slack)
            for table in tables:
                self.push(name, table)
            self.end(name)
            return
        check_named(data)
        columns = declared_columns(data)
        self._frames[name.lower()] = data
        self._declare(name, columns, timestamp, slack, " FROM dataframe()")

    def table(self, name: str, data: Any, primary_key: Sequence[str] = (), retroactive: bool = True) -> None:
        """Make a table of a DataFrame, or of rows that Python holds; a copy is kept with the checkpoint."""
        if self.session.catalog.get(name) is None:  # or else a checkpoint is taken up again
            self.sql(table_from(data, name, f"{self._checkpoint.uri}/tables/{name.lower()}", primary_key, retroactive))

    def _declare(
        self, name: str, columns: list[tuple[str, str]], timestamp: str, slack: str | None, source: str = ""
    ) -> None:
        if self.session.catalog.get(name) is not None:
            return  # a checkpoint that is taken up again
        declared = ", ".join(f'"{column}" {of}' for column, of in columns)
        late = "" if slack is None else f" SLACK {slack}"
        self.sql(f'CREATE STREAM "{name}" ({declared}){source} TIMESTAMP BY "{timestamp}"{late}')

    def push(self, stream: str, rows: Any) -> None:
        """Hand over rows of a stream; they are kept with the checkpoint, so that they can be read again."""
        self._check()
        entry = self._stream(stream)
        if isinstance(rows, list):
            rows = rows_table(rows)
        tables = list(tables_of(rows, 1 << 30)) or ([rows] if isinstance(rows, pa.Table) else [])
        for table in tables:
            # Spark reads files in the order of their times, which are milliseconds.
            folder = self._pushed(entry.name)
            latest = max((int(path.stem) for path in folder.glob("*.arrow")), default=self._last_push)
            self._last_push = max(time.time_ns() // 1_000_000, self._last_push + 1, latest + 1)
            name = f"{self._last_push:015}.arrow"
            Folder(folder.as_uri()).write(name, messages.table_to_bytes(table))
            os.utime(folder / name, ns=(self._last_push * 1_000_000,) * 2)

    def start(self) -> None:
        """Run in the background until `stop`, or until all streams have ended; the next call tells what went wrong."""
        self._check()
        if self._background is None and not self.has_ended:
            for stream in self.session.catalog.entries(StreamEntry):
                if (rows := rows_of(stream)) is not None:
                    self._ends_at(stream, rows)
            self._wake()
            self._background = Background(self._streaming(), self._watch)

    def stop(self) -> None:
        """End the background run; a micro-batch that was under way is run again with the next start."""
        background, self._background = self._background, None
        if background is not None:
            background.stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Until all streams have ended or a time is over; whether the background run is over."""
        if self._background is not None and not self._background.wait(seconds):
            return False
        self._check()
        return True

    def run(self, poll: Callable[[], object] | None = None) -> None:
        """Until all sources have ended: files are those that are there now. With an endless one, until interrupted.

        `poll` is called every now and then meanwhile.
        """
        self._check()
        for stream in self.session.catalog.entries(StreamEntry):
            if (files := files_of(stream)) is not None and not self.has_ended:
                self._ends_at(stream, files)
        self._awaited = {stream.name.lower() for stream in self._pushed_streams()}
        self.start()
        try:
            while not self.wait(_POLL_INTERVAL):
                if poll is not None:
                    poll()
        finally:
            self._awaited = set()
            self.stop()

    def step(self) -> bool:
        """Take everything that is there through the queries; of an endless generator, one micro-batch."""
        self._check()
        if self._background is not None:
            self._take_what_is_there(self._background)
            self._check()
            return not self.has_ended
        if self.has_ended:
            return False
        self._wake()
        streaming = self._streaming(availableNow=True)
        try:
            streaming.awaitTermination()
        except Exception as error:
            raise translated(error, spark_session.log_to_read()) from error
        self._tell_the_last()
        return not self.has_ended

    def _take_what_is_there(self, background: Background) -> None:
        """Of streams without end, what the next two micro-batches bring: the first may have begun before."""
        if not any(map(self._is_endless, self.session.catalog.entries(StreamEntry))):
            background.take_what_is_there()
            return
        enough = self.next_number + 2
        while self.next_number < enough and not background.wait(0.05):
            self._wake()  # a stream that could go on may be silent

    def end_streams_without_source(self) -> None:
        """Nobody will hand over rows."""
        for stream in self._pushed_streams():
            if not self.has_ended:
                self.end(stream.name)

    def _is_endless(self, stream: StreamEntry) -> bool:
        return stream.connector is not None and rows_of(stream) is None and files_of(stream) is None

    def close(self) -> None:
        self.stop()
        self.session.close()
        if self._owns_spark:
            self.spark.stop()
        self._scratch.remove()

    def _take_up(self, statement: Create) -> None:
        """A name is for one source: Spark finds its place in a source by it, also after the stream was dropped."""
        entry = statement.entry
        if isinstance(entry, StreamEntry) and self._last is not None and self._had_stream(entry.name):
            hint = "choose another name: Spark would go on in the new source where it was in the old one"
            raise WindrowError(f"this checkpoint has had a stream {entry.name} before", hint)
        super()._take_up(statement)

    def _had_stream(self, name: str) -> bool:
        created = self._statements.created()
        return any(isinstance(entry, StreamEntry) and entry.name.lower() == name.lower() for entry in created)

    def _check(self) -> None:
        """Raise what ended the background run."""
        if self._background is not None and self._background.is_over:
            error = self._background.error
            self.stop()
            if error is not None:
                raise translated(error, spark_session.log_to_read()) from error

    def _watch(self, streaming: StreamingQuery) -> bool:
        """Looked after every now and then while it runs in the background; whether it is over."""
        if self._is_through():
            streaming.stop()
            self._tell_the_last()
            return True
        if streaming.status["message"] == _IDLE and self.beat():
            self._wake()
        return False

    def _is_through(self) -> bool:
        """Whether all streams have ended, or are among those of which only the rows that are there are waited for."""
        with self._lock:
            if self._is_busy or self._last is None or self._statements.taken < self._statements.last:
                return False
            progress = self._progress.streams
            streams = self.session.catalog.entries(StreamEntry)
            return bool(streams) and all(self._is_read(entry, progress.get(entry.name.lower())) for entry in streams)

    def _is_read(self, entry: StreamEntry, progress: StreamProgress | None) -> bool:
        if progress is None or progress.has_ended:
            return progress is not None
        name = entry.name.lower()
        return name in self._awaited and progress.news.read >= self._pushes(name)

    def _tell_the_last(self) -> None:
        """When all streams have ended, periodic queries tell their last refreshes."""
        if self.watermark == FOREVER and not self.has_ended:
            nothing = self.spark.createDataFrame([("", "end", "", None)], PACKED)
            self.finish(set(), partial(run_job, nothing))

    def _restart(self) -> None:
        """Streams came or went: another query over the same checkpoint reads the sources that there are now."""
        awaited = self._awaited
        self.stop()
        self._awaited = awaited
        self.start()

    def _reads_more(self, streams: Sequence[StreamEntry]) -> bool:
        """Whether queries read columns of DataFrames that are not read at present."""
        given = [stream for stream in streams if stream.name.lower() in self._read]
        return any(not {*self.columns_read(stream)} <= {*self._read[stream.name.lower()]} for stream in given)

    def _is_fed(self, query: RunningQuery) -> bool:
        used = source_columns([query.plan])
        return all(used[name] <= {*columns} for name, columns in self._read.items() if name in used)

    def _pushed_streams(self) -> list[StreamEntry]:
        streams = self.session.catalog.entries(StreamEntry)
        return [stream for stream in streams if stream.connector is None]

    def _pushes(self, stream: str) -> int:
        """How many times rows were handed over."""
        return sum(1 for _ in self._pushed(stream).glob("*.arrow"))

    def _streaming(self, **trigger: bool) -> StreamingQuery:
        """Spark's query over all sources."""
        streams = self.session.catalog.entries(StreamEntry)
        try:
            frames = [wake_stream(self.spark, self._wake_file), *(self._frame(stream) for stream in streams)]
            writer = reduce(DataFrame.union, frames).writeStream.queryName("windrow").foreachBatch(self._run)
            writer = writer.option("checkpointLocation", self._checkpoint.spark_folder)
            return (writer.trigger(**trigger) if trigger else writer).start()
        except PySparkException as error:
            raise translated(error, spark_session.log_to_read()) from error

    def _run(self, packed: DataFrame, number: int) -> None:
        self.micro_batch(number, partial(run_job, packed))

    def _frame(self, stream: StreamEntry) -> DataFrame:
        given = self._frames.get(stream.name.lower())
        if given is not None:
            columns = self._read[stream.name.lower()] = self.columns_read(stream)
            return packed_rows(given, stream.name.lower(), columns)
        return packed_stream(self.spark, stream, self._pushed(stream.name), self._rows_a_batch)

    def _wake(self) -> None:
        """Have Spark make a micro-batch although no rows may have come."""
        hidden = self._wake_file.with_suffix(".part")
        hidden.write_text(str(time.time_ns() // 1_000))
        hidden.replace(self._wake_file)

    def _pushed(self, stream: str) -> Path:
        root = self._checkpoint.uri.removeprefix("file://")
        return Path(root) / "pushed" / stream.lower()
