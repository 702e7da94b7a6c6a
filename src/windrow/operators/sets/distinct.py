"""Duplicate elimination, in the forms of thesis 3.2.2 and 3.5.2.

`distinct_strict` counts and speaks up when a value appears or is gone: few tuples, but their ends come late.
`DistinctStar` is δ*: results carry their ends, and for each result only the longest-lived duplicate is kept, so its
state is at most twice its output. `DistinctNaive` is the plain weak form: it gives the same, but stores its whole input
and looks there for the duplicate that takes a result's place. Both need an input without negative tuples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from windrow.batch.arrays import Bools, Int64s
from windrow.batch.batch import Batch, Segment, inserts
from windrow.batch.compiled import compiled
from windrow.operators.operator import Remembers
from windrow.operators.sets.multiplicity import Multiplicity, MultiplicityOperator
from windrow.state import STRUCTURES, StructureKind
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts
from windrow.units import FOREVER


def distinct_strict(structure: StructureKind = StructureKind.CALENDAR) -> MultiplicityOperator:
    """Counters of values; right for every input."""
    return MultiplicityOperator(Multiplicity.DISTINCT, (structure,))


class DistinctStarState(Parts):
    """For each value that is shown: the end of the result, and the latest end among its duplicates."""

    def __init__(self, structure: StructureKind) -> None:
        self.values = KeyDirectory()
        self.ends = KeyedArrays(present=np.bool_, shown=np.int64, auxiliary=np.int64)
        self.results = STRUCTURES[structure]()  # the ends of results, by time

    def __len__(self) -> int:
        """Results, and the duplicates that wait for them to end."""
        ids = self.values.known()
        return len(ids) + int(np.count_nonzero(self.ends["auxiliary"][ids] > self.ends["shown"][ids]))

    def parts(self) -> Mapping[str, Part]:
        return {"values": self.values, "ends": self.ends, "results": self.results}


@dataclass(frozen=True)
class DistinctStar:
    """δ*: a duplicate that outlives the result takes its place when it ends."""

    structure: StructureKind = StructureKind.CALENDAR

    remembers: ClassVar = Remembers.RESULTS

    def fresh_state(self) -> DistinctStarState:
        return DistinctStarState(self.structure)

    def step(self, state: DistinctStarState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        assert rows.is_positive, "δ* is not for strict inputs"
        rows = rows.sorted_by_time()
        ids = state.values.intern(rows.columns, len(rows))
        state.ends.reserve(state.values.capacity)
        due = state.results.expire_until(segment.end - 1).keys
        return _results(state, rows, ids, due, segment)

    def alive(self, state: DistinctStarState, inputs: Sequence[Batch], at: int) -> Batch:
        return alive_values(state, inputs[0], at)


def alive_values(state: DistinctStarState, like: Batch, at: int) -> Batch:
    """The values that are shown, with their ends."""
    ids = state.values.known()
    ids = ids[state.ends["shown"][ids] > at]
    if not len(ids):
        return like.slice(0, 0)
    return inserts(state.values.columns(ids), np.full(len(ids), at - 1, np.int64), state.ends["shown"][ids])


class DistinctNaiveState(DistinctStarState):
    """The whole input besides."""

    def __init__(self, structure: StructureKind) -> None:
        super().__init__(structure)
        self.input = STRUCTURES[structure]()

    def __len__(self) -> int:
        return len(self.results) + len(self.input)

    def parts(self) -> Mapping[str, Part]:
        return {**super().parts(), "input": self.input}


@dataclass(frozen=True)
class DistinctNaive:
    structure: StructureKind = StructureKind.LIST

    remembers: ClassVar = Remembers.RESULTS

    def fresh_state(self) -> DistinctNaiveState:
        return DistinctNaiveState(self.structure)

    def step(self, state: DistinctNaiveState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        assert rows.is_positive, "a weak DISTINCT is not for strict inputs"
        rows = rows.sorted_by_time()
        ids = state.values.intern(rows.columns, len(rows))
        state.ends.reserve(state.values.capacity)
        due = state.results.expire_until(segment.end - 1).keys
        shown, youngest = state.ends["shown"], state.ends["auxiliary"]
        positions, duplicates = state.input.probe(due, shown[due], np.full(len(due), FOREVER, np.int64))
        np.maximum.at(youngest, due[positions], duplicates.exp)
        output = _results(state, rows, ids, due, segment)
        youngest[ids] = shown[ids]  # found in the input when it is needed
        state.input.insert(ids, rows.with_columns(()))
        state.input.drop_until(segment.end - 1)
        return output

    def alive(self, state: DistinctNaiveState, inputs: Sequence[Batch], at: int) -> Batch:
        return alive_values(state, inputs[0], at)


def _results(state: DistinctStarState, rows: Batch, ids: Int64s, due: Int64s, segment: Segment) -> Batch:
    """The results of a segment, from new rows and from results that end in it."""
    values = _Values(state.ends["present"], state.ends["shown"], state.ends["auxiliary"])
    found, begins, ends = _replace(rows.ts, rows.exp, ids, due, segment.end, values)
    columns = state.values.columns(found) if len(found) else rows.slice(0, 0).columns
    output = inserts(columns, begins, ends)
    waiting = output.exp >= segment.end
    state.results.insert(found[waiting], output.take(waiting).with_columns(()))
    touched = np.concatenate([ids, due])
    gone = touched[values.shown[touched] < segment.end]
    state.values.forget(gone)
    state.ends.clear(gone)
    return output.sorted_by_time()


class _Values(NamedTuple):
    """By value: whether it has a result, until when it is shown, and the end of the row that would replace it."""

    present: Bools
    shown: Int64s
    auxiliary: Int64s


@compiled
def _replace(
    ts: Int64s, exp: Int64s, ids: Int64s, due: Int64s, until: int, values: _Values
) -> tuple[Int64s, Int64s, Int64s]:
    """The results of a segment: value id, ts, exp. Each row is shown at most once."""
    present, shown, auxiliary = values.present, values.shown, values.auxiliary
    count = 0
    room = 2 * len(ids) + 2 * len(due)
    found, begins, ends = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    for i in range(len(ids) + len(due) + len(ids)):
        # Arrivals first, each after the end that may have come before it; then the ends that nothing followed.
        arriving = i < len(ids)
        value = ids[i] if arriving else (due[i - len(ids)] if i < len(ids) + len(due) else ids[i - len(ids) - len(due)])
        now = ts[i] if arriving else until - 1
        while present[value] and shown[value] <= now and auxiliary[value] > shown[value]:
            found[count], begins[count], ends[count] = value, shown[value], auxiliary[value]
            shown[value] = auxiliary[value]
            count += 1
        if arriving:
            if not present[value] or shown[value] <= now:
                found[count], begins[count], ends[count] = value, now, exp[i]
                present[value] = True
                shown[value] = auxiliary[value] = exp[i]
                count += 1
            else:
                auxiliary[value] = max(auxiliary[value], exp[i])
    return found[:count], begins[:count], ends[:count]
