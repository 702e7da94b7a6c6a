"""ISTREAM and DSTREAM: what an answer gains and what it loses, as streams of rows (DESIGN: bag differences).

At an instant ISTREAM gives the rows that the answer has more often than one tick before, DSTREAM those that it has less
often. Both come from the net changes of the answer, so that a row which leaves and comes back at the same instant is in
neither. What comes out is append-only: its rows are never taken back.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment, concat, inserts
from windrow.batch.row_order import in_row_order
from windrow.operators.multiplicity import Multiplicity, MultiplicityOperator, MultiplicityState
from windrow.operators.operator import Nothing
from windrow.state import StructureKind
from windrow.units import FOREVER


class Difference(enum.Enum):
    GAINED = "ISTREAM"
    LOST = "DSTREAM"


@dataclass(frozen=True)
class OutputStream:
    difference: Difference
    structure: StructureKind = StructureKind.CALENDAR
    net: MultiplicityOperator = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "net", MultiplicityOperator(Multiplicity.BAG, (self.structure,)))

    def fresh_state(self) -> MultiplicityState:
        return self.net.fresh_state()

    def step(self, state: MultiplicityState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        changes = self.net.step(state, inputs, segment)
        came = changes.take(changes.sign > 0)
        if self.difference is Difference.GAINED:
            return inserts(came.columns, came.ts)
        ended = came.take(came.exp != FOREVER)
        taken_back = changes.take(changes.sign < 0)
        lost = concat([ended.with_lifetimes(ended.exp, ended.exp), taken_back])
        return inserts(lost.columns, lost.ts).sorted_by_time()


@dataclass(frozen=True)
class InRowOrder:
    """Rows of the same instant by their values: the order of a stream that has no ties of its own."""

    def fresh_state(self) -> Nothing:
        return Nothing()

    def step(self, state: Nothing, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        return in_row_order(rows)


@dataclass(frozen=True)
class SampledLifetime:
    """An answer looked at only at multiples of `slide`: lifetimes begin and end with the next look."""

    slide: int

    def __call__(self, rows: Batch) -> tuple[Int64s, Int64s]:
        open_ended = rows.exp == FOREVER
        ends = np.where(open_ended, FOREVER, self._next_look(np.where(open_ended, 0, rows.exp)))
        return self._next_look(rows.ts), ends

    def _next_look(self, times: Int64s) -> Int64s:
        return -(-times // self.slide) * self.slide
