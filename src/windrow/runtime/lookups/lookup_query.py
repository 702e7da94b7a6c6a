"""A query that is looked up: it emits nothing by itself, and answers whenever it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pyarrow as pa

from windrow.errors import WindrowError
from windrow.plan.explain import Explanation
from windrow.plan.nodes import Node
from windrow.runtime.query import Query


class LookupQuery(Query):
    """What `engine.query(...)` gives for REFRESH ON LOOKUP."""

    slide = None

    def __init__(
        self,
        name: str,
        plan: Node,
        watermark: Callable[[], int],
        answer_at: Callable[[int | None], pa.Table],
        newest_answer: Callable[[], pa.Table],
        explain: Callable[[], Explanation],
    ) -> None:
        """`answer_at(None)` is the answer at the latest final instant, `newest_answer()` the one to show."""
        self.name = name
        self.plan = plan
        self._watermark = watermark
        self._answer_at = answer_at
        self._newest_answer = newest_answer
        self._explain = explain

    @property
    def watermark(self) -> int:
        return self._watermark()

    def _answer(self, at: int | None) -> pa.Table:
        return self._answer_at(at)

    def latest_answer(self) -> pa.Table:
        """The answer to show: now, or once the sources have ended at the last row's time."""
        return self._newest_answer()

    def explain(self) -> Explanation:
        """How it is kept now."""
        return self._explain()

    def changes(self) -> NoReturn:
        self._emits_nothing()

    def subscribe(self, subscriber: object) -> NoReturn:
        self._emits_nothing()

    def _emits_nothing(self) -> NoReturn:
        hint = "ask for its answer(), or create it without REFRESH ON LOOKUP"
        raise WindrowError(f"{self.name} is looked up and emits no changes", hint)
