"""Windows whose lifetimes follow from a row's own time: the tuple waits until its lifetime begins, then comes out once.

The window is a *lifetime*: a function from rows to [begin, end), with begins in the order of the rows.

    RangeLifetime(T)             [ts, ts+T)
    RangeLifetime(a, ago=b)      [ts+b, ts+a)           a historical window
    RangeLifetime(..., slide=s)  begin and end moved to the next multiples of s after them
    OpenLifetime(since, until)   [ts, ∞) for rows of [since, until)
    ColumnLifetime(c)            [ts, ts + column c)

Empty lifetimes give nothing. Only rows that wait are kept: none without slide or ago.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment
from windrow.operators.operator import Remembers
from windrow.state.row_queue import RowQueue
from windrow.state.snapshot import Part, Parts
from windrow.units import FOREVER, MAX_DURATION


class WindowLifetime(Protocol):
    def __call__(self, rows: Batch) -> tuple[Int64s, Int64s]:
        """Begins and ends; a tuple whose end is not after its begin is never alive."""
        ...


@dataclass(frozen=True)
class RangeLifetime:
    """From `ago` after the row's time up to `length` after it; with `slide`, seen at multiples of it only."""

    length: int
    ago: int = 0
    slide: int | None = None

    def __call__(self, rows: Batch) -> tuple[Int64s, Int64s]:
        begin, end = rows.ts + self.ago if self.ago else rows.ts, rows.ts + self.length
        if self.slide is None:
            return begin, end
        return next_multiple(begin, self.slide), next_multiple(end, self.slide)


@dataclass(frozen=True)
class OpenLifetime:
    """For ever, for rows with since ≤ ts < until; with `slide`, from the next multiple of it on."""

    since: int | None = None
    until: int | None = None
    slide: int | None = None

    def __call__(self, rows: Batch) -> tuple[Int64s, Int64s]:
        begin = rows.ts if self.slide is None else next_multiple(rows.ts, self.slide)
        end = np.full(len(rows), FOREVER, np.int64)
        if self.since is not None:
            end[rows.ts < self.since] = 0
        if self.until is not None:
            end[rows.ts >= self.until] = 0
        return begin, np.where(end == 0, begin, end)


@dataclass(frozen=True)
class ColumnLifetime:
    """As long as the interval in a column says; a null says nothing."""

    column: int

    def __call__(self, rows: Batch) -> tuple[Int64s, Int64s]:
        lengths = rows.columns[self.column]
        end = rows.ts + np.clip(lengths.values.astype(np.int64), -MAX_DURATION, MAX_DURATION)
        return rows.ts, end if lengths.valid is None else np.where(lengths.valid, end, FOREVER)


def next_multiple(times: Int64s, slide: int) -> Int64s:
    """The first multiple of `slide` after each time: the end of the periodic window that has just missed it."""
    return (times // slide + 1) * slide


class WaitingRows(Parts):
    """Rows whose lifetimes have not begun, by begin."""

    def __init__(self) -> None:
        self.waiting = RowQueue()

    def __len__(self) -> int:
        return len(self.waiting)

    def parts(self) -> Mapping[str, Part]:
        return {"waiting": self.waiting}


@dataclass(frozen=True)
class TimeWindow:
    lifetime: WindowLifetime

    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> WaitingRows:
        return WaitingRows()

    def step(self, state: WaitingRows, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        begin, end = self.lifetime(rows)
        rows = rows.with_lifetimes(begin, end)
        alive = begin < end
        if not alive.all():
            rows = rows.take(alive)
        if not len(state.waiting) and (not len(rows) or rows.ts[-1] < segment.end):
            return rows
        state.waiting.push(rows)
        return state.waiting.pop_before(segment.end, rows)

    def alive(self, state: WaitingRows, inputs: Sequence[Batch], at: int) -> Batch:
        """Of rows that somebody else has kept; those that wait are not alive yet."""
        (rows,) = inputs
        begin, end = self.lifetime(rows)
        return rows.with_lifetimes(begin, end).take((begin < np.minimum(at, end)) & (end > at))
