"""Negative tuples for every end (thesis 2.3.3): lifetimes are hidden from the rest of the plan.

Each tuple comes out open, and when its lifetime is over a negative tuple takes it back. This is how the NT strategy
signals expiry: put above the windows, it makes every edge strict. The window has to be kept, in a structure for its
pattern, and every tuple is worked on twice by everything above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from windrow.batch.batch import Batch, Segment, concat
from windrow.operators.operator import Remembers
from windrow.state import STRUCTURES, StructureKind
from windrow.state.snapshot import Part, Parts
from windrow.units import FOREVER


class NegativeTuplesState(Parts):
    def __init__(self, structure: StructureKind) -> None:
        self.window = STRUCTURES[structure]()

    def __len__(self) -> int:
        return len(self.window)

    def parts(self) -> Mapping[str, Part]:
        return {"window": self.window}


@dataclass(frozen=True)
class NegativeTuples:
    structure: StructureKind = StructureKind.FIFO

    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> NegativeTuplesState:
        return NegativeTuplesState(self.structure)

    def step(self, state: NegativeTuplesState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        ending = rows.take(rows.exp != FOREVER)
        state.window.insert(np.zeros(len(ending), np.int64), ending)
        ended = state.window.expire_until(segment.end - 1).rows
        opened = rows.with_lifetimes(rows.ts, np.full(len(rows), FOREVER, np.int64))
        if not len(ended):
            return opened
        ended = ended.take(ended.exp < segment.end)
        closed = ended.with_lifetimes(ended.exp, np.full(len(ended), FOREVER, np.int64)).negated()
        return concat([opened, closed]).sorted_by_time()

    def alive(self, state: NegativeTuplesState, inputs: Sequence[Batch], at: int) -> Batch:
        """What is to be taken back, at `at` or later, and what will never be, as far as it is known below."""
        (rows,) = inputs
        ending = state.window.scan().rows
        kept = concat([rows.take(rows.exp == FOREVER), ending])
        return kept.with_lifetimes(kept.ts, np.full(len(kept), FOREVER, np.int64))
