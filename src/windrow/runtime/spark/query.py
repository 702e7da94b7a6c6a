"""A query that runs on Spark: its answer is read from the shards' state, its changes from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from windrow.batch import Batch, Dictionary, concat, empty, rows_to_arrow
from windrow.errors import WindrowError
from windrow.plan.analysis.keys import chosen_key
from windrow.plan.explain import Explanation
from windrow.plan.nodes import Limit, Node, Sort
from windrow.runtime import query as queries
from windrow.runtime.bounds import with_bounds
from windrow.runtime.modes import Mode, usual_mode
from windrow.runtime.query import Subscriber
from windrow.runtime.refreshes import refresh_slide
from windrow.runtime.shown_order import in_shown_order
from windrow.runtime.sinks import Sink, SinkForm
from windrow.runtime.view import View

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from windrow.runtime.shards.driver import Driver


Told = Literal["changelog", "istream", "dstream", "rstream", "upsert"]
_MODES: dict[str, Mode] = {
    "changelog": Mode.CHANGELOG,
    "istream": Mode.ISTREAM,
    "dstream": Mode.DSTREAM,
    "rstream": Mode.SNAPSHOT,
    "upsert": Mode.UPSERT,
}


class Query(queries.Query):
    """What `engine.query(...)` gives."""

    def __init__(self, engine: Driver, name: str, key: str, plan: Node, explanation: Explanation) -> None:
        """`key` is what the log knows the query by."""
        self._engine = engine
        self.name = name
        self.key = key
        self.plan = plan
        self.slide = refresh_slide(plan)
        self._explanation = explanation
        self.subscribers: list[Subscriber] = []
        self.sink: tuple[Sink, Mode] | None = None  # unless shards write it

    @property
    def started(self) -> int | None:
        """The first instant whose rows it has; None as long as it waits for a micro-batch, or for the first row."""
        return self._engine.start_of(self.name)

    def answer(self, at: int | None = None) -> pa.Table:
        """The rows of the answer at the latest final instant, or at a later one; in no order but that of ORDER BY."""
        shown = self._shown(self._engine.watermark - 1 if at is None else at, isinstance(self.plan, Sort | Limit))
        return with_bounds(shown, self.plan)

    def latest_answer(self) -> pa.Table:
        """The answer to show: now, or once the sources have ended at the last row's time, before everything expired."""
        return with_bounds(self._shown(min(self._engine.watermark - 1, self._engine.last_row), True), self.plan)

    def changes(self) -> pa.Table:
        """The newest changes: the columns, `_ts`, `_exp` (null when open) and `_sign`; `subscribe` hears of all."""
        return self._engine.logged(self, Mode.CHANGELOG)

    def refreshes(self) -> pa.Table:
        """The newest refreshes of a periodic query: the columns and `_window_end`."""
        return self._engine.logged(self, Mode.SNAPSHOT)

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber` with every new piece of what the query tells, from the next micro-batch on."""
        self.subscribers.append(subscriber)

    def dataframe(self, told: Told | None = None) -> DataFrame:
        """A streaming DataFrame of what the query tells, from the oldest micro-batch that is kept on.

        `changelog`, `istream`, `dstream`, `rstream` or `upsert`; by default its changes, or the refreshes of a periodic
        query. Other forms than these two are there from the next micro-batch on.
        """
        from windrow.runtime.spark.engine import Engine  # the engine imports this module
        from windrow.runtime.spark.sources import log_stream

        assert isinstance(self._engine, Engine)
        mode = usual_mode(self.slide) if told is None else _MODES.get(told)
        if mode is None:
            raise WindrowError(f"{told!r} is nothing that a query tells", f"choose one of {', '.join(_MODES)}")
        self._engine.tell(self, SinkForm(mode, self._key() if mode is Mode.UPSERT else ()))
        return log_stream(self._engine.spark, self._engine.checkpoint, self, mode)

    def _key(self) -> tuple[str, ...]:
        key = chosen_key(self.plan)
        if key is None:
            hint = "group by the key, take DISTINCT rows or the last row of each key with [PARTITION BY k ROWS 1]"
            raise WindrowError(f"the results of {self.name} have no key to tell upserts by", hint)
        return key

    def explain(self) -> Explanation:
        return self._explanation

    def _shown(self, instant: int, ordered: bool) -> pa.Table:
        rows = self._rows(instant)
        if ordered:
            keys = self.plan.keys if isinstance(self.plan, Sort | Limit) else ()
            rows = in_shown_order(rows, self.plan.schema, keys)
        return rows_to_arrow(rows, self.plan.schema.names)

    def _rows(self, instant: int) -> Batch:
        """Those of all shards under one dictionary: what takes a row back is found by its codes."""
        view, types = View(), self.plan.schema.types
        none = empty(types, Dictionary())
        view.add(concat([none, *self._engine.kept_answers(self.name, types)]))
        return concat([none, *view.at(instant)])
