"""Projection: new columns from old ones, duplicates kept; lifetimes and signs are left alone (thesis 2.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from windrow.batch.batch import Batch, Segment
from windrow.operators.operator import CompiledExpression, Remembers
from windrow.state.snapshot import NoState


@dataclass(frozen=True)
class Projection:
    expressions: tuple[CompiledExpression, ...]

    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> NoState:
        return NoState()

    def step(self, state: NoState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        return rows.with_columns(tuple(expression(rows) for expression in self.expressions))
