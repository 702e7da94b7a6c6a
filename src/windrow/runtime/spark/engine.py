"""The engine on Spark: `foreachBatch` hands over every micro-batch with its number, and each is one Spark job."""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from windrow.batch import sql_type
from windrow.catalog import StreamEntry
from windrow.clock import Clock
from windrow.errors import WindrowError
from windrow.runtime.local.sources import rows_table, tables_of
from windrow.runtime.spark import messages
from windrow.runtime.spark.bundles import Folder
from windrow.runtime.spark.driver import Driver
from windrow.runtime.spark.job import run_job
from windrow.runtime.spark.router import PACKED
from windrow.runtime.spark.sources import packed_rows, packed_stream, wake_stream
from windrow.runtime.spark.spark_errors import translated
from windrow.runtime.spark.spark_session import own_session, prepared
from windrow.session import Result

ROWS_A_BATCH = 1_000_000  # of a generator


class Engine(Driver):
    """`windrow.connect()`."""

    def __init__(
        self,
        spark: SparkSession | None = None,
        master: str | None = None,
        checkpoint: str | None = None,
        shards: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.spark = prepared(spark or own_session(master))
        self._scratch = tempfile.TemporaryDirectory(prefix="windrow-")
        place = checkpoint or str(Path(self._scratch.name) / "checkpoint")
        super().__init__(place, shards, clock, max(1, self.spark.sparkContext.defaultParallelism))
        self._wake_file = Path(self._scratch.name) / "wake"
        self._frames: dict[str, DataFrame] = {}
        self._last_push = 0
        self._streaming: StreamingQuery | None = None

    def sql(self, text: str) -> list[Result]:
        """Carry out statements; queries, streams and table changes take effect with the next micro-batch."""
        results = super().sql(text)
        self._wake()
        return results

    def end(self, stream: str) -> None:
        """No more rows of a stream will come than those that have been handed over."""
        super().end(stream)
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
        self._frames[name.lower()] = data
        self._declare(name, [(f.name, f.dataType.simpleString()) for f in data.schema.fields], timestamp, slack)

    def _declare(self, name: str, columns: list[tuple[str, str]], timestamp: str, slack: str | None) -> None:
        if self.session.catalog.get(name) is not None:
            return  # a checkpoint that is taken up again
        declared = ", ".join(f'"{column}" {of}' for column, of in columns)
        late = "" if slack is None else f" SLACK {slack}"
        self.sql(f'CREATE STREAM "{name}" ({declared}) TIMESTAMP BY "{timestamp}"{late}')

    def push(self, stream: str, rows: Any) -> None:
        """Hand over rows of a stream; they are kept with the checkpoint, so that they can be read again."""
        entry = self._stream(stream)
        if isinstance(rows, list):
            rows = rows_table(rows)
        tables = list(tables_of(rows, 1 << 30)) or ([rows] if isinstance(rows, pa.Table) else [])
        for table in tables:
            # Spark reads files in the order of their times, which are milliseconds.
            self._last_push = max(time.time_ns() // 1_000_000, self._last_push + 1)
            folder, name = self._pushed(entry.name), f"{self._last_push:015}.arrow"
            Folder(folder.as_uri()).write(name, messages.table_to_bytes(table))
            os.utime(folder / name, ns=(self._last_push * 1_000_000,) * 2)

    def start(self) -> None:
        """Run in the background until `stop`."""
        self._streaming = self._writer().start()

    def stop(self) -> None:
        if self._streaming is not None:
            self._streaming.stop()
            self._streaming = None

    def step(self) -> None:
        """Take everything that is there through the queries."""
        self._start_and_wait()

    def run(self) -> None:
        """Until all sources have ended."""
        self._start_and_wait()
        sources = {stream.name.lower() for stream in self.session.catalog.entries(StreamEntry) if stream.connector}
        nothing = self.spark.createDataFrame([("", "end", "", None)], PACKED)
        self.finish(sources, partial(run_job, nothing))

    def close(self) -> None:
        self.stop()
        self.session.close()
        self._scratch.cleanup()

    def _writer(self) -> DataStreamWriter:
        streams = self.session.catalog.entries(StreamEntry)
        frames = [wake_stream(self.spark, self._wake_file), *(self._frame(stream) for stream in streams)]
        writer = reduce(DataFrame.union, frames).writeStream.queryName("windrow")
        return writer.foreachBatch(self._run).option("checkpointLocation", self._checkpoint.spark_folder)

    def _run(self, packed: DataFrame, number: int) -> None:
        self.micro_batch(number, partial(run_job, packed))

    def _frame(self, stream: StreamEntry) -> DataFrame:
        given = self._frames.get(stream.name.lower())
        if given is not None:
            return packed_rows(given, stream.name.lower())
        return packed_stream(self.spark, stream, self._pushed(stream.name), ROWS_A_BATCH)

    def _start_and_wait(self) -> None:
        if self.has_ended:
            return
        self._wake()
        self._streaming = self._writer().trigger(availableNow=True).start()
        try:
            self._streaming.awaitTermination()
        except Exception as error:
            raise translated(error) from error
        finally:
            self._streaming = None

    def _wake(self) -> None:
        """Have Spark make a micro-batch although no rows may have come."""
        hidden = self._wake_file.with_suffix(".part")
        hidden.write_text(str(time.time_ns() // 1_000))
        hidden.replace(self._wake_file)

    def _pushed(self, stream: str) -> Path:
        root = self._checkpoint.uri.removeprefix("file://")
        return Path(root) / "pushed" / stream.lower()
