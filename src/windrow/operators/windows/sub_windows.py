"""Windows of rows in sub-windows: rows come out when their sub-window is complete, and go when enough have followed.

What is made of the rows of a sub-window can be much smaller than they are, so it is not the rows that are kept but what
is made of them. Two operators do what `RowsWindow` does, one below and one above whatever makes it:

    SubWindows      rows wait until their sub-window of `rows` rows is complete; `exp` is then not a time, but the
                    number of the sub-window that will push theirs out
    LastSubWindows  gives what was made of them their lifetimes

Rows of different sub-windows that are complete at the same instant differ in `exp`, so they are kept apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from windrow.batch.batch import Batch, Segment
from windrow.operators.operator import Remembers
from windrow.operators.windows.count_window import CountsRows, CountWindowState, comings_and_goings
from windrow.state.row_queue import RowQueue
from windrow.state.snapshot import Part, Parts


@dataclass(frozen=True)
class SubWindows(CountsRows):
    """`rows` in a sub-window, `count` sub-windows in the window."""

    rows: int
    count: int

    remembers: ClassVar = Remembers.UNKNOWN

    def step(self, state: CountWindowState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        if not len(rows):
            return rows
        before = state.seen
        first = state.arrive(rows)
        complete = state.waiting.pop(state.seen // self.rows * self.rows - first, rows)
        numbers = np.arange(first, first + len(complete)) // self.rows
        completed = rows.ts[(numbers + 1) * self.rows - 1 - before]
        return complete.with_lifetimes(completed, numbers + self.count)


class SubWindowsInside(Parts):
    """What was made of the sub-windows that are in the window."""

    def __init__(self) -> None:
        self.inside = RowQueue()

    def __len__(self) -> int:
        return len(self.inside)

    def parts(self) -> Mapping[str, Part]:
        return {"inside": self.inside}


@dataclass(frozen=True)
class LastSubWindows:
    """Over what was made of the rows of `SubWindows`, and these rows themselves, which say when each was complete."""

    count: int

    remembers: ClassVar = Remembers.UNKNOWN

    def fresh_state(self) -> SubWindowsInside:
        return SubWindowsInside()

    def step(self, state: SubWindowsInside, inputs: Sequence[Batch], segment: Segment) -> Batch:
        made, rows = inputs
        if not len(rows):
            return made
        entered = made.take(np.argsort(made.exp, kind="stable"))
        numbers, firsts = np.unique(rows.exp, return_index=True)
        first, completed = int(numbers[0]) - self.count, rows.ts[firsts]
        old = len(state.inside)
        state.inside.push(entered)
        leaving = state.inside.pop_ended(first + len(completed) - 1, made)
        return comings_and_goings(entered, leaving, completed[leaving.exp - first], old)
