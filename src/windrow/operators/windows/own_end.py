"""A window over rows that end by themselves: a row is in view while the window and its own lifetime both say so.

The window counts and times all rows, also those that have ended: it is asked first, and what it shows is cut. So that
this needs no state, a row carries its own end through the window as one more column:

    OwnEnd(c)   adds the end, ts + column c
    CutAtEnd    ends every tuple there at the latest, and drops the column

A negative tuple takes back a result that ends there at the latest as well; one that comes after that says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from windrow.batch.batch import Batch, Segment
from windrow.batch.column import Column
from windrow.operators.operator import Remembers
from windrow.operators.windows.time_window import ColumnLifetime
from windrow.state.snapshot import NoState
from windrow.types import TIMESTAMP


@dataclass(frozen=True)
class OwnEnd:
    """Of rows as they come, with their own time in ts."""

    column: int

    remembers: ClassVar = Remembers.THROUGH

    @cached_property
    def lifetime(self) -> ColumnLifetime:
        return ColumnLifetime(self.column)

    def fresh_state(self) -> NoState:
        return NoState()

    def step(self, state: NoState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        return rows.with_columns((*rows.columns, Column(TIMESTAMP, self.lifetime(rows)[1])))


@dataclass(frozen=True)
class CutAtEnd:
    """The end is the last column."""

    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> NoState:
        return NoState()

    def step(self, state: NoState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        ends = np.minimum(rows.exp, rows.columns[-1].values)
        cut = rows.with_columns(rows.columns[:-1]).with_lifetimes(rows.ts, ends)
        return cut.take(cut.ts < cut.exp)
