"""What a query of an engine is, wherever it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import pyarrow as pa

from windrow.plan.explain import Explanation
from windrow.plan.nodes import Node

Subscriber = Callable[[pa.Table], None]


class Query(ABC):
    """What `engine.query(...)` gives: the answer of a query, kept up to date, and its changes as they come.

    A continuous query emits its changes; a periodic one, with a `slide`, its whole answer at every refresh.
    """

    name: str
    plan: Node  # optimized; on shards after a restart, as it runs
    slide: int | None  # how far apart refreshes are

    @property
    @abstractmethod
    def watermark(self) -> int:
        """All rows of its own streams before it are there: its answers at earlier instants are final."""

    @abstractmethod
    def answer(self, at: int | None = None) -> pa.Table:
        """The rows of the answer at the latest final instant, or at a later one; in no order but that of ORDER BY."""

    @abstractmethod
    def latest_answer(self) -> pa.Table:
        """The answer to show: now, or once the sources have ended at the last row's time, before everything expired.

        Without ORDER BY it is in the order of its values, so that it is always shown in the same way.
        """

    @abstractmethod
    def changes(self) -> pa.Table:
        """The newest changes: the columns, `_ts`, `_exp` (null when open) and `_sign`; subscribers get all of them."""

    @abstractmethod
    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber` with every new piece of what the query emits."""

    @abstractmethod
    def explain(self) -> Explanation:
        """How it runs."""
