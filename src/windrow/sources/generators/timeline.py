"""When rows happen: the time of any row number, and the row number of any time.

A row has a position on a scale of rows: its number plus a random fraction. A timeline turns positions into timestamps,
and never turns two positions around, so that rows are in the order of their numbers.

    rows a second   ▂▂▁▂█▂▁▂▂▂▁▂▂▂▁▂▂▂▂▁▂▂▂▁█▂▂▁ ...
                    └── a period ──┘└── a period ──┘
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from windrow.batch.arrays import Floats, Int64s
from windrow.sources.generators.counter_random import CounterRandom
from windrow.units import SECOND, Timestamp


class Timeline(Protocol):
    def timestamps(self, positions: Floats) -> Int64s:
        """Microseconds; never decreasing when the positions do not."""

    def position(self, timestamp: int) -> float:
        """The inverse, within one row."""


@dataclass(frozen=True)
class Steady:
    """`rate` rows in every second."""

    start: Timestamp
    rate: float

    def timestamps(self, positions: Floats) -> Int64s:
        return np.floor(positions * (SECOND / self.rate)).astype(np.int64) + self.start

    def position(self, timestamp: int) -> float:
        return (timestamp - self.start) * self.rate / SECOND


@dataclass(frozen=True)
class Bursty:
    """`rate` rows a second over every period of 32 seconds, one of which is ten times as busy as the others.

    Where there is less than a row a second, the time between two rows takes the place of the second.
    """

    start: Timestamp
    rate: float
    random: CounterRandom

    PERIOD = 32
    BURST = 10.0

    def timestamps(self, positions: Floats) -> Int64s:
        if not len(positions):
            return np.zeros(0, np.int64)
        loads = positions / self._rows_a_step
        steps, load_before = self._steps(loads[0], loads[-1])
        passed = np.interp(loads, load_before, steps)
        return np.floor(passed * self._microseconds_a_step).astype(np.int64) + self.start

    def position(self, timestamp: int) -> float:
        passed = (timestamp - self.start) / self._microseconds_a_step
        steps, load_before = self._steps(passed, passed)
        return float(np.interp(passed, steps, load_before)) * self._rows_a_step

    @property
    def _rows_a_step(self) -> float:
        return max(1.0, self.rate)

    @property
    def _microseconds_a_step(self) -> float:
        return SECOND * max(1.0, 1.0 / self.rate)

    def _steps(self, first: float, last: float) -> tuple[Floats, Floats]:
        """The steps of the periods around [first, last], and how much of the load comes before each.

        A period has as much load as it has steps, so that both count from the same edges.
        """
        periods = np.arange(int(first // self.PERIOD), int(last // self.PERIOD) + 1)
        steps = np.arange(periods[0] * self.PERIOD, (periods[-1] + 1) * self.PERIOD + 1)
        weights = (0.75 + 0.5 * self.random.named("load").uniform(steps[:-1])).reshape(-1, self.PERIOD)
        burst = self.random.named("burst").below(periods, self.PERIOD)
        weights[np.arange(len(periods)), burst] *= self.BURST
        load = np.cumsum(weights, axis=1)
        load *= self.PERIOD / load[:, -1:]
        after = (load + periods[:, None] * self.PERIOD).ravel()
        after[self.PERIOD - 1 :: self.PERIOD] = (periods + 1) * self.PERIOD
        return steps.astype(np.float64), np.concatenate(([float(steps[0])], after))
