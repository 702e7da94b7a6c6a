"""ISTREAM RESTORE (thesis 3.3.4): refresh E reports all that was born since the last one, even if it has died.

The answer is followed continuously, and what it gains waits for the next multiple of the slide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from windrow.batch.batch import Batch, Segment
from windrow.operators.multiplicity import MultiplicityState
from windrow.operators.operator import Parts
from windrow.operators.output_stream import Difference, OutputStream
from windrow.operators.time_window import next_multiple
from windrow.state import StructureKind
from windrow.state.row_queue import RowQueue
from windrow.state.snapshot import Part


class RestoredState(Parts):
    """Net counts of the answer's rows, and what waits for the next refresh."""

    def __init__(self, counts: MultiplicityState) -> None:
        self.counts = counts
        self.waiting = RowQueue()

    def __len__(self) -> int:
        return len(self.counts) + len(self.waiting)

    def parts(self) -> Mapping[str, Part]:
        return {"counts": self.counts, "waiting": self.waiting}


@dataclass(frozen=True)
class RestoredInsertStream:
    """Over a continuous answer, refreshed at multiples of `slide`."""

    slide: int
    structure: StructureKind = StructureKind.CALENDAR

    @cached_property
    def gained(self) -> OutputStream:
        return OutputStream(Difference.GAINED, self.structure)

    def fresh_state(self) -> RestoredState:
        return RestoredState(self.gained.fresh_state())

    def step(self, state: RestoredState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        born = self.gained.step(state.counts, inputs, segment)
        state.waiting.push(born.with_lifetimes(next_multiple(born.ts, self.slide), born.exp))
        return state.waiting.pop_before(segment.end, born)
