"""A query that runs on shards: its answer is read from their state, its changes from the log."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from windrow.batch import Batch, Dictionary, concat, empty, rows_to_arrow
from windrow.errors import WindrowError
from windrow.plan.coverage import Coverage
from windrow.plan.explain import Explanation
from windrow.plan.nodes import Limit, Node, Sort
from windrow.runtime.bounds import with_bounds
from windrow.runtime.modes import Mode
from windrow.runtime.outputs.differences import AnswerAt
from windrow.runtime.query import Query, Subscriber
from windrow.runtime.refreshes import refresh_slide
from windrow.runtime.shards.answers import Answers
from windrow.runtime.shown_order import in_shown_order
from windrow.runtime.view import View
from windrow.units import FOREVER, format_timestamp


class ShardedQuery(Query):
    """What `engine.query(...)` gives."""

    def __init__(self, answers: Answers, name: str, key: str, plan: Node, explain: Callable[[], Explanation]) -> None:
        """`key` is what the log knows the query by."""
        self._answers = answers
        self.name = name
        self.plan = plan
        self.slide = refresh_slide(plan)
        self._explain = explain
        self.keys = [key]  # one that is resumed after it was set aside gets another
        self.aside: AnswerAt | None = None  # the last good answer, when it is set aside
        self.on_subscribe: Callable[[ShardedQuery, Subscriber], None] | None = None

    @property
    def key(self) -> str:
        return self.keys[-1]

    @property
    def started(self) -> int | None:
        """The first instant whose rows it has; None as long as it waits for a micro-batch, or for the first row."""
        return self._answers.start_of(self.name)

    @property
    def coverage(self) -> Coverage | None:
        """Since when each of its windows has its rows; None until it is taken up."""
        running = self._answers.running(self.name)
        return None if running is None else running.coverage

    @property
    def watermark(self) -> int:
        if self.aside is not None:
            return self.aside.instant + 1
        return self._answers.watermark_of(self.plan)

    def _answer(self, at: int | None) -> pa.Table:
        instant = self._latest(self.watermark - 1) if at is None else at
        if self.aside is not None and instant > self.aside.instant:
            hint = f"it has answers until {format_timestamp(self.aside.instant)}; engine.health() says why"
            raise WindrowError(f"{self.name} is set aside", hint)
        return with_bounds(self._shown(instant, isinstance(self.plan, Sort | Limit)), self.plan)

    def latest_answer(self) -> pa.Table:
        """The answer to show: now, or once the sources have ended at the last row's time, before everything expired."""
        instant = min(self.watermark - 1, self._answers.last_row_of(self.plan))
        return with_bounds(self._shown(self._latest(instant), True), self.plan)

    def _latest(self, instant: int) -> int:
        """An instant of which there is an answer: what was there at the creation is known at once."""
        running = self._answers.running(self.name)
        return instant if running is None or self.aside is not None else max(instant, running.start)

    def changes(self) -> pa.Table:
        """The newest changes: the columns, `_ts`, `_exp` (null when open) and `_sign`; a subscriber gets all."""
        return self._answers.emitted(self, Mode.CHANGELOG)

    def refreshes(self) -> pa.Table:
        """The newest refreshes of a periodic query: the columns and `_window_end`."""
        return self._answers.emitted(self, Mode.SNAPSHOT)

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber` with every new piece of what the query emits, from the next micro-batch on."""
        assert self.on_subscribe is not None, "nobody publishes what it emits"
        self.on_subscribe(self, subscriber)

    def explain(self) -> Explanation:
        return self._explain()

    def _shown(self, instant: int, ordered: bool) -> pa.Table:
        rows = self._rows(instant)
        if ordered:
            keys = self.plan.keys if isinstance(self.plan, Sort | Limit) else ()
            rows = in_shown_order(rows, self.plan.schema, keys)
        return rows_to_arrow(rows, self.plan.schema.names)

    def answer_now(self) -> AnswerAt:
        """The tuples that make up the answer as of the last commit."""
        watermark = self.watermark
        instant = self._answers.last_row_of(self.plan) if watermark == FOREVER else watermark - 1
        return AnswerAt(self._stored(), instant)

    def _rows(self, instant: int) -> Batch:
        view = View()
        view.add(self._stored())
        return concat([empty(self.plan.schema.types, Dictionary()), *view.at(instant)])

    def _stored(self) -> Batch:
        """Of all shards under one dictionary: what takes a row back is found by its codes."""
        if self.aside is not None:
            return self.aside.rows
        types = self.plan.schema.types
        return concat([empty(types, Dictionary()), *self._answers.stored(self.name, types)])
