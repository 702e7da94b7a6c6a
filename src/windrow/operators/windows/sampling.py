"""Sampling: an answer that is looked at only at multiples of a slide. Lifetimes begin and end with the next look.

A periodic query whose parts change in between (a table, a stream without a window) is refreshed as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment
from windrow.operators.operator import Remembers
from windrow.operators.windows.time_window import TimeWindow, WaitingRows, next_multiple
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts
from windrow.units import FOREVER


@dataclass(frozen=True)
class SampledLifetime:
    """For `Sampled`; what comes and goes between two looks is never seen.

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


@dataclass(frozen=True)
class Sampled:
    """Tuples as they are at every look, for windows that move on in between."""

    lifetime: SampledLifetime

    remembers: ClassVar = Remembers.UNKNOWN

    @cached_property
    def window(self) -> TimeWindow:
        return TimeWindow(self.lifetime)

    def fresh_state(self) -> WaitingRows:
        return self.window.fresh_state()

    def step(self, state: WaitingRows, inputs: Sequence[Batch], segment: Segment) -> Batch:
        return self.window.step(state, inputs, segment)


class RefreshedState(Parts):
    """What waits for the next look, and when the first one is."""

    def __init__(self) -> None:
        self.later = WaitingRows()
        self.first = KeyedArrays(look=np.int64, known=np.bool_)
        self.first.reserve(1)

    def __len__(self) -> int:
        return len(self.later)

    def parts(self) -> Mapping[str, Part]:
        return {"later": self.later, "first": self.first}


@dataclass(frozen=True)
class Refreshed:
    """A whole answer as it is at its refreshes: the first is the first multiple after the time at which it began."""

    slide: int

    remembers: ClassVar = Remembers.UNKNOWN

    def fresh_state(self) -> RefreshedState:
        return RefreshedState()

    def step(self, state: RefreshedState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        state.first.reserve(1)
        if not state.first["known"][0]:
            state.first["known"][0] = True
            state.first["look"][0] = next_multiple(np.array([segment.begin]), self.slide)[0]
        first = state.first["look"][0]
        early = rows.ts < first
        if early.any():
            rows = rows.with_lifetimes(np.where(early, first, rows.ts), rows.exp)
        return Sampled(SampledLifetime(self.slide)).step(state.later, (rows,), segment)
