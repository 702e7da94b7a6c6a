"""A query that runs on Spark: its answer is read from the shards' state, its changes from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.batch import Batch, Dictionary, concat, empty, rows_to_arrow
from windrow.plan.explain import Explanation
from windrow.plan.nodes import Limit, Node, Sort
from windrow.runtime.local.query import Subscriber
from windrow.runtime.local.refreshes import refresh_slide
from windrow.runtime.local.shown_order import in_shown_order
from windrow.runtime.local.view import View

if TYPE_CHECKING:
    from windrow.runtime.spark.driver import Driver


class Query:
    """What `engine.query(...)` gives."""

    def __init__(self, engine: Driver, name: str, plan: Node, explanation: Explanation) -> None:
        self._engine = engine
        self.name = name
        self.plan = plan
        self.slide = refresh_slide(plan)
        self._explanation = explanation
        self.subscribers: list[Subscriber] = []

    def answer(self, at: int | None = None) -> pa.Table:
        """The rows of the answer at the latest final instant, or at a later one; in no order but that of ORDER BY."""
        return self._shown(self._engine.watermark - 1 if at is None else at, isinstance(self.plan, Sort | Limit))

    def latest_answer(self) -> pa.Table:
        """The answer to show: now, or once the sources have ended at the last row's time, before everything expired."""
        return self._shown(min(self._engine.watermark - 1, self._engine.last_row), True)

    def changes(self) -> pa.Table:
        """The newest changes: the columns, `_ts`, `_exp` (null when open) and `_sign`; `subscribe` hears of all."""
        return self._engine.logged(self.name, "changes")

    def refreshes(self) -> pa.Table:
        """The newest refreshes of a periodic query: the columns and `_window_end`."""
        return self._engine.logged(self.name, "told")

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber` with every new piece of what the query tells, from the next micro-batch on."""
        self.subscribers.append(subscriber)

    def explain(self) -> Explanation:
        return self._explanation

    def _shown(self, instant: int, ordered: bool) -> pa.Table:
        rows = self._rows(instant)
        if ordered:
            keys = self.plan.keys if isinstance(self.plan, Sort | Limit) else ()
            rows = in_shown_order(rows, self.plan.schema, keys)
        return rows_to_arrow(rows, self.plan.schema.names)

    def _rows(self, instant: int) -> Batch:
        view, types = View(), self.plan.schema.types
        for rows in self._engine.kept_answers(self.name, types):
            view.add(rows)
        return concat([empty(types, Dictionary()), *view.at(instant)])
