"""The view: the current answer of a query, kept from its changelog.

The tuples stay in the batches in which they came, as long as nothing takes any of them back: a batch is looked into
only when some of its rows begin or end on the other side of the instant that is asked for, and an answer is handed
over without copying. Now and then negative tuples are looked for what they take back, so that both can go; also what
has ended. Both when the view has doubled, so that keeping it costs a constant a tuple.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch import Batch, concat, consolidate, past_consolidated
from windrow.units import FOREVER

_SMALL = 4_096  # rows up to which batches are put together, and not looked into for what is over


class _StoredBatch(NamedTuple):
    """A batch, the latest begin of its tuples, and the earliest and latest end."""

    rows: Batch
    begun: int
    first_end: int
    last_end: int


class View:
    """Tuples that are alive or may still count."""

    def __init__(self) -> None:
        self._stored: list[_StoredBatch] = []
        self._size = 0
        self._size_after_tidying = 0
        self._negatives = False
        self.known_from = -FOREVER  # what was alive only before this may be gone

    def __len__(self) -> int:
        return self._size

    def add(self, changes: Batch) -> None:
        if len(changes):
            begun, first_end, last_end = int(changes.ts.max()), int(changes.exp.min()), int(changes.exp.max())
            self._stored.append(_StoredBatch(changes, begun, first_end, last_end))
            self._size += len(changes)
            self._negatives = self._negatives or not changes.is_positive

    def move_on(self, instant: int) -> None:
        """Nothing before an instant will be asked for any more."""
        if self._stored and self._stored[-1].first_end <= instant and len(self._stored[-1].rows) > _SMALL:
            self._drop_what_is_over(instant)
        if self._size > 2 * self._size_after_tidying + 1024:
            self._tidy(instant)

    def at(self, instant: int) -> list[Batch]:
        """The rows alive at an instant that is known, each as often as it counts."""
        alive = [rows for stored in self._stored if len(rows := _alive(stored, instant))]
        if not self._negatives or not alive:
            return alive
        alive = past_consolidated(alive)
        if all(rows.is_positive for rows in alive):
            return alive
        # A negative tuple may stand for a part of the life of what it takes back: ends are not looked at any more.
        rows = concat(alive)
        level = np.zeros(len(rows), np.int64)
        rows = consolidate(rows.with_lifetimes(level, level))
        assert rows.is_positive, "more taken back than given"
        return [rows]

    def batches(self) -> list[Batch]:
        """All tuples that are stored, as they came."""
        return [stored.rows for stored in self._stored]

    def _drop_what_is_over(self, instant: int) -> None:
        """Of the newest batch, when it is most of it: versions of groups that were replaced at once."""
        self.known_from = instant
        newest = self._stored[-1].rows
        lasting = newest.exp > instant
        if 2 * int(np.count_nonzero(lasting)) < len(newest):
            self._stored.pop()
            self._size -= len(newest)
            self.add(newest.take(lasting))

    def _tidy(self, instant: int) -> None:
        self.known_from = instant
        batches = [_lasting(stored, instant) for stored in self._stored if stored.last_end > instant]
        if self._negatives:
            batches = past_consolidated(batches)
        self._stored, self._size, self._negatives = [], 0, False
        for rows in _fewer(batches):
            self.add(rows)
        self._size_after_tidying = self._size


def _alive(stored: _StoredBatch, instant: int) -> Batch:
    if stored.begun <= instant < stored.first_end:
        return stored.rows
    return stored.rows.take((stored.rows.ts <= instant) & (instant < stored.rows.exp))


def _lasting(stored: _StoredBatch, instant: int) -> Batch:
    return stored.rows if stored.first_end > instant else stored.rows.take(stored.rows.exp > instant)


def _fewer(batches: list[Batch]) -> list[Batch]:
    """Small batches together, so that there are not many."""
    small = [rows for rows in batches if len(rows) <= _SMALL]
    return [*(rows for rows in batches if len(rows) > _SMALL), *([concat(small)] if small else [])]
