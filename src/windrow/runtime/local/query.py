"""A running query: its current answer, its changes so far, and who wants to hear of new ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.batch import Batch, Segment, changelog_to_arrow, empty, rows_to_arrow
from windrow.plan.explain import Explanation
from windrow.plan.nodes import Limit, Node, Sort
from windrow.runtime.local.shown_order import in_shown_order
from windrow.runtime.local.view import View

if TYPE_CHECKING:
    from windrow.runtime.local.engine import Engine

Subscriber = Callable[[pa.Table], None]


class Query:
    """What `engine.query(...)` gives."""

    def __init__(self, engine: Engine, name: str, plan: Node, explanation: Explanation) -> None:
        self._engine = engine
        self.name = name
        self.plan = plan
        self._explanation = explanation
        self._view = View()
        self._changes: list[Batch] = []
        self._subscribers: list[Subscriber] = []

    def answer(self, at: int | None = None) -> pa.Table:
        """The rows of the answer at the latest final instant, or at a later one that is asked for."""
        instant = self._engine.watermark - 1 if at is None else at
        rows = self._view.at(instant)
        table = rows_to_arrow(self._none() if rows is None else rows, self.plan.schema.names)
        keys = self.plan.keys if isinstance(self.plan, Sort | Limit) else ()
        return in_shown_order(table, keys)

    def changes(self) -> pa.Table:
        """The changelog so far: the columns, `_ts`, `_exp` (null when open) and `_sign`."""
        batches = self._changes or [self._none()]
        return pa.concat_tables([changelog_to_arrow(batch, self.plan.schema.names) for batch in batches])

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber` with every new piece of the changelog."""
        self._subscribers.append(subscriber)

    def explain(self) -> Explanation:
        return self._explanation

    def take(self, changes: Batch, segment: Segment) -> None:
        """What the dataflow gave in a segment."""
        self._view.apply(changes, segment.end)
        if not len(changes):
            return
        self._changes.append(changes)
        if self._subscribers:
            table = changelog_to_arrow(changes, self.plan.schema.names)
            for subscriber in self._subscribers:
                subscriber(table)

    def _none(self) -> Batch:
        return empty(self.plan.schema.types, self._engine.dictionary)
