"""What a query begins with: the answer as of its creation, from what ran before it came.

Where some of its streams are behind the others, what happens before its creation goes into that answer too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.batch import Batch, alive_at, concat
from windrow.batch.consolidation import standing


class FirstAnswer:
    """Until the time of the query comes; `is_stream` is for what emits only what happens from its creation on."""

    def __init__(self, alive: Batch, created: int, is_stream: bool) -> None:
        self.created = created
        self._early: list[Batch] = [alive]
        self._is_stream = is_stream

    def hold(self, changes: Batch) -> None:
        """What was given in a segment before the creation."""
        self._early.append(changes)

    def with_later(self, changes: Sequence[Batch]) -> Batch:
        """What the query emits first: the answer as of its creation, and what has changed since."""
        rows = concat([*self._early, *changes])
        before = rows.ts < self.created
        later = rows.take(~before)
        if self._is_stream or not before.any():
            return later
        begun = standing(rows.take(before), self.created)
        times = np.full(len(begun), self.created, np.int64)
        return concat([begun.with_lifetimes(times, begun.exp), later])

    def at(self, instant: int) -> list[Batch]:
        """The answer before anything has happened, as batches that have rows."""
        rows = alive_at(self.with_later(()), instant)
        return [rows] if len(rows) else []
