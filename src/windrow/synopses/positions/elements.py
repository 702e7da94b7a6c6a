"""Elements of groups in the order of time: what all synopses number their intervals by.

The elements of a group have positions 0, 1, 2, ...; those that are kept lie in a ring, so that position p is at place
p modulo the ring's size, a power of two. The rings of all groups lie in one array, each with a beginning of its own.
A ring that is full moves to a larger one at the end; when more is left behind than is in use, all move together.

With a `slice` there is one position for all elements of a group in [n · slice, (n + 1) · slice): the sub-windows of
thesis 2.3.4. Windows then begin and end on edges of slices. The newest position takes elements until a later one comes.

Invariant: a group's times never decrease with its positions, and a ring has room for one position more than it holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Bools, Int64s, grown, ranges
from windrow.batch.compiled import compiled
from windrow.errors import WindrowError
from windrow.units import FOREVER

EMPTY: Int64s = np.zeros(0, np.int64)
_BEGINNING = -(2**63)
_SPARSE = 8  # how many times as long as their contents rings may be before all are packed
_SMALL = 1024  # places that are never worth packing


class Spans(NamedTuple):
    """Positions [begin, end) of groups; empty ones have begin = end."""

    group: Int64s
    begin: Int64s
    end: Int64s


class Rings(NamedTuple):
    """Where the rings of groups are, for a compiled loop, and what lies in them: times, or the rows of a synopsis."""

    offset: Int64s
    size: Int64s
    first: Int64s
    next: Int64s
    rows: Int64s


class Arrivals(NamedTuple):
    """Elements that have just come, and the positions they got; `is_new` where a position had no element before."""

    group: Int64s
    position: Int64s
    is_new: Bools


class RingMoves(NamedTuple):
    """Rings that get another place; `packed` when all do, into new arrays."""

    group: Int64s
    old_offset: Int64s
    old_size: Int64s
    new_offset: Int64s
    new_size: Int64s
    places: int  # in all rings, afterwards
    packed: bool


class Elements:
    """Positions and times of the elements of groups."""

    def __init__(self, slice: int = 0) -> None:
        self.slice = slice
        self.offset, self.size = EMPTY, EMPTY  # of a group's ring
        self.first, self.next = EMPTY, EMPTY  # the oldest position that is kept, and the one to come
        self.time = EMPTY
        self.covered_since = _BEGINNING  # windows that begin earlier cannot be answered
        self._used = 0  # places that have been given out
        self._idle = 0  # those of them that were left behind

    def __len__(self) -> int:
        return int((self.next - self.first).sum())

    @property
    def groups(self) -> int:
        return len(self.offset)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.offset, self.size, self.first, self.next)) + 8 * self._used

    @property
    def rings(self) -> Rings:
        return Rings(self.offset, self.size, self.first, self.next, self.time)

    def reserve(self, group: Int64s) -> RingMoves:
        """Make room for elements of these groups; called before `insert`."""
        self.reserve_groups(int(group.max()) + 1 if len(group) else 0)
        coming = np.bincount(group, minlength=self.groups)
        needed = self.next - self.first + coming + 1
        full = np.flatnonzero((needed > self.size) & (coming > 0))
        size = _power_of_two(needed[full])
        offset = self._used + np.cumsum(size) - size
        moves = RingMoves(full, self.offset[full], self.size[full], offset, size, self._used + int(size.sum()), False)
        self._idle += int(self.size[full].sum())
        return moves

    def reserve_groups(self, count: int) -> None:
        self.offset, self.size = grown(self.offset, count), grown(self.size, count)
        self.first, self.next = grown(self.first, count), grown(self.next, count)

    def packing(self) -> RingMoves | None:
        """How all rings move together, when too much lies idle."""
        live = len(self)
        wasted = self._idle > self._used // 2 or self._used > _SPARSE * live + _SMALL + 2 * self.groups
        if not wasted or self._used < _SMALL:
            return None
        held = self.next - self.first
        size = np.where(held > 0, _power_of_two(held + 1), 0)
        offset = np.cumsum(size) - size
        every = np.arange(self.groups)
        total = int(size.sum())
        if total >= self._used:
            return None
        self._idle = 0
        return RingMoves(every, self.offset, self.size, offset, size, total, True)

    def move(self, moves: RingMoves) -> None:
        """After all that is kept by these positions has moved."""
        if not len(moves.group) and not moves.packed:
            return
        time = np.zeros(moves.places, np.int64) if moves.packed else grown(self.time, moves.places)
        move_rings(moves, self.first, self.next, 1, self.time, time)
        self.time, self._used = time, moves.places
        if moves.packed:
            self.offset, self.size = moves.new_offset, moves.new_size
        else:
            self.offset[moves.group], self.size[moves.group] = moves.new_offset, moves.new_size

    def insert(self, group: Int64s, time: Int64s) -> Arrivals:
        """Give elements their positions; times of a group do not decrease."""
        labels = time if not self.slice else time // self.slice * self.slice
        position, is_new, in_order = _insert(group, labels, bool(self.slice), self.rings)
        if not in_order:
            raise WindrowError("elements came out of the order of time", "hand them over by time, group by group")
        return Arrivals(group, position, is_new)

    def ending_with(self, arrivals: Arrivals, time: Int64s, length: int) -> Spans:
        """The windows of `length` that end with elements that have just come."""
        if self.slice:
            raise WindrowError("the elements of a slice are not told apart", "keep them without slices")
        begin = _roll(arrivals, time - length, self.rings._replace(first=self.first.copy()))
        return Spans(arrivals.group, begin, arrivals.position + 1)

    def expire_before(self, spans: Spans, time: int) -> None:
        """What is before the last span of a group is not asked for any more, nor a window that begins before `time`."""
        self.first[spans.group] = spans.begin
        self.covered_since = max(self.covered_since, time)

    def expire_until(self, time: int) -> None:
        """Elements before `time` are not asked for any more."""
        self.covered_since = max(self.covered_since, time)
        _expire(time, self.rings)

    def keep_newest(self, rows: int) -> None:
        """Of each group only the newest are asked for."""
        self.first = np.maximum(self.first, self.next - rows)

    def forget(self, group: Int64s) -> None:
        """Nothing of these groups is asked for any more."""
        self.first[group] = self.next[group]

    def by_time(self, group: Int64s, begin: Int64s, end: Int64s) -> Spans:
        """The elements with begin ≤ time < end; an end of FOREVER is that of a suffix window."""
        if len(begin) and int(begin.min()) < self.covered_since:
            what = f"a window begins at {int(begin.min())}, elements are kept since {self.covered_since}"
            raise WindrowError(what, "ask for a later one, or keep elements for longer")
        if self.slice and not (_on_edges(begin, self.slice) and _on_edges(end, self.slice)):
            raise WindrowError("a window begins or ends inside a slice", f"slices are {self.slice} long")
        return self.between(group, begin, end)

    def between(self, group: Int64s, begin: Int64s, end: Int64s) -> Spans:
        """The same for windows that are known to be covered."""
        return Spans(group, *_by_time(group, begin, end, self.rings))

    def since(self, begin: int, end: int) -> Spans:
        """The elements of all groups in a stretch of time, as far as they are kept."""
        every = np.arange(self.groups)
        begins = np.full(self.groups, max(begin, _BEGINNING), np.int64)
        return self.between(every, begins, np.full(self.groups, max(end, _BEGINNING), np.int64))

    def by_rows(self, group: Int64s, oldest: Int64s, newest: Int64s) -> Spans:
        """The window [oldest, newest] of Arasu and Widom: the last `oldest` elements without the last `newest`."""
        known = group < self.groups
        at = np.where(known, group, 0)
        first, end = (self.first[at], self.next[at]) if self.groups else (np.zeros_like(at), np.zeros_like(at))
        begin = np.maximum(end - oldest, first)
        return Spans(group, np.where(known, begin, 0), np.where(known, np.maximum(end - newest, begin), 0))

    def end_now(self, spans: Spans) -> bool:
        """Whether nothing has come behind any of the spans."""
        known = spans.group < self.groups
        return bool((spans.end[known] == self.next[spans.group[known]]).all())

    def everything(self) -> Spans:
        some = np.flatnonzero(self.first < self.next)
        return Spans(some, self.first[some], self.next[some])

    def times(self, spans: Spans) -> Int64s:
        return self.time[places(spans, self.offset, self.size)]

    def start_at(self, group: Int64s, position: Int64s) -> None:
        """Let the positions of empty groups begin elsewhere."""
        self.first[group] = self.next[group] = position


def single(spans: Spans) -> Spans:
    """Every position of spans as a span of its own."""
    lengths = spans.end - spans.begin
    position = ranges(spans.begin, lengths)
    return Spans(np.repeat(spans.group, lengths), position, position + 1)


def places(spans: Spans, offset: Int64s, size: Int64s) -> Int64s:
    """Where rings have the positions of spans, one after the other."""
    group, position, _ = single(spans)
    result: Int64s = offset[group] + (position & (size[group] - 1))
    return result


def levelled(moves: RingMoves, used: int) -> tuple[Int64s, int]:
    """Where rings begin that have a level, as long as they are, for every power of two; and how much is used then."""
    levels = np.where(moves.new_size > 0, np.log2(np.maximum(moves.new_size, 1)).astype(np.int64) + 1, 0)
    length = moves.new_size * levels
    begin = 0 if moves.packed else used
    return begin + np.cumsum(length) - length, begin + int(length.sum())


def _power_of_two(numbers: Int64s) -> Int64s:
    """The smallest powers of two that are not smaller."""
    return 1 << np.ceil(np.log2(np.maximum(numbers, 1))).astype(np.int64)


def _on_edges(times: Int64s, slice: int) -> bool:
    return bool(((times % slice == 0) | (times == FOREVER)).all())


@compiled
def move_rings(moves: RingMoves, first: Int64s, next: Int64s, rows_per_place: int, old: Int64s, new: Int64s) -> None:
    """What belongs to the positions [first, next) of groups follows their rings, so many rows per place."""
    for i in range(len(moves.group)):
        g, old_size, new_size = moves.group[i], moves.old_size[i], moves.new_size[i]
        if old_size == 0 or new_size == 0:
            continue
        for p in range(first[g], next[g]):
            target = moves.new_offset[i] + (p & (new_size - 1))
            source = moves.old_offset[i] + (p & (old_size - 1))
            for row in range(rows_per_place):
                new[rows_per_place * target + row] = old[rows_per_place * source + row]


@compiled
def _insert(group: Int64s, label: Int64s, sliced: bool, rings: Rings) -> tuple[Int64s, Bools, bool]:
    offset, size, first, next, time = rings
    position, is_new = np.empty(len(group), np.int64), np.ones(len(group), np.bool_)
    in_order = True
    for i in range(len(group)):
        g = group[i]
        p = next[g]
        if p > first[g]:
            last = time[offset[g] + ((p - 1) & (size[g] - 1))]
            in_order &= last <= label[i]
            if sliced and last == label[i]:
                position[i], is_new[i] = p - 1, False
                continue
        time[offset[g] + (p & (size[g] - 1))] = label[i]
        position[i] = p
        next[g] = p + 1
    return position, is_new, in_order


@compiled
def _expire(until: int, rings: Rings) -> None:
    offset, size, first, next, time = rings
    for g in range(len(offset)):
        p = first[g]
        while p < next[g] and time[offset[g] + (p & (size[g] - 1))] < until:
            p += 1
        first[g] = p


@compiled
def _roll(arrivals: Arrivals, before: Int64s, rings: Rings) -> Int64s:
    """Where windows begin that have no element of `before` or earlier; the first positions of groups follow."""
    offset, size, first, _, time = rings
    begin = np.empty(len(before), np.int64)
    for i in range(len(before)):
        g = arrivals.group[i]
        p, base, mask = first[g], offset[g], size[g] - 1
        while p < arrivals.position[i] and time[base + (p & mask)] <= before[i]:
            p += 1
        first[g] = begin[i] = p
    return begin


@compiled
def first_not_before(instant: int, g: int, rings: Rings) -> int:
    """The first position of a group with a time that is not earlier, by bisection."""
    low, high = rings.first[g], rings.next[g]
    begin, mask = rings.offset[g], rings.size[g] - 1
    while low < high:
        middle = (low + high) >> 1
        if rings.rows[begin + (middle & mask)] < instant:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def _by_time(group: Int64s, begin: Int64s, end: Int64s, rings: Rings) -> tuple[Int64s, Int64s]:
    begins, ends = np.zeros(len(group), np.int64), np.zeros(len(group), np.int64)
    for i in range(len(group)):
        g = group[i]
        if g >= len(rings.offset):
            continue
        begins[i] = first_not_before(begin[i], g, rings)
        ends[i] = rings.next[g] if end[i] == FOREVER else first_not_before(end[i], g, rings)
        ends[i] = max(begins[i], ends[i])
    return begins, ends
