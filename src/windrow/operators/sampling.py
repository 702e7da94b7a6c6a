"""Sampling: an answer that is looked at only at multiples of a slide. Lifetimes begin and end with the next look.

A periodic query whose parts change in between (a table, a stream without a window) is refreshed as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch
from windrow.units import FOREVER


@dataclass(frozen=True)
class SampledLifetime:
    """For `TimeWindow`; what comes and goes between two looks is never seen.

    `lag` 1 shows at a multiple E what there was one tick before it, as periodic windows do.
    """

    slide: int
    lag: int = 0

    def __call__(self, rows: Batch) -> tuple[Int64s, Int64s]:
        open_ended = rows.exp == FOREVER
        ends = np.where(open_ended, FOREVER, self._next_look(np.where(open_ended, 0, rows.exp)))
        return self._next_look(rows.ts), ends

    def _next_look(self, times: Int64s) -> Int64s:
        return -(-(times + self.lag) // self.slide) * self.slide
