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

from windrow.batch.arrays import Int64s, grown
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Rings, Spans, levelled, places
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.word_synopsis import WordSynopsis
from windrow.synopses.positions.words import Operation, are_narrow, merge, merged


class NestedLandmarks(WordSynopsis):
    def __init__(self, aggregate: WordAggregate) -> None:
        super().__init__(aggregate)
        self.start: Int64s = np.zeros(0, np.int64)  # of a group's rows
        self._used = 0

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.start.nbytes

    def rings(self, elements: Elements) -> Rings:
        return super().rings(elements)._replace(offset=self.start)

    def move(self, elements: Elements, moves: RingMoves) -> None:
        """A ring of another size has other levels: all but the elements is made again."""
        self.start = grown(self.start, elements.groups)
        old, old_start = self.rows, self.start[moves.group]
        self.start[moves.group], self._used = levelled(moves, self._used)
        shape = self._used, self.layout.width
        self.rows = np.zeros(shape, np.int64) if moves.packed else grown(old, self._used)
        size = elements.size.copy()
        size[moves.group] = moves.new_size
        _move(moves, old_start, old, self.operation, self.rings(elements)._replace(size=size))

    def _insert_rows(self, arrivals: Arrivals, rows: Int64s, operation: Operation, rings: Rings) -> None:
        _insert(arrivals, rows, operation, rings)

    def _lookup_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return np.asarray(_lookup(spans, operation, rings))

    def _element_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return rings.rows[places(spans, rings.offset, rings.size)]


@inlined
def _row(start: int, size: int, level: int, position: int) -> int:
    return start + level * size + (position & (size - 1))


@inlined
def lookup_one(g: int, begin: int, end: int, operation: Operation, rings: Rings, result: Int64s, i: int) -> None:
    """Merge the aggregate of one span into row i of `result`."""
    start, size, rows, last = rings.offset[g], rings.size[g], rings.rows, end - 1
    highest = min(begin ^ last, size)  # a span of a ring has at most one landmark that is a whole ring from others
    level = math.frexp(float(highest))[1] - 1 if highest > 0 else 0
    before, behind = _row(start, size, level, begin), _row(start, size, level, last)
    if are_narrow(rows, operation):
        count, word = merged(result[i, 0], result[i, 1], rows[before, 0], rows[before, 1], operation.kind)
        if begin < last:
            count, word = merged(count, word, rows[behind, 0], rows[behind, 1], operation.kind)
        result[i, 0], result[i, 1] = count, word
        return
    merge(result, i, rows, before, operation)
    if begin < last:
        merge(result, i, rows, behind, operation)


@compiled
def _lookup(spans: Spans, operation: Operation, rings: Rings) -> Int64s:
    result = np.zeros((len(spans.group), rings.rows.shape[1]), np.int64)
    for i in range(len(spans.group)):
        if spans.begin[i] < spans.end[i]:
            lookup_one(spans.group[i], spans.begin[i], spans.end[i], operation, rings, result, i)
    return result


@inlined
def insert_one(g: int, position: int, is_new: bool, added: Int64s, i: int, operation: Operation, rings: Rings) -> None:
    """Row i of `added` as the element at a position, or merged into the element that is there."""
    start, size, first, rows = rings.offset[g], rings.size[g], rings.first[g], rings.rows
    level, length = 1, 2
    while is_new and length <= size and position & (length - 1) == 0:
        if position & length or length == size:
            _close(start, size, level, max(position - length, first), position, operation, rows)
        level, length = level + 1, 2 * length
    level, length = 0, 1
    while length <= size:
        if level == 0 or position & length or length == size:
            row = _row(start, size, level, position)
            if is_new:
                is_first = level == 0 or position == first or position & (length - 1) == 0
                source = _row(start, size, level, position - 1)
                for word in range(rows.shape[1]):
                    rows[row, word] = 0 if is_first else rows[source, word]
            merge(rows, row, added, i, operation)
        level, length = level + 1, 2 * length


@compiled
def _close(start: int, size: int, level: int, begin: int, end: int, operation: Operation, rows: Int64s) -> None:
    """A landmark is reached: every position since the one before gets what lies between it and the landmark."""
    for position in range(end - 1, begin - 1, -1):
        row, element = _row(start, size, level, position), _row(start, size, 0, position)
        for word in range(rows.shape[1]):
            rows[row, word] = rows[element, word]
        if position < end - 1:
            merge(rows, row, rows, _row(start, size, level, position + 1), operation)


@compiled
def _insert(arrivals: Arrivals, added: Int64s, operation: Operation, rings: Rings) -> None:
    for i in range(len(added)):
        insert_one(arrivals.group[i], arrivals.position[i], arrivals.is_new[i], added, i, operation, rings)


@compiled
def _move(moves: RingMoves, old_start: Int64s, old: Int64s, operation: Operation, rings: Rings) -> None:
    for i in range(len(moves.group)):
        g, old_size = moves.group[i], moves.old_size[i]
        if old_size == 0 or rings.size[g] == 0:
            continue
        for position in range(rings.first[g], rings.next[g]):
            source = _row(old_start[i], old_size, 0, position)
            insert_one(g, position, True, old, source, operation, rings)
