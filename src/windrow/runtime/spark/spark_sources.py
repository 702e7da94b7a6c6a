"""The streams that Spark brings, each by a streaming query of its own, with offsets in a folder of its own.

So one that cannot be reached stops nobody else: its query is started again after a pause, and goes on at its offset.
What a query has for a micro-batch is delivered to the loop, and the query waits until a batch with it is committed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from windrow.catalog import StreamEntry
from windrow.errors import CheckpointError, WindrowError
from windrow.runtime.shards.driver import Driver
from windrow.runtime.shards.sources.deliveries import Deliveries
from windrow.runtime.shards.sources.source_readers import is_brought
from windrow.runtime.shards.storage.files.file_names import file_name
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.source_offsets import check_offsets
from windrow.runtime.spark.host import SparkHost
from windrow.runtime.spark.micro_batches import MicroBatches
from windrow.runtime.spark.own_spark import log_to_read
from windrow.runtime.spark.spark_errors import translated
from windrow.runtime.spark.spark_session import check_running
from windrow.sources.connectors import stops_on_error


class Stopped(Exception):
    """The query is being stopped: what it delivered comes again with the next start."""


class SparkSources:
    """By names of streams in lower case."""

    def __init__(self, driver: Driver, host: SparkHost, deliveries: Deliveries) -> None:
        self._driver, self._host, self._deliveries = driver, host, deliveries
        self._queries: dict[str, StreamingQuery] = {}
        self._batches: dict[str, MicroBatches] = {}
        self._delivered: Counter[str] = Counter()  # micro-batches that have been taken
        self._fatal: BaseException | None = None
        self._follows, self._followed = False, 0  # up to which statement

    def follow(self) -> None:
        self._follows, self._followed = True, self._driver.statements.last
        streams = self._streams()
        for name in list(self._queries):
            if name not in streams or not self._host.is_read(streams[name], self._driver.columns_read(streams[name])):
                self._stop(name)
        for name, entry in streams.items():
            if name not in self._queries and self._is_due(name):
                self._start(name, entry)

    def bring_available(self) -> None:
        for name, entry in self._streams().items():
            if self._is_due(name):
                self._start(name, entry, availableNow=True)

    def poll(self) -> None:
        if self._fatal is not None:
            fatal, self._fatal = self._fatal, None
            raise fatal
        check_running(self._host.spark)
        for name, query in list(self._queries.items()):
            if query.isActive:
                continue
            error = query.exception()
            if error is not None:
                self._stop(name)
                self._failed(name, error)
            elif self._follows:
                self._stop(name)
        if self._follows and self._is_to_follow():
            self.follow()

    def _is_to_follow(self) -> bool:
        """Whether something was stated since the last time, or a stream is to be tried again."""
        is_new = self._driver.statements.last != self._followed
        return is_new or any(name not in self._queries and self._is_due(name) for name in self._streams())

    def is_bringing(self, stream: str) -> bool:
        query = self._queries.get(stream)
        return query is not None and query.isActive

    def bringing(self) -> Callable[[Collection[str]], bool]:
        """A stream that never falls silent has brought what was there with its second micro-batch from now on."""
        enough = {name: self._delivered[name] + 2 for name in self._streams()}
        draining: dict[str, threading.Thread] = {}  # by runs of Spark's queries

        def has_more(paused: Collection[str]) -> bool:
            if self._follows and self._is_to_follow():
                return True
            asked = [(name, query) for name, query in self._queries.items() if name not in paused and query.isActive]
            if not self._follows:
                return bool(asked)
            waiting = (query for name, query in asked if self._delivered[name] < enough.get(name, 0))
            return any(_is_draining(query, draining) for query in waiting)

        return has_more

    def own_thread(self) -> None:
        self._host.spark.sparkContext.setJobGroup(self._host.sessions.name, "micro-batches of Windrow", True)

    def cancel(self) -> None:
        self._host.spark.sparkContext.cancelJobGroup(self._host.sessions.name)

    def stop(self) -> None:
        self._follows = False
        for name in list(self._queries):
            self._stop(name)

    def _streams(self) -> dict[str, StreamEntry]:
        """Those that Spark brings and that have not ended; not in the middle of a statement."""
        with self._driver.lock:
            progress = self._driver.batches.progress.streams
            entries = filter(is_brought, self._driver.session.catalog.entries(StreamEntry))
            return {
                name: entry
                for entry in entries
                if not ((name := entry.name.lower()) in progress and progress[name].has_ended)
            }

    def _is_due(self, stream: str) -> bool:
        return self._driver.failures.is_due(stream, self._driver.readers.clock.now())

    def _start(self, name: str, entry: StreamEntry, **trigger: bool) -> None:
        offsets = Folder(self._driver.checkpoint.spark_folder).below(file_name(name))
        check_offsets(offsets, f"spark/{file_name(name)}", self._driver.batches.positions.last_delivery(name))
        try:
            frame = self._frame(entry)
            batches = self._batches[name] = MicroBatches(partial(self._deliver, name))
            writer = frame.writeStream.queryName(f"{self._host.sessions.name}-{file_name(name)}").foreachBatch(batches)
            writer = writer.option("checkpointLocation", offsets.place)
            self._queries[name] = batches.of((writer.trigger(**trigger) if trigger else writer).start())
        except WindrowError:
            raise
        except Exception as error:
            self._failed(name, error)

    def _frame(self, entry: StreamEntry) -> DataFrame:
        if self._host.is_given(entry):
            return self._host.given_frame(entry, self._driver.columns_read(entry))
        return self._host.source_frame(entry)

    def _deliver(self, stream: str, rows: DataFrame, number: int) -> None:
        """Called by Spark for every micro-batch of a stream, which waits for it."""
        batches = self._batches[stream]
        try:
            if self._driver.batches.positions.is_expected(stream, number):
                self._deliveries.deliver(stream, number, rows)
                self._delivered[stream] += 1
                self._driver.failures.works(stream)
        except Stopped:
            batches.hold()
        except CheckpointError as error:
            self._fatal = error
            raise

    def _failed(self, stream: str, error: BaseException) -> None:
        entry = self._driver.stream(stream)
        said = translated(error, log_to_read())
        if stops_on_error(entry.connector):
            raise said from error
        self._driver.failures.failed(entry.name, said.message, self._driver.readers.clock.now())

    def _stop(self, name: str) -> None:
        del self._queries[name]
        self._deliveries.refuse([name], Stopped())
        self._batches.pop(name).stop()


def _is_draining(query: StreamingQuery, draining: dict[str, threading.Thread]) -> bool:
    """Whether a query has something that was there when this was asked first: only Spark knows when it has looked."""
    if query.runId not in draining:
        draining[query.runId] = threading.Thread(target=_drain, args=(query,), daemon=True)
        draining[query.runId].start()
    return draining[query.runId].is_alive()


def _drain(query: StreamingQuery) -> None:
    with suppress(Exception):  # it ended, or failed: the next poll sees to that
        query.processAllAvailable()
