"""The view: the current answer of a query, kept from its changelog."""

from __future__ import annotations

import numpy as np

from windrow.batch import Batch, alive_at, concat, consolidate
from windrow.units import FOREVER


class View:
    """Tuples that are alive or may still count; tuples that take each other back are dropped now and then."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._size_after_tidying = 0

    def __len__(self) -> int:
        return sum(len(batch) for batch in self._batches)

    def add(self, changes: Batch) -> None:
        if len(changes):
            self._batches.append(changes)

    def move_on(self, watermark: int) -> None:
        """Nothing before the watermark will be asked for any more; when the sources have ended, all of it may be."""
        if watermark != FOREVER and len(self) > 2 * self._size_after_tidying + 1024:
            self._tidy(watermark)

    def at(self, instant: int) -> Batch | None:
        """The rows alive at an instant not before the last watermark, each as often as it counts."""
        if not self._batches:
            return None
        alive = alive_at(concat(self._batches), instant)
        level = np.zeros(len(alive), np.int64)
        rows = consolidate(alive.with_lifetimes(level, level))
        assert bool((rows.sign > 0).all()), "more taken back than given"
        return rows

    def last_edge(self) -> int:
        """The latest begin or end of a lifetime that is known: the answer stays as it is from then on."""
        edges = [batch.ts for batch in self._batches] + [batch.exp[batch.exp != FOREVER] for batch in self._batches]
        return max((int(edge.max()) for edge in edges if len(edge)), default=-FOREVER)

    def _tidy(self, watermark: int) -> None:
        """What began before the watermark began 'before': begins no longer matter, so pairs cancel."""
        everything = concat(self._batches)
        living = everything.take(everything.exp > watermark)
        past = np.minimum(living.ts, watermark)
        self._batches = [consolidate(living.with_lifetimes(past, living.exp))]
        self._size_after_tidying = len(self)
