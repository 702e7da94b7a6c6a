"""RSTREAM: the whole answer at each refresh (thesis 2.1.3).

At each multiple of the slide every row of the answer comes out, as often as it counts, with that time. What comes out
is append-only. Costs the size of the answer at every refresh, and nothing but keeping it between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from windrow.batch.arrays import Int64s, ranges
from windrow.batch.batch import Batch, Segment
from windrow.batch.consolidation import consolidate
from windrow.operators.operator import Parts
from windrow.state import STRUCTURES, StructureKind
from windrow.state.snapshot import Part
from windrow.units import FOREVER


class AnswerState(Parts):
    """The tuples of the current answer."""

    def __init__(self, structure: StructureKind) -> None:
        self.answer = STRUCTURES[structure]()

    def __len__(self) -> int:
        return len(self.answer)

    def parts(self) -> Mapping[str, Part]:
        return {"answer": self.answer}


@dataclass(frozen=True)
class RelationStream:
    """A copy of the answer at each multiple of `slide`."""

    slide: int
    structure: StructureKind = StructureKind.CALENDAR

    def fresh_state(self) -> AnswerState:
        return AnswerState(self.structure)

    def step(self, state: AnswerState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        state.answer.insert(np.zeros(len(rows), np.int64), rows)
        output = rows.slice(0, 0)
        if segment.begin <= (segment.end - 1) // self.slide * self.slide:
            kept = state.answer.scan().rows
            output = self._refreshes(kept if len(kept) else output, segment)
        state.answer.expire_until(segment.end)
        return output

    def _refreshes(self, rows: Batch, segment: Segment) -> Batch:
        first = _at_or_after(np.maximum(rows.ts, segment.begin), self.slide)
        last = _at_or_after(np.minimum(rows.exp, segment.end), self.slide)
        counts = np.maximum((last - first) // self.slide, 0)
        copies = rows.take(np.repeat(np.arange(len(rows)), counts))
        times = ranges(first // self.slide, counts) * self.slide
        stamped = copies.with_lifetimes(times, np.full(len(times), FOREVER, np.int64))
        return consolidate(stamped).sorted_by_time()


def _at_or_after(times: Int64s, slide: int) -> Int64s:
    """The first multiple at or after each time."""
    return -(-times // slide) * slide
