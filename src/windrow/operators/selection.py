"""Selection: the rows that satisfy a predicate; lifetimes and signs are left alone (thesis 2.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from windrow.batch.batch import Batch, Segment
from windrow.operators.operator import Predicate, Remembers
from windrow.state.snapshot import NoState


@dataclass(frozen=True)
class Selection:
    predicate: Predicate

    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> NoState:
        return NoState()

    def step(self, state: NoState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        mask = self.predicate(rows)
        return rows if mask.all() else rows.take(mask)
