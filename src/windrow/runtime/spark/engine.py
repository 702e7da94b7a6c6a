"""The engine on Spark: every micro-batch over all sources is one Spark job."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from windrow.clock import Clock
from windrow.errors import WindrowError
from windrow.runtime.create_statements import stream_statement
from windrow.runtime.shards.driver import Driver
from windrow.runtime.shards.engine import ShardedEngine
from windrow.runtime.shards.own_tables import own_place, own_source
from windrow.runtime.shards.run_loop import RunLoop
from windrow.runtime.shards.sources.deliveries import Deliveries
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.spark.host import SparkHost
from windrow.runtime.spark.job import SparkJobs
from windrow.runtime.spark.scratch import Scratch
from windrow.runtime.spark.servers import EngineServers
from windrow.runtime.spark.sources import declared_columns
from windrow.runtime.spark.spark_session import moved, sessions
from windrow.runtime.spark.spark_sources import SparkSources
from windrow.runtime.spark.tables import table_from

ROWS_A_BATCH = 1_000_000  # of a generator, unless another number is given


class SparkEngine(ShardedEngine):
    """`windrow.connect()`."""

    kind = "engine on Spark"

    def __init__(
        self,
        spark: SparkSession | None = None,
        master: str | None = None,
        checkpoint: str | None = None,
        shards: int | None = None,
        clock: Clock | None = None,
        rows_a_batch: int | None = None,
    ) -> None:
        with ExitStack() as undone:
            self._scratch = Scratch()
            undone.callback(self._scratch.remove)
            opened = Checkpoint(checkpoint or str(self._scratch.path / "checkpoint"), clock)
            opened.claim()  # before Spark is started: who cannot have it need not wait for that
            undone.callback(opened.close)
            place = opened.folder.place
            self._servers = EngineServers(spark, master, place, self._scratch.path)  # come up beside Spark
            undone.callback(self._servers.close)
            self._sessions = sessions(spark, master, checkpoint)
            undone.callback(self._sessions.close)
            self._host = SparkHost(
                self._sessions,
                rows_a_batch or ROWS_A_BATCH,
                lambda query, form: self._driver.add_output_mode(query, form),
            )
            driver, deliveries = Driver(opened, shards, self._host.tasks, self._host), Deliveries()
            brought = SparkSources(driver, self._host, deliveries)
            jobs = SparkJobs(self.inner_spark, self._servers.servers, self._servers.channel)
            loop = RunLoop(driver, deliveries, brought, jobs.job)
            super().__init__(driver, loop, is_resumable=checkpoint is not None)
            undone.pop_all()

    @property
    def spark(self) -> SparkSession:
        """The session that was given, or of the Spark that Windrow has started: as Spark made it, and for any use."""
        return self._sessions.user

    @property
    def inner_spark(self) -> SparkSession:
        """The session of Windrow's own that its queries run in, for listeners; it has the settings of `spark`."""
        return self._sessions.inner

    def stream(self, name: str, data: Any, timestamp: str, slack: str | None = None) -> None:
        """Make a stream of a streaming DataFrame, or of rows that Python holds: Arrow, pandas, an iterable."""
        if not isinstance(data, DataFrame):
            super().stream(name, data, timestamp, slack)
            return
        if not data.isStreaming:
            hint = f"make a table of it: engine.table('{name}', df), or a stream of its rows: df.toArrow()"
            raise WindrowError(f"the DataFrame of stream {name} does not stream", hint)
        columns = declared_columns(data)
        self._host.give(name, moved(data, self.inner_spark))
        if self.session.catalog.get(name) is None:  # or else a checkpoint is resumed
            self.sql(stream_statement(name, columns, timestamp, slack, " FROM dataframe()"))

    def table(self, name: str, data: Any, primary_key: Sequence[str] = (), retroactive: bool = True) -> None:
        """Make a table of a DataFrame, or of rows that Python holds; a copy is kept with the checkpoint."""
        if self.session.catalog.get(name) is None:  # or else a checkpoint is resumed
            folder = self._driver.checkpoint.folder
            self.sql(table_from(data, name, own_place(folder, own_source(name)), primary_key, retroactive))

    def close(self) -> None:
        with ExitStack() as closing:  # all of it, whatever one of them raises; the last that is named first
            closing.callback(self._scratch.remove)
            closing.callback(self._sessions.close)
            closing.callback(self._servers.close)
            closing.callback(super().close)
