"""The running synopsis, R-INT: for aggregates that can be subtracted (Arasu and Widom, 3.2; thesis 2.3.4).

Position p of a ring holds the aggregate over all elements before p. A window is the difference of two of them: one
update and one lookup cost a constant, whatever the width. Sums are exact integers of a few words, kept modulo what the
words hold (`words`), so that nothing drifts and nothing is ever rebased, however long the stream.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Rings, Spans, move_rings, single
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.word_synopsis import WordSynopsis
from windrow.synopses.positions.words import Layout, Operation, add, are_narrow, subtract, widened


class Running(WordSynopsis):
    def __init__(self, aggregate: WordAggregate) -> None:
        assert aggregate.is_subtractable, f"{aggregate.name} cannot be subtracted"
        super().__init__(aggregate)

    def _insert_rows(self, arrivals: Arrivals, rows: Int64s, operation: Operation, rings: Rings) -> None:
        _insert(arrivals, rows, operation, rings)

    def _lookup_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return np.asarray(_lookup(spans, operation, rings))

    def _roll_rows(self, arrivals: Arrivals, rows: Int64s, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        if are_narrow(rows, operation):
            return np.asarray(_roll_narrow(spans, rows, rings))
        return super()._roll_rows(arrivals, rows, spans, operation, rings)

    def _element_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return self._lookup_rows(single(spans), operation, rings)

    def _move_rows(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        """The aggregate before the next element too."""
        move_rings(moves, elements.first, elements.next + 1, 1, old, new)

    def _widen(self, elements: Elements, layout: Layout) -> None:
        """Running sums may have passed the bound of their words: they are summed again from their differences."""
        spans = single(elements.everything())
        rows = widened(self._lookup_rows(spans, self.operation, self.rings(elements)), self.layout, layout)
        self.rows, self.layout = np.zeros((len(self.rows), layout.width), np.int64), layout
        arrivals = Arrivals(spans.group, spans.begin, np.ones(len(spans.group), np.bool_))
        self._insert_rows(arrivals, rows, self.operation, self.rings(elements))


@inlined
def lookup_one(g: int, begin: int, end: int, operation: Operation, rings: Rings, result: Int64s, i: int) -> None:
    """The aggregate of one span, into row i of `result`."""
    base, mask, rows = rings.offset[g], rings.size[g] - 1, rings.rows
    upper, lower = base + (end & mask), base + (begin & mask)
    for word in range(result.shape[1]):
        result[i, word] = rows[upper, word]
    subtract(result, i, rows, lower, operation.plain)


@compiled
def _lookup(spans: Spans, operation: Operation, rings: Rings) -> Int64s:
    result = np.zeros((len(spans.group), rings.rows.shape[1]), np.int64)
    for i in range(len(spans.group)):
        if spans.begin[i] < spans.end[i]:
            lookup_one(spans.group[i], spans.begin[i], spans.end[i], operation, rings, result, i)
    return result


@inlined
def insert_one(g: int, position: int, is_new: bool, added: Int64s, i: int, operation: Operation, rings: Rings) -> None:
    """Row i of `added` as the element at a position."""
    base, mask, rows = rings.offset[g], rings.size[g] - 1, rings.rows
    upper, lower = base + ((position + 1) & mask), base + (position & mask)
    if is_new:
        for word in range(rows.shape[1]):
            rows[upper, word] = rows[lower, word]
    add(rows, upper, added, i, operation.plain)


@compiled
def _insert(arrivals: Arrivals, added: Int64s, operation: Operation, rings: Rings) -> None:
    for i in range(len(added)):
        insert_one(arrivals.group[i], arrivals.position[i], arrivals.is_new[i], added, i, operation, rings)


@compiled
def _roll_narrow(spans: Spans, added: Int64s, rings: Rings) -> Int64s:
    """Elements of a count and one word, and the aggregate of a span that ends with each."""
    group, begin, end = spans
    offset, size, rows = rings.offset, rings.size, rings.rows
    result = np.empty((len(group), 2), np.int64)
    for i in range(len(group)):
        base, mask = offset[group[i]], size[group[i]] - 1
        upper, newest, lower = base + (end[i] & mask), base + ((end[i] - 1) & mask), base + (begin[i] & mask)
        for word in range(2):
            rows[upper, word] = rows[newest, word] + added[i, word]
            result[i, word] = rows[upper, word] - rows[lower, word]
    return result
