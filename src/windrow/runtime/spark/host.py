"""Spark as the host of a driver: how its streams become streaming DataFrames, and what is read of them at present."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame

from windrow.catalog import StreamEntry
from windrow.plan.analysis.source_columns import source_columns
from windrow.plan.explain import Explanation
from windrow.plan.nodes import Node
from windrow.runtime.outputs.sinks import SinkForm
from windrow.runtime.shards.answers import Answers
from windrow.runtime.shards.host import Host
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.spark.query import SparkQuery
from windrow.runtime.spark.sources import brought_stream, packed_rows
from windrow.runtime.spark.spark_session import Sessions


class SparkHost(Host):
    def __init__(
        self,
        sessions: Sessions,
        rows_a_batch: int,
        add_output_mode: Callable[[ShardedQuery, SinkForm], None],
    ) -> None:
        self.sessions = sessions
        self.spark = sessions.inner
        self._user = sessions.user
        self.rows_a_batch = rows_a_batch
        self.tasks = max(1, self.spark.sparkContext.defaultParallelism)
        self._add_output_mode = add_output_mode
        self._frames: dict[str, DataFrame] = {}
        self._read: dict[str, list[str]] = {}  # the columns of DataFrames that are read at present

    def query(
        self, answers: Answers, name: str, key: str, plan: Node, explain: Callable[[], Explanation]
    ) -> SparkQuery:
        return SparkQuery(answers, name, key, plan, explain, self._user, self._add_output_mode)

    def is_fed(self, plan: Node) -> bool:
        used = source_columns([plan])
        return all(used[name] <= {*columns} for name, columns in self._read.items() if name in used)

    def give(self, stream: str, frame: DataFrame) -> None:
        """The rows of a stream are those of a DataFrame of the user's."""
        self._frames[stream.lower()] = frame

    def is_given(self, stream: StreamEntry) -> bool:
        """Whether its rows are those of a DataFrame of the user's."""
        return stream.name.lower() in self._frames

    def given_frame(self, stream: StreamEntry, columns: Sequence[str]) -> DataFrame:
        """What is read of a DataFrame of the user's: these columns."""
        name = stream.name.lower()
        self._read[name] = list(columns)
        return packed_rows(self._frames[name], name, columns)

    def source_frame(self, stream: StreamEntry) -> DataFrame:
        """The streaming DataFrame of a stream whose source is Spark's."""
        return brought_stream(self.spark, stream)

    def is_read(self, stream: StreamEntry, columns: Sequence[str]) -> bool:
        """Whether these columns are among those that are read at present."""
        read = self._read.get(stream.name.lower())
        return read is None or {*columns} <= {*read}
