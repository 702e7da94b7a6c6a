"""Operators that are a function of multiplicities: DISTINCT, EXCEPT, INTERSECT, with and without ALL.

Let v1 and v2 be how often a row is in the left and the right input at an instant. The answer has the row m(v1, v2)
times:

    DISTINCT       1 if v1 > 0              (strict, with counters: thesis 3.2.2)
    EXCEPT ALL     max(v1 − v2, 0)          EXCEPT       1 if v1 > 0 and v2 = 0
    INTERSECT ALL  min(v1, v2)              INTERSECT    1 if v1 > 0 and v2 > 0

On every arrival and expiry the multiplicity is recomputed and the difference comes out (2.2.2 prints conditions for
the single cases; some are off by one). A copy that comes and goes within the segment is one tuple with both ends; a
copy that stays is open, and a later negative tuple closes it. Costs one hash a row and a constant an event; keeps two
counters a row value that is present, and the ends that are to come.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import numpy as np

from windrow.batch.arrays import Int8s, Int64s, grown
from windrow.batch.batch import Batch, Segment, inserts
from windrow.batch.compiled import compiled
from windrow.operators.operator import Remembers
from windrow.operators.sweep import Events, events_of
from windrow.state import STRUCTURES, StructureKind
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts
from windrow.units import FOREVER


class Multiplicity(enum.IntEnum):
    """m(v1, v2)."""

    DISTINCT = 0
    EXCEPT_ALL = 1
    EXCEPT = 2
    INTERSECT_ALL = 3
    INTERSECT = 4
    BAG = 5  # v1: the changelog itself, as net changes


class RowEvents(NamedTuple):
    """Rows that come (+1) and go (-1), by id and in the order of time; `side` is 0 for the left input."""

    time: Int64s
    key: Int64s
    change: Int8s
    side: Int64s


class RowCounts(NamedTuple):
    """By row id: how often it is in the inputs, and in the answer.

    `opened` is scratch, all zeros before and after a sweep: the latest copy opened in its segment, as position + 1.
    """

    left: Int64s
    right: Int64s
    shown: Int64s
    opened: Int64s


class Copies(NamedTuple):
    """Copies of rows that come and go."""

    key: Int64s
    ts: Int64s
    exp: Int64s
    sign: Int8s


class MultiplicityState(Parts):
    """Counters of the rows that are present, and the ends that are to come, for each input."""

    def __init__(self, structures: Sequence[StructureKind]) -> None:
        self.rows = KeyDirectory()
        self.counts = KeyedArrays(left=np.int64, right=np.int64, shown=np.int64)
        self.ends = [STRUCTURES[kind]() for kind in structures]
        self.opened: Int64s = np.zeros(0, np.int64)  # scratch of the sweep

    def __len__(self) -> int:
        return len(self.rows) + sum(len(ends) for ends in self.ends)

    def parts(self) -> Mapping[str, Part]:
        ends = {f"ends{number}": cast(Part, ends) for number, ends in enumerate(self.ends)}
        return {"rows": self.rows, "counts": self.counts, **ends}


@dataclass(frozen=True)
class MultiplicityOperator:
    """One input for DISTINCT, two for the others; `structures` keep the ends of the inputs."""

    multiplicity: Multiplicity
    structures: tuple[StructureKind, ...]

    remembers: ClassVar = Remembers.RESULTS

    def fresh_state(self) -> MultiplicityState:
        return MultiplicityState(self.structures)

    def step(self, state: MultiplicityState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        events = [self._events(state, rows, side, segment) for side, rows in enumerate(inputs)]
        time = np.concatenate([e.time for e in events])
        order = np.argsort(time, kind="stable")
        key = np.concatenate([e.key for e in events])[order]
        change = np.concatenate([e.change for e in events])[order]
        side = np.repeat(np.arange(len(events)), [len(e.time) for e in events])[order]
        state.counts.reserve(state.rows.capacity)
        state.opened = grown(state.opened, len(state.counts["left"]))
        kept = state.counts
        counts = RowCounts(kept["left"], kept["right"], kept["shown"], state.opened)
        row_events = RowEvents(time[order], key, change, side)
        copies = sweep_multiplicities(int(self.multiplicity), row_events, counts)
        columns = state.rows.columns(copies.key)
        if not len(columns):
            columns = inputs[0].slice(0, 0).columns
        self._tidy(state, key)
        return Batch(columns, *copies[1:]).sorted_by_time()

    def alive(self, state: MultiplicityState, inputs: Sequence[Batch], at: int) -> Batch:
        return shown_copies(state.rows, state.counts, inputs[0], at)

    def _events(self, state: MultiplicityState, rows: Batch, side: int, segment: Segment) -> Events:
        keys = state.rows.intern(rows.columns, len(rows))
        return events_of(keys, rows.with_columns(()), state.ends[side], segment)

    def _tidy(self, state: MultiplicityState, touched: Int64s) -> None:
        gone = (state.counts["left"][touched] == 0) & (state.counts["right"][touched] == 0)
        state.rows.forget(touched[gone])


def shown_copies(rows: KeyDirectory, counts: KeyedArrays, like: Batch, at: int) -> Batch:
    """Every row as often as it is shown."""
    ids = rows.known()
    copies = np.repeat(ids, counts["shown"][ids]) if len(ids) else ids
    if not len(copies):
        return like.slice(0, 0)
    return inserts(rows.columns(copies), np.full(len(copies), at - 1, np.int64))


@compiled
def _multiplicity(which: int, left: int, right: int) -> int:
    if which == Multiplicity.DISTINCT:
        return 1 if left > 0 else 0
    if which == Multiplicity.EXCEPT_ALL:
        return max(left - right, 0)
    if which == Multiplicity.EXCEPT:
        return 1 if left > 0 and right == 0 else 0
    if which == Multiplicity.INTERSECT_ALL:
        return max(min(left, right), 0)
    if which == Multiplicity.INTERSECT:
        return 1 if left > 0 and right > 0 else 0
    return left


@compiled
def sweep_multiplicities(which: int, events: RowEvents, counts: RowCounts) -> Copies:
    """What comes of events that change no multiplicity by more than one each."""
    time, key, change, side = events.time, events.key, events.change, events.side
    left, right, shown, opened = counts.left, counts.right, counts.shown, counts.opened
    ids, begins = np.empty(len(time), np.int64), np.empty(len(time), np.int64)
    ends, signs = np.full(len(time), FOREVER, np.int64), np.empty(len(time), np.int8)
    below = np.empty(len(time), np.int64)  # the open copy of the same row that came before, as position + 1
    count = 0
    start = 0
    while start < len(time):
        end = start
        while end < len(time) and time[end] == time[start]:
            if side[end] == 0:
                left[key[end]] += change[end]
            else:
                right[key[end]] += change[end]
            end += 1
        for i in range(start, end):
            row = key[i]
            now = _multiplicity(which, left[row], right[row])
            while shown[row] < now:
                ids[count], begins[count], signs[count] = row, time[i], 1
                below[count] = opened[row]
                count += 1
                opened[row] = count
                shown[row] += 1
            while shown[row] > now:
                if opened[row] > 0:
                    ends[opened[row] - 1] = time[i]
                    opened[row] = below[opened[row] - 1]
                else:
                    ids[count], begins[count], signs[count] = row, time[i], -1
                    count += 1
                shown[row] -= 1
        start = end
    for row in key:
        opened[row] = 0
    return Copies(ids[:count], begins[:count], ends[:count], signs[:count])
