"""A query that is looked up: it tells nothing by itself, and answers whenever it is asked."""

from __future__ import annotations

from typing import NoReturn, Protocol

import pyarrow as pa

from windrow.errors import WindrowError
from windrow.plan.explain import Explanation
from windrow.plan.nodes import Node


class LooksUp(Protocol):
    """An engine, as such a query sees it."""

    @property
    def watermark(self) -> int: ...

    def looked_up(self, query: str, instant: int | None = None, ordered: bool = False) -> pa.Table: ...

    def explained(self, query: str) -> Explanation: ...


class LookupQuery:
    """What `engine.query(...)` gives for REFRESH ON LOOKUP."""

    slide = None

    def __init__(self, engine: LooksUp, name: str, plan: Node) -> None:
        self._lookups = engine
        self.name = name
        self.plan = plan

    def answer(self, at: int | None = None) -> pa.Table:
        """The rows of the answer at the latest final instant, or at another that is kept; in the order of ORDER BY."""
        return self._lookups.looked_up(self.name, self._lookups.watermark - 1 if at is None else at)

    def latest_answer(self) -> pa.Table:
        """The answer to show: now, or once the sources have ended at the last row's time."""
        return self._lookups.looked_up(self.name, ordered=True)

    def explain(self) -> Explanation:
        """How it is kept now."""
        return self._lookups.explained(self.name)

    def changes(self) -> NoReturn:
        self._tells_nothing()

    def subscribe(self, subscriber: object) -> NoReturn:
        self._tells_nothing()

    def _tells_nothing(self) -> NoReturn:
        hint = "ask for its answer(), or create it without REFRESH ON LOOKUP"
        raise WindrowError(f"{self.name} is looked up and tells no changes", hint)
