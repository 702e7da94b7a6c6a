"""Windows counted in rows: when a tuple comes and goes depends on the rows after it (thesis 2.1.1 and 3.2.2).

Rows are numbered in the order of the stream, from 0. A tuple enters when one row arrives and leaves when another does:

    ROWS N                 row i enters with row i and leaves with row i+N
    ROWS FROM a TO b AGO   enters with row i+b, leaves with row i+a
    ROWS N SLIDE M         the same, at the next row whose number is the last of a group of M
    ROWS N SLIDE s         enters at the next multiple of s after row i, leaves at the next one after row i+N
    RANGE T SLIDE M ROWS   enters with the last row of i's group of M, leaves with the first such row T or more after it

A tuple that enters and leaves at the same instant is never seen. Ends that fall into the segment are written into the
tuple; the others come later as negative tuples: the pattern is strict. Costs a constant a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment, concat
from windrow.operators.operator import Remembers
from windrow.operators.windows.time_window import next_multiple
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.row_queue import RowQueue
from windrow.state.snapshot import Part, Parts
from windrow.units import FOREVER

_SEEN = 0  # place in the counters: rows seen so far


class CountWindowState(Parts):
    """Rows that wait to enter, rows inside (with the times at which they entered), and how many have been seen."""

    def __init__(self) -> None:
        self.waiting = RowQueue()
        self.inside = RowQueue()
        self.counters = KeyedArrays(value=np.int64)
        self.counters.reserve(1)

    def __len__(self) -> int:
        return len(self.waiting) + len(self.inside)

    @property
    def seen(self) -> int:
        return int(self.counters["value"][_SEEN])

    def arrive(self, rows: Batch) -> int:
        """Rows come and wait; the number of the first that waits."""
        self.counters.reserve(1)
        self.counters["value"][_SEEN] += len(rows)
        self.waiting.push(rows)
        return self.seen - len(self.waiting)

    def parts(self) -> Mapping[str, Part]:
        return {"waiting": self.waiting, "inside": self.inside, "counters": self.counters}


class CountsRows:
    """What windows counted in rows have in common."""

    remembers: ClassVar = Remembers.RESULTS

    def fresh_state(self) -> CountWindowState:
        return CountWindowState()

    def alive(self, state: CountWindowState, inputs: Sequence[Batch], at: int) -> Batch:
        inside = state.inside.rows(inputs[0])
        return inside.with_lifetimes(inside.ts, np.full(len(inside), FOREVER, np.int64))


@dataclass(frozen=True)
class RowsWindow(CountsRows):
    """ROWS N, ROWS FROM a TO b AGO, and both with SLIDE M ROWS."""

    count: int
    ago: int = 0
    slide: int = 1

    def step(self, state: CountWindowState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        if not len(rows):
            return rows
        before = state.seen
        first_waiting = state.arrive(rows)
        # The newest row at which the window moves on; what it lets in and out.
        last = state.seen // self.slide * self.slide - 1
        entering = state.waiting.pop(max(0, last - self.ago + 1 - first_waiting), rows)
        numbers = np.arange(first_waiting, first_waiting + len(entering))
        entered = entering.with_lifetimes(rows.ts[self._move(numbers + self.ago) - before], entering.exp)
        first_inside = first_waiting - len(state.inside)
        state.inside.push(entered)
        leaving = state.inside.pop(max(0, last - self.count + 1 - first_inside), rows)
        numbers = np.arange(first_inside, first_inside + len(leaving))
        left = rows.ts[self._move(numbers + self.count) - before]
        old = first_waiting - first_inside  # these of the leaving were let in by an earlier step
        return comings_and_goings(entered, leaving, left, old)

    def _move(self, numbers: Int64s) -> Int64s:
        """The row at which the window moves on, with or after each row."""
        return (numbers // self.slide + 1) * self.slide - 1


def comings_and_goings(entered: Batch, leaving: Batch, left: Int64s, old: int) -> Batch:
    """The changes of a step: the first `old` of the leaving came in earlier steps, the rest lead those that entered."""
    old = min(old, len(leaving))
    taken_back = leaving.slice(0, old)
    open_ends = np.full(old, FOREVER, np.int64)
    taken_back = taken_back.with_lifetimes(left[:old], open_ends).negated()
    ends = np.full(len(entered), FOREVER, np.int64)
    ends[: len(leaving) - old] = left[old:]
    seen = entered.with_lifetimes(entered.ts, ends)
    return concat([seen.take(seen.ts < seen.exp), taken_back]).sorted_by_time()


@dataclass(frozen=True)
class RowsWindowSlidingInTime(CountsRows):
    """ROWS N SLIDE s: the last N rows, as of each multiple of s."""

    count: int
    slide: int

    def step(self, state: CountWindowState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        # `waiting` holds rows by the multiple at which they enter; one at the segment's end or later waits on.
        state.waiting.push(rows.with_lifetimes(next_multiple(rows.ts, self.slide), rows.exp))
        entered = state.waiting.pop_before(segment.end, rows)
        old = len(state.inside)
        state.inside.push(entered)
        moves = entered.ts
        leaving = state.inside.pop(max(0, len(state.inside) - self.count), rows)
        # Row i+count is the row that pushes row i out: entered rows in order, the last ones push the leaving.
        left = moves[len(moves) - len(leaving) :]
        return comings_and_goings(entered, leaving, left, old)


@dataclass(frozen=True)
class RangeWindowSlidingByRows(CountsRows):
    """RANGE T SLIDE M ROWS: the last T of time, as of each M-th row."""

    length: int
    slide: int

    def step(self, state: CountWindowState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        if not len(rows):
            return rows
        before = state.seen
        # From here on `exp` is the time from which the row is too old.
        first_waiting = state.arrive(rows.with_lifetimes(rows.ts, rows.ts + self.length))
        moves = rows.ts[np.arange(self.slide - 1 - before % self.slide, len(rows), self.slide)]
        if not len(moves):
            return rows.slice(0, 0)
        entering = state.waiting.pop(state.seen // self.slide * self.slide - first_waiting, rows)
        numbers = np.arange(first_waiting, first_waiting + len(entering))
        entered_at = moves[numbers // self.slide - before // self.slide]
        entered = entering.with_lifetimes(entered_at, entering.exp)
        old = len(state.inside)
        state.inside.push(entered)
        leaving = state.inside.pop_ended(int(moves[-1]), rows)
        left = moves[np.searchsorted(moves, leaving.exp)]
        # A row that is too old already when its group is full leaves as it enters.
        left = np.maximum(left, leaving.ts)
        return comings_and_goings(entered, leaving, left, old)
