"""A query that runs on Spark: what it emits is a streaming DataFrame too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pyspark.sql import DataFrame, SparkSession

from windrow.errors import WindrowError
from windrow.plan.analysis.keys import chosen_key
from windrow.plan.explain import Explanation
from windrow.plan.nodes import Node
from windrow.runtime.modes import Mode, default_mode
from windrow.runtime.outputs.sinks import SinkForm
from windrow.runtime.shards.answers import Answers
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.spark.sources import log_stream

Emitted = Literal["changelog", "istream", "dstream", "rstream", "upsert"]
_MODES: dict[str, Mode] = {
    "changelog": Mode.CHANGELOG,
    "istream": Mode.ISTREAM,
    "dstream": Mode.DSTREAM,
    "rstream": Mode.SNAPSHOT,
    "upsert": Mode.UPSERT,
}


class SparkQuery(ShardedQuery):
    """What `engine.query(...)` gives."""

    def __init__(
        self,
        answers: Answers,
        name: str,
        key: str,
        plan: Node,
        explain: Callable[[], Explanation],
        spark: SparkSession,
        add_output_mode: Callable[[ShardedQuery, SinkForm], None],
    ) -> None:
        super().__init__(answers, name, key, plan, explain)
        self._spark = spark
        self._add_output_mode = add_output_mode

    def dataframe(self, emitted: Emitted | None = None) -> DataFrame:
        """A streaming DataFrame of what the query emits, from the oldest micro-batch that is kept on.

        `changelog`, `istream`, `dstream`, `rstream` or `upsert`; by default its changes, or the refreshes of a periodic
        query. Other forms than these two are there from the next micro-batch on.
        """
        mode = default_mode(self.slide) if emitted is None else _MODES.get(emitted)
        if mode is None:
            raise WindrowError(f"{emitted!r} is nothing that a query emits", f"choose one of {', '.join(_MODES)}")
        self._add_output_mode(self, SinkForm(mode, self._upsert_key() if mode is Mode.UPSERT else ()))
        return log_stream(self._spark, self._answers.checkpoint, self, mode)

    def _upsert_key(self) -> tuple[str, ...]:
        key = chosen_key(self.plan)
        if key is None:
            hint = "group by the key, take DISTINCT rows or the last row of each key with [PARTITION BY k ROWS 1]"
            raise WindrowError(f"the results of {self.name} have no key to emit upserts by", hint)
        return key
