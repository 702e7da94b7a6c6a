"""The engine on Spark: every micro-batch of one streaming query over all sources is one Spark job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from windrow.catalog import StreamEntry
from windrow.clock import Clock
from windrow.runtime.create_statements import Columns, columns_of, no_rows, stream_statement
from windrow.runtime.shards.driver import Driver
from windrow.runtime.shards.engine import ShardedEngine
from windrow.runtime.shards.storage.files.folder import place_of
from windrow.runtime.spark.host import SparkHost
from windrow.runtime.spark.pushed_rows import PushedRows
from windrow.runtime.spark.scratch import Scratch
from windrow.runtime.spark.sources import check_named, declared_columns, source_name
from windrow.runtime.spark.spark_session import sessions
from windrow.runtime.spark.streaming_run import StreamingRun
from windrow.runtime.spark.tables import table_from
from windrow.session import Result
from windrow.sources.rows import pushed_tables, tables_of

ROWS_A_BATCH = 1_000_000  # of a generator, unless another number is given


class SparkEngine(ShardedEngine):
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
        self._sessions = sessions(spark, master, checkpoint)
        self._scratch = Scratch()
        place = checkpoint or str(self._scratch.path / "checkpoint")
        self._pushed = PushedRows(place_of(place))
        self._host = SparkHost(
            self._sessions,
            self._pushed,
            rows_a_batch or ROWS_A_BATCH,
            lambda query, form: self._driver.add_output_mode(query, form),
        )
        cores = max(1, self.inner_spark.sparkContext.defaultParallelism)
        super().__init__(Driver(place, shards, cores, clock, self._host))
        self._run = StreamingRun(self._driver, self._host, self._scratch.path / "wake", self._sessions.name)

    @property
    def spark(self) -> SparkSession:
        """The session that was given, or of the Spark that Windrow has started: as Spark made it, and for any use."""
        return self._sessions.user

    @property
    def inner_spark(self) -> SparkSession:
        """The session of Windrow's own that its query runs in, for listeners; it has the settings of `spark`."""
        return self._sessions.inner

    def reader(self, name: str) -> DataStreamReader:
        """In place of `spark.readStream` for a DataFrame that becomes a stream: Spark finds its place in the source by
        the name again.
        """
        return self.inner_spark.readStream.name(source_name(name.lower()))

    def sql(self, text: str) -> list[Result]:
        """Run statements; queries, streams and table changes take effect with the next micro-batch."""
        self._run.check()
        before = self.session.catalog.entries(StreamEntry)
        try:
            return super().sql(text)
        finally:
            self._run.wake()
            if self._run.is_running and (
                self.session.catalog.entries(StreamEntry) != before or not self._run.reads_all()
            ):
                self._run.restart()

    def resume(self, text: str) -> list[Result]:
        results = super().resume(text)
        self._run.wake()
        return results

    def end(self, stream: str) -> None:
        """No more rows of a stream will come than those that have been handed over."""
        entry = self._driver.stream(stream)
        self._driver.end(stream, self._pushed.count(entry.name) if entry.connector is None else 0)
        self._run.wake()

    def stream(self, name: str, data: Any, timestamp: str, slack: str | None = None) -> None:
        """Make a stream of a streaming DataFrame, or of rows that Python holds: Arrow, pandas, an iterable."""
        if not isinstance(data, DataFrame):
            tables = list(tables_of(data))
            if not tables:
                raise no_rows(name)
            self._declare(name, columns_of(tables[0]), timestamp, slack)
            for table in tables:
                self.push(name, table)
            self.end(name)
            return
        check_named(data)
        columns = declared_columns(data)
        self._host.give(name, data)
        self._declare(name, columns, timestamp, slack, " FROM dataframe()")

    def table(self, name: str, data: Any, primary_key: Sequence[str] = (), retroactive: bool = True) -> None:
        """Make a table of a DataFrame, or of rows that Python holds; a copy is kept with the checkpoint."""
        if self.session.catalog.get(name) is None:  # or else a checkpoint is resumed
            self.sql(table_from(data, name, f"{self.checkpoint}/tables/{name.lower()}", primary_key, retroactive))

    def _declare(self, name: str, columns: Columns, timestamp: str, slack: str | None, source: str = "") -> None:
        if self.session.catalog.get(name) is None:  # or else a checkpoint is resumed
            self.sql(stream_statement(name, columns, timestamp, slack, source))

    def push(self, stream: str, rows: Any) -> None:
        """Hand over rows of a stream; they are kept with the checkpoint, so that they can be read again."""
        self._run.check()
        entry = self._driver.stream(stream)
        for table in pushed_tables(rows, stream, [column.name for column in entry.columns], 1 << 30):
            self._pushed.push(entry.name, table)

    def start(self) -> None:
        """Run in the background until `stop`, or until all streams have ended; the next call tells what went wrong."""
        self._run.start()

    def stop(self) -> None:
        """End the background run; a micro-batch that was under way is run again with the next start."""
        self._run.stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Until all streams have ended or a time is over; whether the background run is over."""
        return self._run.wait(seconds)

    def run(self, poll: Callable[[], object] | None = None) -> None:
        """Until all sources have ended: files are those that are there now. With an endless one, until interrupted.

        `poll` is called every now and then meanwhile.
        """
        self._run.run(poll)

    def step(self) -> bool:
        """Take everything that is there through the queries; of an endless generator, one micro-batch."""
        self._run.step()
        return not self.has_ended

    def end_streams_without_source(self) -> None:
        """Nobody will hand over rows."""
        for stream in self.session.catalog.entries(StreamEntry):
            if stream.connector is None and not self.has_ended:
                self.end(stream.name)

    def close(self) -> None:
        self._run.stop()
        self._driver.close()
        self.session.close()
        self._sessions.close()
        self._scratch.remove()
