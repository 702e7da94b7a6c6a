"""Output streams: from answers that change back to streams (thesis 2.1.3).

    ISTREAM at τ   the bag difference answer(τ) − answer(τ − 1 tick): what is new
    DSTREAM at τ   the reverse: what has gone
    RSTREAM at E   the whole answer, at each multiple E of a slide

ISTREAM and DSTREAM look at net changes: a row that is replaced by an equal one at the same instant is neither new nor
gone. Under a SLIDE all changes fall on refreshes, so the difference between instants is the one between refreshes.
What comes out is append-only. Costs one hash a tuple; RSTREAM costs the size of the answer at every refresh.

RESTORE (thesis 3.3.4) needs no kernel of its own. What ISTREAM emits of the query without its slides is all that is
ever born; a window that waits for the next refresh makes of it ISTREAM RESTORE. RSTREAM RESTORE is the answer, and what
of the births since the last refresh (a tumbling window on them) is not in it (EXCEPT ALL).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from windrow.batch.arrays import Int64s, ranges
from windrow.batch.batch import Batch, Segment, inserts
from windrow.batch.compiled import compiled
from windrow.batch.consolidation import consolidate, last_change
from windrow.operators.operator import Remembers
from windrow.operators.sets.multiplicity import Multiplicity, MultiplicityOperator, MultiplicityState
from windrow.state import STRUCTURES, StructureKind
from windrow.state.snapshot import Part, Parts
from windrow.units import FOREVER

_FEW = 1 << 16


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
    """ISTREAM."""

    remembers: ClassVar = Remembers.NOTHING

    def step(self, state: MultiplicityState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        net = super().step(state, inputs, segment)
        begun = net.take(net.sign > 0)
        return inserts(begun.columns, begun.ts)


@dataclass(frozen=True)
class DeleteStream(NetChanges):
    """DSTREAM."""

    remembers: ClassVar = Remembers.NOTHING

    def step(self, state: MultiplicityState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        net = super().step(state, inputs, segment)
        # An end is a negative tuple, or the end of a tuple that came and went within the segment.
        times = np.where(net.sign > 0, net.exp, net.ts)
        ended = times != FOREVER
        gone = net.take(ended)
        return inserts(gone.columns, times[ended]).sorted_by_time()


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

    remembers: ClassVar = Remembers.NOTHING

    def fresh_state(self) -> AnswerState:
        return AnswerState(self.structure)

    def step(self, state: AnswerState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        state.answer.insert(np.zeros(len(rows), np.int64), rows)
        output = rows.slice(0, 0)
        if segment.begin <= (segment.end - 1) // self.slide * self.slide and len(state.answer):
            kept = state.answer.scan().rows
            until = refreshes_until(self.slide, segment, last_change(kept) if segment.end == FOREVER else -FOREVER)
            output = at_refreshes(kept, self.slide, segment.begin, until)
        state.answer.drop_until(segment.end)
        return output


def refreshes_until(slide: int, segment: Segment, changed: int) -> int:
    """Refreshes of a segment are before this time.

    An answer that stays would be emitted for ever when time runs out. It is emitted until the time of the last row, and
    until what has `changed` last has been shown.
    """
    if segment.end != FOREVER:
        return segment.end
    return max(segment.last_row, -(-changed // slide) * slide) + 1


def at_refreshes(rows: Batch, slide: int, begin: int, until: int) -> Batch:
    """The rows of the answer at each multiple of `slide` in [begin, until); `ts` is that time."""
    first = _at_or_after(np.maximum(rows.ts, begin), slide)
    beyond = _at_or_after(np.minimum(rows.exp, until), slide)
    counts = np.maximum((beyond - first) // slide, 0)
    places, refreshes = _in_order(first // slide, counts)
    copies = inserts(tuple(column.take(places) for column in rows.columns), refreshes * slide)
    if rows.is_positive:
        return copies
    return consolidate(replace(copies, sign=rows.sign.take(places))).sorted_by_time()


def _in_order(first: Int64s, counts: Int64s) -> tuple[Int64s, Int64s]:
    """Rows at the refreshes first, first + 1, ... (counts of them), refresh by refresh: places of rows, refreshes."""
    emits = counts > 0
    earliest, latest = (first[emits].min(), (first + counts)[emits].max()) if emits.any() else (0, 0)
    if latest - earliest > 4 * (int(counts.sum()) + _FEW):  # refreshes at which nothing is emitted would cost more
        refreshes = ranges(first, counts)
        order = np.argsort(refreshes, kind="stable")
        return np.repeat(np.arange(len(counts)), counts)[order], refreshes[order]
    return _by_refresh(first - earliest, counts, int(latest - earliest), int(earliest))


@compiled
def _by_refresh(first: Int64s, counts: Int64s, refreshes: int, earliest: int) -> tuple[Int64s, Int64s]:
    """A place for every refresh: how many rows come before it, then the rows in their order."""
    begins = np.zeros(refreshes + 2, np.int64)
    for i in range(len(first)):
        if counts[i] > 0:
            begins[first[i] + 1] += 1  # the rows alive at a refresh are those that came less those that went
            begins[first[i] + counts[i] + 1] -= 1
    alive = 0
    for refresh in range(1, refreshes + 2):
        alive += begins[refresh]
        begins[refresh] = begins[refresh - 1] + alive
    places, times = np.empty(begins[refreshes], np.int64), np.empty(begins[refreshes], np.int64)
    for i in range(len(first)):
        for refresh in range(first[i], first[i] + counts[i]):
            places[begins[refresh]] = i
            times[begins[refresh]] = earliest + refresh
            begins[refresh] += 1
    return places, times


def _at_or_after(times: Int64s, slide: int) -> Int64s:
    """The first multiple at or after each time."""
    return -(-times // slide) * slide
