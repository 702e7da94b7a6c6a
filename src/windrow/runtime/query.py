"""What a query of an engine is, wherever it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import pyarrow as pa

from windrow.errors import WindrowError
from windrow.plan.coverage import Coverage
from windrow.plan.explain import Explanation
from windrow.plan.nodes import Node
from windrow.units import BEGINNING, FOREVER, Instant, format_timestamp, timestamp_of

Subscriber = Callable[[pa.Table], None]


def instant_of(at: Instant | None) -> int | None:
    """What was asked for, in microseconds; None for the latest final instant."""
    try:
        return None if at is None else timestamp_of(at)
    except (ValueError, OverflowError):
        hint = "write it such as '2026-01-31 12:00:00', as a datetime, or in microseconds since 1970"
        raise WindrowError(f"{at!r} is not a time", hint) from None


def final_text(watermark: int) -> str:
    """How far answers are final, for people."""
    if watermark == FOREVER:
        return "ended"
    return "no rows yet" if watermark == BEGINNING else f"final before {format_timestamp(watermark)}"


def _known(time: int) -> int | None:
    return None if time == BEGINNING else time


class Query(ABC):
    """What `engine.query(...)` gives: the answer of a query, kept up to date, and its changes as they come.

    A continuous query emits its changes; a periodic one, with a `slide`, its whole answer at every refresh.
    """

    name: str
    plan: Node  # optimized; on shards after a restart, as it runs
    slide: int | None  # how far apart refreshes are
    _coverage: Coverage | None = None

    @property
    @abstractmethod
    def watermark(self) -> int:
        """All rows of its own streams before it are there: its answers at earlier instants are final."""

    @property
    def coverage(self) -> Coverage | None:
        """Since when each of its windows has its rows; None until it is taken up."""
        return self._coverage

    @property
    def covered_from(self) -> int | None:
        """Since when the rows of all its windows are there, in microseconds; None from the first row on."""
        return _known(self.coverage.covered_from) if self.coverage is not None else None

    @property
    def complete_from(self) -> int | None:
        """From when on answers are those of a query that was always there; None from the first row on.

        It is in microseconds, and `windrow.units.FOREVER` when that is never known.
        """
        return _known(self.coverage.complete_from) if self.coverage is not None else None

    def answer(self, at: Instant | None = None) -> pa.Table:
        """The rows of the answer at the latest final instant, or at a later one; in no order but that of ORDER BY.

        An instant is a text ('2026-01-31 12:00:00'), a datetime, or microseconds since 1970; UTC where no zone is said.
        """
        return self._answer(instant_of(at))

    @abstractmethod
    def _answer(self, at: int | None) -> pa.Table:
        """The same, in microseconds."""

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

    def __repr__(self) -> str:
        columns = ", ".join(f"{field.name} {field.type}" for field in self.plan.schema.fields)
        return f"query {self.name} ({columns}), {final_text(self.watermark)}"
