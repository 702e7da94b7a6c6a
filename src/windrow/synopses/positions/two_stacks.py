"""Two stacks: one window a group, in amortised constant time, for any aggregate that merges.

The elements of a window are a queue made of two stacks. Each element of the front one carries the aggregate from it to
the end of the front stack; the back stack has one aggregate for all of it. The answer is a merge of two rows. When the
front is used up, the back becomes the front: one pass, from the newest element to the oldest.

Any window that ends now and begins in the front is a merge of two rows as well. Others are answered too, by a pass over
their elements. An element that joins a slice of the front is merged into all that is before it there.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Bools, Int64s, grown
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans, move_rings, places
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.word_synopsis import Operation, Ring, WordSynopsis
from windrow.synopses.positions.words import Layout, are_narrow, merge, merged, widened


class TwoStacks(WordSynopsis):
    rows_per_place = 2  # the element, and the aggregate from it to the end of the front stack

    def __init__(self, aggregate: WordAggregate) -> None:
        super().__init__(aggregate)
        self.middle: Int64s = np.zeros(0, np.int64)  # the first position of the back stack
        self.back: Int64s = np.zeros((0, self.layout.width), np.int64)  # the aggregate of a group's back stack

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.middle.nbytes + self.back.nbytes

    def _inserted(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s) -> None:
        _insert(*arrivals, rows, *how, *ring, self.middle, self.back)

    def _found(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return np.asarray(_lookup(*spans, *how, *ring, self.middle, self.back))

    def _rolled(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s, spans: Spans) -> Int64s:
        kept = ring.offset, ring.size, ring.first, ring.rows, self.middle, self.back
        if are_narrow(rows, how.ranks):
            return np.asarray(_roll_narrow(*spans, rows, how.operation, *kept))
        return np.asarray(_roll(*spans, rows, *how, *kept))

    def _single(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return ring.rows[2 * places(spans, ring.offset, ring.size)]

    def _moved(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        self.middle = grown(self.middle, elements.groups)
        self.back = grown(self.back, elements.groups)
        move_rings(*moves[:5], elements.first, elements.next, self.rows_per_place, old, new)

    def _widen(self, elements: Elements, layout: Layout) -> None:
        self.back = widened(self.back, self.layout, layout)
        super()._widen(elements, layout)


@inlined
def lookup_one(
    g: int, begin: int, end: int, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s, middle: Int64s, back: Int64s,
    found: Int64s, i: int,
) -> None:  # fmt: skip
    """Merge the aggregate of [begin, end) into row i of `found`."""
    # For a window of a small part of what is kept it is not worth while to make everything the front.
    if end == next[g] and begin >= middle[g] and 2 * (begin - first[g]) <= end - first[g]:
        turn(g, first[g], end, operation, plain, ranks, offset, size, rows, middle, back)
    base, mask = offset[g], size[g] - 1
    if end == next[g] and begin < middle[g]:
        merge(found, i, rows, 2 * (base + (begin & mask)) + 1, operation, plain, ranks)
        merge(found, i, back, g, operation, plain, ranks)
    else:
        for p in range(begin, end):
            merge(found, i, rows, 2 * (base + (p & mask)), operation, plain, ranks)


@compiled
def turn(
    g: int, begin: int, end: int, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s, middle: Int64s, back: Int64s,
) -> None:  # fmt: skip
    """All elements of a group from `begin` on become the front stack."""
    base, mask = offset[g], size[g] - 1
    for p in range(end - 1, begin - 1, -1):
        row = 2 * (base + (p & mask))
        for word in range(rows.shape[1]):
            rows[row + 1, word] = rows[row, word]
        if p < end - 1:
            merge(rows, row + 1, rows, 2 * (base + ((p + 1) & mask)) + 1, operation, plain, ranks)
    middle[g] = end
    for word in range(rows.shape[1]):
        back[g, word] = 0


@inlined
def insert_one(
    g: int, position: int, is_new: bool, added: Int64s, i: int, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, first: Int64s, rows: Int64s, middle: Int64s, back: Int64s,
) -> None:  # fmt: skip
    row = 2 * (offset[g] + (position & (size[g] - 1)))
    if is_new:
        for word in range(rows.shape[1]):
            rows[row, word] = 0
    merge(rows, row, added, i, operation, plain, ranks)
    # An element of a slice that is in the front stack already belongs to all aggregates of the front.
    if position < middle[g]:
        for p in range(first[g], position + 1):
            merge(rows, 2 * (offset[g] + (p & (size[g] - 1))) + 1, added, i, operation, plain, ranks)
    else:
        merge(back, g, added, i, operation, plain, ranks)


@compiled
def _insert(
    group: Int64s, position: Int64s, is_new: Bools, added: Int64s, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s, middle: Int64s, back: Int64s,
) -> None:  # fmt: skip
    for i in range(len(group)):
        insert_one(
            group[i], position[i], is_new[i], added, i, operation, plain, ranks,
            offset, size, first, rows, middle, back,
        )  # fmt: skip


@compiled
def _lookup(
    group: Int64s, begin: Int64s, end: Int64s, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s, middle: Int64s, back: Int64s,
) -> Int64s:  # fmt: skip
    found = np.zeros((len(group), rows.shape[1]), np.int64)
    for i in range(len(group)):
        if begin[i] < end[i]:
            lookup_one(
                group[i], begin[i], end[i], operation, plain, ranks,
                offset, size, first, next, rows, middle, back, found, i,
            )  # fmt: skip
    return found


@compiled
def _roll(
    group: Int64s, begin: Int64s, end: Int64s, added: Int64s, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, first: Int64s, rows: Int64s, middle: Int64s, back: Int64s,
) -> Int64s:  # fmt: skip
    found = np.zeros((len(group), rows.shape[1]), np.int64)
    for i in range(len(group)):
        g = group[i]
        insert_one(g, end[i] - 1, True, added, i, operation, plain, ranks, offset, size, first, rows, middle, back)
        if begin[i] >= middle[g]:
            turn(g, begin[i], end[i], operation, plain, ranks, offset, size, rows, middle, back)
        merge(found, i, rows, 2 * (offset[g] + (begin[i] & (size[g] - 1))) + 1, operation, plain, ranks)
        merge(found, i, back, g, operation, plain, ranks)
    return found


@compiled
def _roll_narrow(
    group: Int64s, begin: Int64s, end: Int64s, added: Int64s, operation: int,
    offset: Int64s, size: Int64s, first: Int64s, rows: Int64s, middle: Int64s, back: Int64s,
) -> Int64s:  # fmt: skip
    """The same for rows of a count and one word, which are not written before they are merged."""
    found = np.empty((len(group), 2), np.int64)
    for i in range(len(group)):
        g, newest = group[i], end[i] - 1
        base, mask = offset[g], size[g] - 1
        row = 2 * (base + (newest & mask))
        rows[row, 0], rows[row, 1] = added[i, 0], added[i, 1]
        if begin[i] >= middle[g]:
            count, word = 0, 0
            for p in range(newest, begin[i] - 1, -1):
                row = 2 * (base + (p & mask))
                count, word = merged(count, word, rows[row, 0], rows[row, 1], operation)
                rows[row + 1, 0], rows[row + 1, 1] = count, word
            middle[g] = end[i]
            back[g, 0], back[g, 1] = 0, 0
        else:
            count, word = merged(back[g, 0], back[g, 1], added[i, 0], added[i, 1], operation)
            back[g, 0], back[g, 1] = count, word
            row = 2 * (base + (begin[i] & mask)) + 1
            count, word = merged(count, word, rows[row, 0], rows[row, 1], operation)
        found[i, 0], found[i, 1] = count, word
    return found
