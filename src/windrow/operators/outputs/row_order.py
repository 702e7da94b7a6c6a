"""Rows of the same instant in the order of their values: how a stream of results breaks ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from windrow.batch.batch import Batch, Segment
from windrow.batch.row_order import in_row_order
from windrow.operators.operator import Remembers
from windrow.state.snapshot import NoState


@dataclass(frozen=True)
class InRowOrder:
    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> NoState:
        return NoState()

    def step(self, state: NoState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        return in_row_order(rows)
