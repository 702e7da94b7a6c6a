"""Output streams: from answers that change back to streams (thesis 2.1.3).

    ISTREAM at τ   the bag difference answer(τ) − answer(τ − 1 tick): what is new
    DSTREAM at τ   the reverse: what has gone
    RSTREAM at E   the whole answer, at each multiple E of a slide

ISTREAM and DSTREAM look at net changes: a row that is replaced by an equal one at the same instant is neither new nor
gone. Under a SLIDE all changes fall on refreshes, so the difference between instants is the one between refreshes.
What comes out is append-only. Costs one hash a tuple; RSTREAM costs the size of the answer at every refresh.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windrow.batch.arrays import Int64s, ranges
from windrow.batch.batch import Batch, Segment, inserts
from windrow.batch.consolidation import consolidate
from windrow.operators.multiplicity import Multiplicity, MultiplicityOperator, MultiplicityState
from windrow.operators.operator import Parts
from windrow.operators.time_window import WaitingRows, next_multiple
from windrow.state import STRUCTURES, StructureKind
from windrow.state.snapshot import Part
from windrow.units import FOREVER


@dataclass(frozen=True)
class NetChanges:
    """A changelog as net changes of each row's count: what ISTREAM and DSTREAM read."""

    structure: StructureKind = StructureKind.CALENDAR

    @cached_property
    def counting(self) -> MultiplicityOperator:
        return MultiplicityOperator(Multiplicity.BAG, (self.structure,))

    def fresh_state(self) -> MultiplicityState:
        return self.counting.fresh_state()

    def step(self, state: MultiplicityState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        return self.counting.step(state, inputs, segment)


@dataclass(frozen=True)
class InsertStream(NetChanges):
    """ISTREAM; over INTERNAL windows this is what stays (thesis 3.3.2)."""

    def step(self, state: MultiplicityState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        net = super().step(state, inputs, segment)
        begun = net.take(net.sign > 0)
        return inserts(begun.columns, begun.ts)


@dataclass(frozen=True)
class DeleteStream(NetChanges):
    """DSTREAM."""

    def step(self, state: MultiplicityState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        net = super().step(state, inputs, segment)
        # An end is a negative tuple, or the end of a tuple that came and went within the segment.
        times = np.where(net.sign > 0, net.exp, net.ts)
        ended = times != FOREVER
        gone = net.take(ended)
        return inserts(gone.columns, times[ended]).sorted_by_time()


@dataclass(frozen=True)
class InsertStreamRestored:
    """ISTREAM RESTORE (thesis 3.3.4): refresh E reports all that was born since the last one, even if it has died."""

    slide: int
    structure: StructureKind = StructureKind.CALENDAR

    @cached_property
    def born(self) -> InsertStream:
        return InsertStream(self.structure)

    def fresh_state(self) -> RestoredState:
        return RestoredState(self.born.fresh_state())

    def step(self, state: RestoredState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        born = self.born.step(state.counts, inputs, segment)
        state.later.waiting.push(born.with_lifetimes(next_multiple(born.ts, self.slide), born.exp))
        return state.later.waiting.pop_before(segment.end, born)


class RestoredState(Parts):
    """Net counts, and what waits for the next refresh."""

    def __init__(self, counts: MultiplicityState) -> None:
        self.counts = counts
        self.later = WaitingRows()

    def __len__(self) -> int:
        return len(self.counts) + len(self.later)

    def parts(self) -> Mapping[str, Part]:
        return {"counts": self.counts, "later": self.later}


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
    """RSTREAM: at each multiple of `slide` a copy of the answer, with that time."""

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


@dataclass(frozen=True)
class AppendOnly:
    """The results of a query over INTERNAL windows: they never end, or end with their external parts.

    `ends` are columns that carry the ends of the external parts, null for none; they are dropped.
    """

    ends: tuple[int, ...] = ()
    structure: StructureKind = StructureKind.CALENDAR

    @cached_property
    def born(self) -> InsertStream:
        return InsertStream(self.structure)

    def fresh_state(self) -> MultiplicityState:
        return self.born.fresh_state()

    def step(self, state: MultiplicityState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        born = self.born.step(state, inputs, segment)
        exp = born.exp
        for ordinal in self.ends:
            ends = born.columns[ordinal]
            exp = np.minimum(exp, np.where(ends.valid_mask(), ends.values, FOREVER))
        shown = tuple(column for place, column in enumerate(born.columns) if place not in self.ends)
        lasting = born.with_columns(shown).with_lifetimes(born.ts, exp)
        return lasting.take(lasting.ts < lasting.exp)
