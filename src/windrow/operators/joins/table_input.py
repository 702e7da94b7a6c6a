"""The changelog of a table as one query sees it: what the table holds when the query starts, then its changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from windrow.batch.batch import Batch, Segment, concat
from windrow.operators.operator import Remembers
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts


class TableInputState(Parts):
    """Whether the contents have been emitted."""

    def __init__(self) -> None:
        self.begun = KeyedArrays(yes=np.bool_)
        self.begun.reserve(1)

    def __len__(self) -> int:
        return 0

    def parts(self) -> Mapping[str, Part]:
        return {"begun": self.begun}


@dataclass(frozen=True)
class TableInput:
    """Inputs are the changes of the segment and the contents at its beginning.

    `early` ticks before it, for a table whose changes are seen by later tuples only: contents were there before.
    """

    early: int = 0

    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> TableInputState:
        return TableInputState()

    def step(self, state: TableInputState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        changes, contents = inputs
        state.begun.reserve(1)
        if state.begun["yes"][0]:
            return changes
        state.begun["yes"][0] = True
        begins = np.full(len(contents), segment.begin - self.early, np.int64)
        return concat([contents.with_lifetimes(begins, contents.exp), changes])

    def alive(self, state: TableInputState, inputs: Sequence[Batch], at: int) -> Batch:
        """The contents; none of them have come when no step has been made."""
        _, contents = inputs
        if not state.begun["yes"][0]:
            return contents.slice(0, 0)
        return contents.with_lifetimes(np.full(len(contents), at - 1, np.int64), contents.exp)
