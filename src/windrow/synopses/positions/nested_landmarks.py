"""Landmarks at every power of two: any window in one merge, for as many merges an element as there are levels.

The landmark synopsis of Arasu and Widom (3.1.2) has a partition for windows of similar widths. Windows of time have as
many elements as happen to come, so here every power of two is a partition: level n has landmarks 2^n positions apart.
The first and the last position of a span differ first in some bit n; then the landmark where that bit becomes one is
the only one of level n in the span, and the answer is what lies before it, from the first position on, and what lies
behind it, up to the last.

So a position is asked for one side of a level only: if its bit n is zero for what lies before the next landmark, which
is known once that is reached, and otherwise for what lies behind the last one, which grows by one element at a time.
The highest level, whose landmarks are a whole ring apart, has both, one after the other. A ring of n places has
n · (1 + log n) rows, of which the first n are the elements.
"""

from __future__ import annotations

import math

import numpy as np

from windrow.batch.arrays import Bools, Int64s, grown
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans, levelled, places
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.word_synopsis import Operation, Ring, WordSynopsis
from windrow.synopses.positions.words import are_narrow, merge, merged


class NestedLandmarks(WordSynopsis):
    def __init__(self, aggregate: WordAggregate) -> None:
        super().__init__(aggregate)
        self.start: Int64s = np.zeros(0, np.int64)  # of a group's rows
        self._used = 0

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.start.nbytes

    def ring(self, elements: Elements) -> Ring:
        return super().ring(elements)._replace(offset=self.start)

    def move(self, elements: Elements, moves: RingMoves) -> None:
        """A ring of another size has other levels: all but the elements is made again."""
        self.start = grown(self.start, elements.groups)
        old, old_start = self.rows, self.start[moves.group]
        self.start[moves.group], self._used = levelled(moves, self._used)
        shape = self._used, self.layout.width
        self.rows = np.zeros(shape, np.int64) if moves.packed else grown(old, self._used)
        size = elements.size.copy()
        size[moves.group] = moves.new_size
        kept = self.start, size, elements.first, elements.next, self.rows
        _move(moves.group, old_start, moves.old_size, old, *self.how, *kept)

    def _inserted(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s) -> None:
        _insert(*arrivals, rows, *how, ring.offset, ring.size, ring.first, ring.rows)

    def _found(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return np.asarray(_lookup(*spans, *how, ring.offset, ring.size, ring.rows))

    def _single(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return ring.rows[places(spans, ring.offset, ring.size)]


@inlined
def _row(start: int, size: int, level: int, position: int) -> int:
    return start + level * size + (position & (size - 1))


@inlined
def lookup_one(
    g: int, begin: int, end: int, operation: int, plain: int, ranks: Int64s,
    start: Int64s, size: Int64s, rows: Int64s, found: Int64s, i: int,
) -> None:  # fmt: skip
    """Merge the aggregate of one span into row i of `found`."""
    last = end - 1
    highest = min(begin ^ last, size[g])  # a span of a ring has at most one landmark that is a whole ring from others
    level = math.frexp(float(highest))[1] - 1 if highest > 0 else 0
    before, behind = _row(start[g], size[g], level, begin), _row(start[g], size[g], level, last)
    if are_narrow(rows, ranks):
        count, word = merged(found[i, 0], found[i, 1], rows[before, 0], rows[before, 1], operation)
        if begin < last:
            count, word = merged(count, word, rows[behind, 0], rows[behind, 1], operation)
        found[i, 0], found[i, 1] = count, word
        return
    merge(found, i, rows, before, operation, plain, ranks)
    if begin < last:
        merge(found, i, rows, behind, operation, plain, ranks)


@compiled
def _lookup(
    group: Int64s, begin: Int64s, end: Int64s, operation: int, plain: int, ranks: Int64s,
    start: Int64s, size: Int64s, rows: Int64s,
) -> Int64s:  # fmt: skip
    found = np.zeros((len(group), rows.shape[1]), np.int64)
    for i in range(len(group)):
        if begin[i] < end[i]:
            lookup_one(group[i], begin[i], end[i], operation, plain, ranks, start, size, rows, found, i)
    return found


@compiled
def insert_one(
    g: int, position: int, is_new: bool, added: Int64s, i: int, operation: int, plain: int, ranks: Int64s,
    start: Int64s, size: Int64s, first: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    """Row i of `added` as the element at a position, or put to the element that is there."""
    begin, places, words = start[g], size[g], rows.shape[1]
    level, length = 1, 2
    while is_new and length <= places and position & (length - 1) == 0:
        if position & length or length == places:
            _close(begin, places, level, max(position - length, first[g]), position, operation, plain, ranks, rows)
        level, length = level + 1, 2 * length
    level, length = 0, 1
    while length <= places:
        if level == 0 or position & length or length == places:
            row = _row(begin, places, level, position)
            if is_new:
                is_first = level == 0 or position == first[g] or position & (length - 1) == 0
                source = _row(begin, places, level, position - 1)
                for word in range(words):
                    rows[row, word] = 0 if is_first else rows[source, word]
            merge(rows, row, added, i, operation, plain, ranks)
        level, length = level + 1, 2 * length


@compiled
def _close(
    start: int, size: int, level: int, begin: int, end: int, operation: int, plain: int, ranks: Int64s, rows: Int64s
) -> None:
    """A landmark is reached: every position since the one before gets what lies between it and the landmark."""
    for position in range(end - 1, begin - 1, -1):
        row, element = _row(start, size, level, position), _row(start, size, 0, position)
        for word in range(rows.shape[1]):
            rows[row, word] = rows[element, word]
        if position < end - 1:
            merge(rows, row, rows, _row(start, size, level, position + 1), operation, plain, ranks)


@compiled
def _insert(
    group: Int64s, position: Int64s, is_new: Bools, added: Int64s, operation: int, plain: int, ranks: Int64s,
    start: Int64s, size: Int64s, first: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    for i in range(len(group)):
        insert_one(group[i], position[i], is_new[i], added, i, operation, plain, ranks, start, size, first, rows)


@compiled
def _move(
    group: Int64s, old_start: Int64s, old_size: Int64s, old: Int64s, operation: int, plain: int, ranks: Int64s,
    start: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    for i in range(len(group)):
        g = group[i]
        if old_size[i] == 0 or size[g] == 0:
            continue
        for position in range(first[g], next[g]):
            source = _row(old_start[i], old_size[i], 0, position)
            insert_one(g, position, True, old, source, operation, plain, ranks, start, size, first, rows)
