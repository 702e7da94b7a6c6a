"""Merge union: all tuples of all inputs in the order of time, duplicates kept (thesis 2.2.1).

Segments are complete, so nothing has to wait: the sort finds the inputs sorted and merges them in linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from windrow.batch.batch import Batch, Segment, concat
from windrow.operators.operator import Remembers
from windrow.state.snapshot import NoState


@dataclass(frozen=True)
class MergeUnion:
    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> NoState:
        return NoState()

    def step(self, state: NoState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        return concat(inputs).sorted_by_time()
