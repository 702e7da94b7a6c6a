"""Windows of each value of some columns: the last N rows of each, and the newest row while it satisfies a predicate.

    PARTITION BY k ROWS N        a row leaves when the N-th row after it with the same k arrives
    PARTITION BY k WHERE p       the newest row of each k, in view only while p is true of it

Rows with the same k stand in one line; a new row goes to its back and, when the line is full, the front leaves. Ends
that fall into the segment are written into the tuple, the others are told by negative tuples. Costs a constant a row;
a value of k that has once been seen is never forgotten.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windrow.batch.arrays import Int64s, grown
from windrow.batch.batch import Batch, Segment, concat
from windrow.batch.compiled import compiled
from windrow.operators.operator import Parts, Predicate
from windrow.state.arena import RowArena
from windrow.state.key_directory import KeyDirectory
from windrow.state.snapshot import Part, Piece, Snapshot
from windrow.units import FOREVER

_NONE = 0  # slots are kept as slot + 1


class Lines:
    """Rows of each key, in the order in which they came."""

    def __init__(self) -> None:
        self._arena = RowArena()
        self._front: Int64s = np.zeros(0, np.int64)
        self._back: Int64s = np.zeros(0, np.int64)
        self._length: Int64s = np.zeros(0, np.int64)
        self._behind: Int64s = np.zeros(0, np.int64)
        self._steps = 0

    def __len__(self) -> int:
        return len(self._arena)

    def push(self, keys: Int64s, rows: Batch, longest: int, capacity: int) -> tuple[Int64s, Int64s, Batch]:
        """New rows join their lines. Who leaves: places among the new (-1 for old ones), who pushed them, the rows."""
        self._steps += 1
        slots = self._arena.insert(keys, rows, 0)
        for name in ("_front", "_back", "_length"):
            setattr(self, name, grown(getattr(self, name), capacity))
        self._behind = grown(self._behind, len(self._arena.ts))
        left, by = _push(keys, slots, longest, self._front, self._back, self._length, self._behind)
        leaving, places = self._arena.take(left), _places(left, slots)
        self._arena.remove(left)
        return places, by, leaving

    def snapshot(self, known: Container[str]) -> Snapshot:
        name = str(self._steps)
        if name in known:
            return Snapshot((name,))
        slots = np.empty(len(self._arena), np.int64)
        _in_line(self._front, self._behind, slots)
        arrays = {"keys": self._arena.key[slots], "steps": np.array([self._steps])}
        return Snapshot((name,), {name: Piece(arrays, self._arena.take(slots))})

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        for piece in pieces.values():
            keys = piece.arrays["keys"]
            if len(keys):
                assert piece.rows is not None
                self.push(keys, piece.rows, len(keys), int(keys.max()) + 1)
            self._steps = int(piece.arrays["steps"][0])


def _places(slots: Int64s, among: Int64s) -> Int64s:
    """Where each slot stands in a list of slots, -1 when it is not there."""
    order = np.argsort(among)
    found = np.minimum(np.searchsorted(among[order], slots), len(among) - 1)
    return np.where(among[order][found] == slots, order[found], -1)


class PartitionWindowState(Parts):
    def __init__(self) -> None:
        self.keys = KeyDirectory()
        self.lines = Lines()

    def __len__(self) -> int:
        return len(self.lines)

    def parts(self) -> Mapping[str, Part]:
        return {"keys": self.keys, "lines": self.lines}


@dataclass(frozen=True)
class PartitionWindow:
    """The last `count` rows of each value of the columns; nulls are one value."""

    partition: tuple[int, ...]
    count: int

    def fresh_state(self) -> PartitionWindowState:
        return PartitionWindowState()

    def step(self, state: PartitionWindowState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        if not len(rows):
            return rows
        keys = state.keys.intern(rows.select(self.partition), len(rows))
        places, by, leaving = state.lines.push(keys, rows, self.count, state.keys.capacity)
        ends = np.full(len(rows), FOREVER, np.int64)
        new = places >= 0
        ends[places[new]] = rows.ts[by[new]]
        seen = rows.with_lifetimes(rows.ts, ends)
        taken_back = leaving.take(~new)
        open_ends = np.full(len(taken_back), FOREVER, np.int64)
        taken_back = taken_back.with_lifetimes(rows.ts[by[~new]], open_ends).negated()
        return concat([seen.take(seen.ts < seen.exp), taken_back]).sorted_by_time()


@dataclass(frozen=True)
class PredicateWindow:
    """The newest row of each value of the columns, while it satisfies the predicate."""

    partition: tuple[int, ...]
    predicate: Predicate

    @cached_property
    def newest(self) -> PartitionWindow:
        return PartitionWindow(self.partition, 1)

    def fresh_state(self) -> PartitionWindowState:
        return self.newest.fresh_state()

    def step(self, state: PartitionWindowState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        newest = self.newest.step(state, inputs, segment)
        return newest.take(self.predicate(newest))


@compiled
def _push(
    keys: Int64s, slots: Int64s, longest: int, front: Int64s, back: Int64s, length: Int64s, behind: Int64s
) -> tuple[Int64s, Int64s]:
    """Slots that leave, and the position of the row that pushed each out."""
    left, by = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    count = 0
    for i in range(len(slots)):
        key, slot = keys[i], slots[i]
        behind[slot] = _NONE
        if length[key] == 0:
            front[key] = slot + 1
        else:
            behind[back[key] - 1] = slot + 1
        back[key] = slot + 1
        length[key] += 1
        if length[key] > longest:
            left[count], by[count] = front[key] - 1, i
            front[key] = behind[front[key] - 1]
            length[key] -= 1
            count += 1
    return left[:count], by[:count]


@compiled
def _in_line(front: Int64s, behind: Int64s, slots: Int64s) -> None:
    count = 0
    for first in front:
        slot = first
        while slot != _NONE:
            slots[count] = slot - 1
            slot = behind[slot - 1]
            count += 1
