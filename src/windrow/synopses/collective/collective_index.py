"""Collective indexes CI-COUNT and CI-SUM: which groups pass a threshold, without looking at the others.

COUNT > v over the last T ticks means that the element at distance v + 1 from the end of its group is not older than
T. So an index over the times of elements at a distance would do, one for every v. To need few, distances from the end
are dealt to levels: p levels of one element, then p of two, p of four, and so on. Of each level and group the time of
one element is known, the one whose position is a multiple of the level's size; it changes when the next multiple comes
in, which is the one that the level before knew: an element costs 2p changes on average. A level's times are a heap,
newest first: finding all groups newer than some time costs no more than they are many. (Arasu and Widom, section 4.1,
with search trees in the place of heaps.)

A threshold is looked up in the last level that lies within v + 1 of the end. What comes out is a superset of the groups
asked for, and all of them have more than (1 - ε) v; ε is 3/4 for p = 1 and about 2 / (p + 2) above. The paper's
figure 7 compares with ≥ where it should be >, and takes a level that does not exist for v < 2; here v = 0 asks for the
newest element.

SUM of whole numbers that are not negative is COUNT over a stream with each element repeated as often as its value says
(4.2). All repeats come in at once: a level whose multiple is among them gets the new time, any other one takes what a
lower level knew.

For suffix windows of time. `collective` checks candidates and gives exact answers.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Array, Int64s, grown
from windrow.batch.compiled import compiled
from windrow.errors import WindrowError
from windrow.state.snapshot import OnePiece, Piece, copied
from windrow.synopses.collective.level_heaps import ABSENT, LevelHeaps, forget, newer, set_time
from windrow.synopses.positions.elements import EMPTY

_NEWEST = 1  # heaps before the first level: one of the newest elements, whatever they weigh
LARGEST = 2**62  # of sums, so that distances do not overflow


class CollectiveIndex(OnePiece):
    """Groups by how much they have had since; `p` levels of each size."""

    def __init__(self, p: int = 4) -> None:
        if p < 1:
            raise WindrowError(f"a collective index has {p} levels of a size", "give one or more")
        self.p = p
        self.length: Int64s = EMPTY  # of a group: elements, or what their values add up to, since it began
        self.heap: Int64s = np.zeros((_NEWEST, 0), np.int64)  # of a level: groups, the newest first
        self.time: Int64s = np.zeros((_NEWEST, 0), np.int64)  # theirs, in the same order
        self.place: Int64s = np.full((_NEWEST, 0), ABSENT)  # of a group in the heap of a level
        self.used: Int64s = np.zeros(_NEWEST, np.int64)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.length, self.heap, self.time, self.place, self.used))

    @property
    def heaps(self) -> LevelHeaps:
        return LevelHeaps(self.heap, self.time, self.place, self.used)

    def insert(self, group: Int64s, time: Int64s, weight: Int64s | None = None) -> None:
        """Elements in the order of time: of weight one each for COUNT, for SUM of their values."""
        if not len(group):
            return
        weights = np.ones(len(group), np.int64) if weight is None else weight
        if int(weights.min()) < 0:
            raise WindrowError(
                "a sum of negative values has no collective index", "use a running synopsis for each group"
            )
        self._changes += 1
        self._reserve(group, weights)
        _insert(group, time, weights, self.p, self.length, self.heaps)

    def above(self, begin: int, threshold: int) -> Int64s:
        """Groups, all with more than the threshold since `begin` among them, and none with less than (1 - ε) of it."""
        result = np.empty(len(self.length), np.int64)
        count = above_one(begin, threshold, self.p, self.heaps, result)
        return result[:count]

    def below(self, begin: int, threshold: int) -> Int64s:
        """Groups with elements since `begin`, all with less than the threshold among them."""
        result = np.empty(len(self.length), np.int64)
        level = _NEWEST + _first_level_from(threshold, self.p)
        count = newer(0, begin, self.heaps, result)
        alive = result[:count]
        if level >= len(self.used):
            return alive
        place = self.place[level, alive]
        low = alive[(place == ABSENT) | (self.time[level, place] < begin)]
        return np.asarray(low)

    def forget(self, group: Int64s) -> None:
        """Let go of groups, so that their numbers may be given to others."""
        self._changes += 1
        forget(group, self.heaps)
        self.length[group] = 0

    def _reserve(self, group: Int64s, weight: Int64s) -> None:
        groups = int(group.max()) + 1
        self.length = grown(self.length, groups)
        coming = np.zeros(len(self.length), np.float64)
        np.add.at(coming, group, weight.astype(np.float64))
        longest = float((self.length + coming).max())
        if longest >= LARGEST:
            raise WindrowError("a sum is too large for a collective index", "use a running synopsis for each group")
        levels = _NEWEST + self.p * (int(longest + self.p).bit_length() + 1)
        if levels > len(self.used) or len(self.length) > self.heap.shape[1]:
            shape = (max(levels, len(self.used)), max(len(self.length), self.heap.shape[1]))
            self.heap, self.time = _enlarged(self.heap, shape, 0), _enlarged(self.time, shape, 0)
            self.place = _enlarged(self.place, shape, ABSENT)
            self.used = np.append(self.used, np.zeros(shape[0] - len(self.used), np.int64))

    def _piece(self) -> Piece:
        arrays = {"length": self.length, "heap": self.heap, "time": self.time, "place": self.place, "used": self.used}
        return Piece(copied(arrays))

    def _read(self, piece: Piece) -> None:
        arrays = copied(piece.arrays)
        self.length, self.heap, self.time = arrays["length"], arrays["heap"], arrays["time"]
        self.place, self.used = arrays["place"], arrays["used"]


def _enlarged(array: Array, shape: tuple[int, int], filling: int) -> Array:
    larger = np.full(shape, filling, np.int64)
    larger[: array.shape[0], : array.shape[1]] = array
    return larger


@compiled
def _start(level: int, p: int) -> int:
    """The smallest distance from the end, counted from 1, in a level."""
    size = level // p
    return 1 + p * ((1 << size) - 1) + ((level % p) << size)


@compiled
def _level_of(distance: int, p: int) -> int:
    """The level that a distance lies in."""
    size, blocks = 0, (distance - 1) // p + 1
    while (2 << size) <= blocks:
        size += 1
    return size * p + ((distance - 1 - p * ((1 << size) - 1)) >> size)


@compiled
def _last_level_within(distance: int, p: int) -> int:
    """The last level with no distance beyond this one; a level 0 has distance 1."""
    level = _level_of(distance, p)
    return level if _start(level + 1, p) == distance + 1 else level - 1


@compiled
def _first_level_from(distance: int, p: int) -> int:
    """The first level with no distance before this one."""
    level = _level_of(max(distance, 1), p)
    return level if _start(level, p) >= distance else level + 1


@compiled
def insert_one(g: int, now: int, weight: int, p: int, length: Int64s, heaps: LevelHeaps) -> None:
    """An element, repeated as often as its weight says."""
    set_time(0, g, now, heaps)
    if weight == 0:
        return
    before = length[g]
    after = before + weight
    length[g] = after
    changed, size = (before + p) ^ (after + p), 0
    while changed >> (size + 1) != 0:
        size += 1
    # From the highest level down: a level takes what a lower one knew before.
    for level in range(size * p + p - 1, -1, -1):
        power = level // p
        position = ((after - _start(level, p) + 1) >> power) << power
        if position < 1:
            continue
        if position > before:
            set_time(_NEWEST + level, g, now, heaps)
        else:
            source = _NEWEST + _level_of(before - position + 1, p)
            at = heaps.place[source, g]
            if source != _NEWEST + level and at != ABSENT:
                set_time(_NEWEST + level, g, heaps.time[source, at], heaps)


@compiled
def _insert(group: Int64s, time: Int64s, weight: Int64s, p: int, length: Int64s, heaps: LevelHeaps) -> None:
    for i in range(len(group)):
        insert_one(group[i], time[i], weight[i], p, length, heaps)


@compiled
def above_one(begin: int, threshold: int, p: int, heaps: LevelHeaps, result: Int64s) -> int:
    """Candidates for more than a threshold, into `result`; how many there are."""
    level = _NEWEST + _last_level_within(threshold + 1, p)
    return newer(level, begin, heaps, result) if level < len(heaps.used) else 0
