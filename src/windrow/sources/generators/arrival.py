"""The order in which rows arrive when some of them are late.

Row n happens at ts(n) and arrives at ts(n) + delay(n), 0 ≤ delay ≤ disorder. The row at place p is the p-th by
arrival, ties by row number. When a row arrives, no row later than its ts + disorder has arrived: lateness is bounded.

Which row is at place p follows from the rows near p alone. Let row `low` happen more than disorder before row p, and
row `high` more than disorder after it. Then the rows before `low` arrive before the row at place p, the rows from
`high` on after it, and sorting rows [low, high) by arrival puts it at place p - low.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.sources.generators.counter_random import CounterRandom
from windrow.sources.generators.timeline import Timeline
from windrow.units import MILLISECOND, Duration

LATE = 0.2  # the share of rows that are late at all
MARGIN_ROWS = 16  # more than the rows of a generator that share one time because they happened together
MARGIN_TIME = 2 * MILLISECOND  # more than the step of a generator's clock


class TimedRows(Protocol):
    """Rows that know their times; times follow the timeline to within the margins above."""

    @property
    def timeline(self) -> Timeline: ...

    def times(self, first: int, last: int) -> Int64s: ...


@dataclass(frozen=True)
class Arrival:
    disorder: Duration
    random: CounterRandom

    def order(self, happening: TimedRows, first: int, last: int, end: int | None) -> Int64s:
        """The numbers of the rows at places [first, last), of a stream of `end` rows."""
        low, high = self._around(happening.timeline, first, last)
        high = high if end is None else min(high, end)
        times = happening.times(low, high)
        assert low == 0 or times[0] + self.disorder < times[first - low]
        assert high == end or times[last - 1 - low] + self.disorder < times[-1]
        rows = np.arange(low, high)
        delays = self.random.named("delay").below(rows, self.disorder + 1)
        delays[~self.random.named("late").happens(rows, LATE)] = 0
        return low + np.argsort(times + delays, kind="stable")[first - low : last - low]

    def _around(self, timeline: Timeline, first: int, last: int) -> tuple[int, int]:
        edges = timeline.timestamps(np.array([max(first - MARGIN_ROWS, 0), last + MARGIN_ROWS], np.float64))
        reach = self.disorder + MARGIN_TIME
        low = int(timeline.position(int(edges[0]) - reach)) - MARGIN_ROWS
        high = int(timeline.position(int(edges[1]) + reach)) + MARGIN_ROWS
        return max(low, 0), high
