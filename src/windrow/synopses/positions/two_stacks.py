"""Two stacks: one window a group, in amortised constant time, for any aggregate that merges.

The elements of a window are a queue made of two stacks. Each element of the front one carries the aggregate from it to
the end of the front stack; the back stack has one aggregate for all of it. The answer is a merge of two rows. When the
front is used up, the back becomes the front: one pass, from the newest element to the oldest.

Any window that ends now and begins in the front is a merge of two rows as well. Others are answered too, by a pass over
their elements. An element that joins a slice of the front is merged into all that is before it there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Int64s, grown
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Rings, Spans, move_rings, places
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.word_synopsis import WordSynopsis
from windrow.synopses.positions.words import Layout, Operation, are_narrow, merge, merged, widened


class Stacks(NamedTuple):
    """Where the queues of groups are, for a compiled loop."""

    offset: Int64s
    size: Int64s
    first: Int64s
    next: Int64s
    rows: Int64s
    middle: Int64s
    back: Int64s


class TwoStacks(WordSynopsis):
    rows_per_place = 2  # the element, and the aggregate from it to the end of the front stack

    def __init__(self, aggregate: WordAggregate) -> None:
        super().__init__(aggregate)
        self.middle: Int64s = np.zeros(0, np.int64)  # the first position of the back stack
        self.back: Int64s = np.zeros((0, self.layout.width), np.int64)  # the aggregate of a group's back stack

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.middle.nbytes + self.back.nbytes

    def stacks(self, rings: Rings) -> Stacks:
        return Stacks(*rings, self.middle, self.back)

    def _insert_rows(self, arrivals: Arrivals, rows: Int64s, operation: Operation, rings: Rings) -> None:
        _insert(arrivals, rows, operation, self.stacks(rings))

    def _lookup_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return np.asarray(_lookup(spans, operation, self.stacks(rings)))

    def _roll_rows(self, arrivals: Arrivals, rows: Int64s, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        if are_narrow(rows, operation):
            return np.asarray(_roll_narrow(spans, rows, operation.kind, self.stacks(rings)))
        return np.asarray(_roll(spans, rows, operation, self.stacks(rings)))

    def _element_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return rings.rows[2 * places(spans, rings.offset, rings.size)]

    def _move_rows(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        self.middle = grown(self.middle, elements.groups)
        self.back = grown(self.back, elements.groups)
        move_rings(moves, elements.first, elements.next, self.rows_per_place, old, new)

    def _widen(self, elements: Elements, layout: Layout) -> None:
        self.back = widened(self.back, self.layout, layout)
        super()._widen(elements, layout)


@inlined
def lookup_one(g: int, begin: int, end: int, operation: Operation, stacks: Stacks, result: Int64s, i: int) -> None:
    """Merge the aggregate of [begin, end) into row i of `result`."""
    first, next = stacks.first[g], stacks.next[g]
    # For a window of a small part of what is stored it is not worth while to make everything the front.
    if end == next and begin >= stacks.middle[g] and 2 * (begin - first) <= end - first:
        turn(g, first, end, operation, stacks)
    base, mask = stacks.offset[g], stacks.size[g] - 1
    if end == next and begin < stacks.middle[g]:
        merge(result, i, stacks.rows, 2 * (base + (begin & mask)) + 1, operation)
        merge(result, i, stacks.back, g, operation)
    else:
        for p in range(begin, end):
            merge(result, i, stacks.rows, 2 * (base + (p & mask)), operation)


@compiled
def turn(g: int, begin: int, end: int, operation: Operation, stacks: Stacks) -> None:
    """All elements of a group from `begin` on become the front stack."""
    base, mask, rows = stacks.offset[g], stacks.size[g] - 1, stacks.rows
    for p in range(end - 1, begin - 1, -1):
        row = 2 * (base + (p & mask))
        for word in range(rows.shape[1]):
            rows[row + 1, word] = rows[row, word]
        if p < end - 1:
            merge(rows, row + 1, rows, 2 * (base + ((p + 1) & mask)) + 1, operation)
    stacks.middle[g] = end
    for word in range(rows.shape[1]):
        stacks.back[g, word] = 0


@inlined
def insert_one(
    g: int, position: int, is_new: bool, added: Int64s, i: int, operation: Operation, stacks: Stacks
) -> None:
    base, mask, rows = stacks.offset[g], stacks.size[g] - 1, stacks.rows
    row = 2 * (base + (position & mask))
    if is_new:
        for word in range(rows.shape[1]):
            rows[row, word] = 0
    merge(rows, row, added, i, operation)
    # An element of a slice that is in the front stack already belongs to all aggregates of the front.
    if position < stacks.middle[g]:
        for p in range(stacks.first[g], position + 1):
            merge(rows, 2 * (base + (p & mask)) + 1, added, i, operation)
    else:
        merge(stacks.back, g, added, i, operation)


@compiled
def _insert(arrivals: Arrivals, added: Int64s, operation: Operation, stacks: Stacks) -> None:
    for i in range(len(added)):
        insert_one(arrivals.group[i], arrivals.position[i], arrivals.is_new[i], added, i, operation, stacks)


@compiled
def _lookup(spans: Spans, operation: Operation, stacks: Stacks) -> Int64s:
    result = np.zeros((len(spans.group), stacks.rows.shape[1]), np.int64)
    for i in range(len(spans.group)):
        if spans.begin[i] < spans.end[i]:
            lookup_one(spans.group[i], spans.begin[i], spans.end[i], operation, stacks, result, i)
    return result


@compiled
def _roll(spans: Spans, added: Int64s, operation: Operation, stacks: Stacks) -> Int64s:
    group, begin, end = spans
    result = np.zeros((len(group), stacks.rows.shape[1]), np.int64)
    for i in range(len(group)):
        g = group[i]
        insert_one(g, end[i] - 1, True, added, i, operation, stacks)
        if begin[i] >= stacks.middle[g]:
            turn(g, begin[i], end[i], operation, stacks)
        oldest = stacks.offset[g] + (begin[i] & (stacks.size[g] - 1))
        merge(result, i, stacks.rows, 2 * oldest + 1, operation)
        merge(result, i, stacks.back, g, operation)
    return result


@compiled
def _roll_narrow(spans: Spans, added: Int64s, kind: int, stacks: Stacks) -> Int64s:
    """The same for rows of a count and one word, which are not written before they are merged."""
    group, begin, end = spans
    offset, size, _, _, rows, middle, back = stacks
    result = np.empty((len(group), 2), np.int64)
    for i in range(len(group)):
        g, newest = group[i], end[i] - 1
        base, mask = offset[g], size[g] - 1
        row = 2 * (base + (newest & mask))
        rows[row, 0], rows[row, 1] = added[i, 0], added[i, 1]
        if begin[i] >= middle[g]:
            count, word = 0, 0
            for p in range(newest, begin[i] - 1, -1):
                row = 2 * (base + (p & mask))
                count, word = merged(count, word, rows[row, 0], rows[row, 1], kind)
                rows[row + 1, 0], rows[row + 1, 1] = count, word
            middle[g] = end[i]
            back[g, 0], back[g, 1] = 0, 0
        else:
            count, word = merged(back[g, 0], back[g, 1], added[i, 0], added[i, 1], kind)
            back[g, 0], back[g, 1] = count, word
            row = 2 * (base + (begin[i] & mask)) + 1
            count, word = merged(count, word, rows[row, 0], rows[row, 1], kind)
        result[i, 0], result[i, 1] = count, word
    return result
