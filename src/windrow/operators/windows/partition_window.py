"""Windows of each value of some columns: the last N rows of each, and the newest row while it satisfies a predicate.

    PARTITION BY k ROWS N                a row leaves when the N-th row after it with the same k arrives
    PARTITION BY k ROWS N SLIDE M ROWS   the same, at each M-th row of k: rows wait for it, and then enter together
    PARTITION BY k WHERE p               the newest row of each k, in view only while p is true of it

Rows with the same k stand in one line; a new row goes to its back and, when more than N have entered, the front leaves.
Ends that fall into the segment are written into the tuple, the others come as negative tuples. Costs a constant a
row; a value of k that has once been seen is never forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from windrow.batch.arrays import Bools, Int64s, grown
from windrow.batch.batch import Batch, Segment, concat
from windrow.batch.compiled import compiled
from windrow.operators.operator import Predicate, Remembers
from windrow.state.arena import RowArena
from windrow.state.key_directory import KeyDirectory
from windrow.state.snapshot import OnePiece, Part, Parts, Piece
from windrow.units import FOREVER

_NONE = 0  # slots are kept as slot + 1


class Moves(NamedTuple):
    """What a step changes: slots that enter and leave, and the positions of the new rows that made them do so."""

    entered: Int64s
    entered_by: Int64s
    left: Int64s
    left_by: Int64s


class _Links(NamedTuple):
    """By key its first and last row, the first that waits, and how many wait and are inside; by slot the next row."""

    front: Int64s
    back: Int64s
    waiting: Int64s
    waiters: Int64s
    inside: Int64s
    behind: Int64s


class Lines(OnePiece):
    """Rows of each key, in the order in which they came: first those that have entered, then those that wait."""

    def __init__(self) -> None:
        self._arena = RowArena()
        self._front: Int64s = np.zeros(0, np.int64)
        self._back: Int64s = np.zeros(0, np.int64)
        self._waiting: Int64s = np.zeros(0, np.int64)  # the first row of each key that has not entered
        self._waiters: Int64s = np.zeros(0, np.int64)
        self._inside: Int64s = np.zeros(0, np.int64)
        self._behind: Int64s = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._arena)

    def push(self, keys: Int64s, rows: Batch, longest: int, slide: int, capacity: int) -> Moves:
        """New rows join their lines; each `slide`-th of a key lets in those that wait, and all but `longest` out."""
        self._changes += 1
        slots = self._arena.insert(keys, rows, 0)
        for name in ("_front", "_back", "_waiting", "_waiters", "_inside"):
            setattr(self, name, grown(getattr(self, name), capacity))
        self._behind = grown(self._behind, len(self._arena.ts))
        links = _Links(self._front, self._back, self._waiting, self._waiters, self._inside, self._behind)
        return _push(keys, slots, longest, slide, len(self._arena), links)

    def entered(self) -> Batch:
        """The rows that have entered."""
        slots, waits = self._in_order()
        return self._arena.take(slots[~waits])

    def _in_order(self) -> tuple[Int64s, Bools]:
        """The slots of all rows, line by line, and which of them wait."""
        slots, waits = np.empty(len(self._arena), np.int64), np.zeros(len(self._arena), np.bool_)
        _in_line(self._front, self._waiting, self._behind, slots, waits)
        return slots, waits

    def take(self, slots: Int64s) -> Batch:
        return self._arena.take(slots)

    def remove(self, slots: Int64s) -> None:
        """Forget rows that have left."""
        self._arena.remove(slots)

    def forget(self, keys: Int64s) -> None:
        """No row of these keys will come any more: nothing has to leave."""
        self._changes += 1
        self._arena.remove(_standing(keys, self._front, self._behind, len(self._arena)))
        for array in (self._front, self._back, self._waiting, self._waiters, self._inside):
            array[keys] = _NONE

    def _piece(self) -> Piece:
        slots, waits = self._in_order()
        return Piece({"keys": self._arena.key[slots], "waits": waits}, self._arena.take(slots))

    def _read(self, piece: Piece) -> None:
        keys, waits = piece.arrays["keys"], piece.arrays["waits"]
        if len(keys):
            assert piece.rows is not None
            for part, slide in ((~waits, 1), (waits, len(keys) + 1)):
                self.push(keys[part], piece.rows.take(part), len(keys), slide, int(keys.max()) + 1)


def _places(slots: Int64s, among: Int64s) -> Int64s:
    """Where each slot stands in a list of slots, -1 when it is not there."""
    if not len(among):
        return np.full(len(slots), -1, np.int64)
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
    """The last `count` rows of each value of the columns, as of each `slide`-th row of it; nulls are one value."""

    partition: tuple[int, ...]
    count: int
    slide: int = 1

    remembers: ClassVar = Remembers.RESULTS

    def fresh_state(self) -> PartitionWindowState:
        return PartitionWindowState()

    def step(self, state: PartitionWindowState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        if not len(rows):
            return rows
        keys = state.keys.intern(rows.select(self.partition), len(rows))
        moves = state.lines.push(keys, rows, self.count, self.slide, state.keys.capacity)
        places = _places(moves.left, moves.entered)
        new = places >= 0
        ends = np.full(len(moves.entered), FOREVER, np.int64)
        ends[places[new]] = rows.ts[moves.left_by[new]]
        seen = state.lines.take(moves.entered).with_lifetimes(rows.ts[moves.entered_by], ends)
        taken_back = state.lines.take(moves.left[~new])
        open_ends = np.full(len(taken_back), FOREVER, np.int64)
        taken_back = taken_back.with_lifetimes(rows.ts[moves.left_by[~new]], open_ends).negated()
        state.lines.remove(moves.left)
        return concat([seen.take(seen.ts < seen.exp), taken_back]).sorted_by_time()

    def alive(self, state: PartitionWindowState, inputs: Sequence[Batch], at: int) -> Batch:
        if not len(state.lines):
            return inputs[0].slice(0, 0)
        inside = state.lines.entered()
        return inside.with_lifetimes(inside.ts, np.full(len(inside), FOREVER, np.int64))


@dataclass(frozen=True)
class PredicateWindow:
    """The newest row of each value of the columns, while it satisfies the predicate."""

    partition: tuple[int, ...]
    predicate: Predicate

    remembers: ClassVar = Remembers.RESULTS

    @cached_property
    def newest(self) -> PartitionWindow:
        return PartitionWindow(self.partition, 1)

    def fresh_state(self) -> PartitionWindowState:
        return self.newest.fresh_state()

    def step(self, state: PartitionWindowState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        newest = self.newest.step(state, inputs, segment)
        return newest.take(self.predicate(newest))

    def alive(self, state: PartitionWindowState, inputs: Sequence[Batch], at: int) -> Batch:
        newest = self.newest.alive(state, inputs, at)
        return newest.take(self.predicate(newest))


@compiled
def _push(keys: Int64s, slots: Int64s, longest: int, slide: int, most: int, links: _Links) -> Moves:
    front, back, waiting = links.front, links.back, links.waiting
    waiters, inside, behind = links.waiters, links.inside, links.behind
    entered, entered_by = np.empty(most, np.int64), np.empty(most, np.int64)
    left, left_by = np.empty(most, np.int64), np.empty(most, np.int64)
    coming = going = 0
    for i in range(len(slots)):
        key, slot = keys[i], slots[i]
        behind[slot] = _NONE
        if front[key] == _NONE:
            front[key] = slot + 1
        else:
            behind[back[key] - 1] = slot + 1
        back[key] = slot + 1
        if waiting[key] == _NONE:
            waiting[key] = slot + 1
        waiters[key] += 1
        if waiters[key] < slide:
            continue
        while waiting[key] != _NONE:
            entered[coming], entered_by[coming] = waiting[key] - 1, i
            waiting[key] = behind[waiting[key] - 1]
            coming += 1
        inside[key] += waiters[key]
        waiters[key] = 0
        while inside[key] > longest:
            left[going], left_by[going] = front[key] - 1, i
            front[key] = behind[front[key] - 1]
            inside[key] -= 1
            going += 1
    return Moves(entered[:coming], entered_by[:coming], left[:going], left_by[:going])


@compiled
def _standing(keys: Int64s, front: Int64s, behind: Int64s, most: int) -> Int64s:
    """The slots of all rows in some lines."""
    slots = np.empty(most, np.int64)
    count = 0
    for key in keys:
        slot = front[key]
        while slot != _NONE:
            slots[count] = slot - 1
            slot = behind[slot - 1]
            count += 1
    return slots[:count]


@compiled
def _in_line(front: Int64s, waiting: Int64s, behind: Int64s, slots: Int64s, waits: Bools) -> None:
    count = 0
    for key in range(len(front)):
        slot, is_waiting = front[key], False
        while slot != _NONE:
            is_waiting = is_waiting or slot == waiting[key]
            slots[count], waits[count] = slot - 1, is_waiting
            slot = behind[slot - 1]
            count += 1
