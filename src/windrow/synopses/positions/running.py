"""The running synopsis, R-INT: for aggregates that can be subtracted (Arasu and Widom, 3.2; thesis 2.3.4).

Position p of a ring holds the aggregate over all elements before p. A window is the difference of two of them: one
update and one lookup cost a constant, whatever the width. Sums are exact integers of a few words, kept modulo what the
words hold (`words`), so that nothing drifts and nothing is ever rebased, however long the stream.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Bools, Int64s
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans, move_rings, single
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.word_synopsis import Operation, Ring, WordSynopsis
from windrow.synopses.positions.words import Layout, are_narrow, merge, subtract, widened


class Running(WordSynopsis):
    def __init__(self, aggregate: WordAggregate) -> None:
        assert aggregate.is_subtractable, f"{aggregate.name} cannot be subtracted"
        super().__init__(aggregate)

    def _inserted(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s) -> None:
        _insert(*arrivals, rows, how.plain, ring.offset, ring.size, ring.rows)

    def _found(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return np.asarray(_lookup(*spans, how.plain, ring.offset, ring.size, ring.rows))

    def _rolled(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s, spans: Spans) -> Int64s:
        if are_narrow(rows, how.ranks):
            return np.asarray(_roll_narrow(*spans, rows, ring.offset, ring.size, ring.rows))
        return super()._rolled(ring, how, arrivals, rows, spans)

    def _single(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return self._found(ring, how, single(spans))

    def _moved(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        """The aggregate before the next element too."""
        move_rings(*moves[:5], elements.first, elements.next + 1, 1, old, new)

    def _widen(self, elements: Elements, layout: Layout) -> None:
        """Running sums may have passed the bound of their words: they are summed again from their differences."""
        group, position, end = single(elements.everything())
        rows = self._found(self.ring(elements), self.how, Spans(group, position, end))
        rows = widened(rows, self.layout, layout)
        self.rows, self.layout = np.zeros((len(self.rows), layout.width), np.int64), layout
        arrivals = Arrivals(group, position, np.ones(len(group), np.bool_))
        self._inserted(self.ring(elements), self.how, arrivals, rows)


@inlined
def lookup_one(
    g: int, begin: int, end: int, plain: int, offset: Int64s, size: Int64s, rows: Int64s, found: Int64s, i: int
) -> None:
    """The aggregate of one span, into row i of `found`."""
    upper, lower = offset[g] + (end & (size[g] - 1)), offset[g] + (begin & (size[g] - 1))
    for word in range(found.shape[1]):
        found[i, word] = rows[upper, word]
    subtract(found, i, rows, lower, plain)


@compiled
def _lookup(
    group: Int64s, begin: Int64s, end: Int64s, plain: int, offset: Int64s, size: Int64s, rows: Int64s
) -> Int64s:
    found = np.zeros((len(group), rows.shape[1]), np.int64)
    for i in range(len(group)):
        if begin[i] < end[i]:
            lookup_one(group[i], begin[i], end[i], plain, offset, size, rows, found, i)
    return found


@inlined
def insert_one(
    g: int, position: int, is_new: bool, added: Int64s, i: int, plain: int, offset: Int64s, size: Int64s, rows: Int64s
) -> None:
    """Row i of `added` as the element at a position."""
    upper, lower = offset[g] + ((position + 1) & (size[g] - 1)), offset[g] + (position & (size[g] - 1))
    if is_new:
        for word in range(rows.shape[1]):
            rows[upper, word] = rows[lower, word]
    merge(rows, upper, added, i, 0, plain, offset[:0])


@compiled
def _insert(
    group: Int64s, position: Int64s, is_new: Bools, added: Int64s, plain: int,
    offset: Int64s, size: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    for i in range(len(group)):
        insert_one(group[i], position[i], is_new[i], added, i, plain, offset, size, rows)


@compiled
def _roll_narrow(
    group: Int64s, begin: Int64s, end: Int64s, added: Int64s, offset: Int64s, size: Int64s, rows: Int64s
) -> Int64s:
    """Elements of a count and one word, and the aggregate of a span that ends with each."""
    found = np.empty((len(group), 2), np.int64)
    for i in range(len(group)):
        base, mask = offset[group[i]], size[group[i]] - 1
        upper, newest, lower = base + (end[i] & mask), base + ((end[i] - 1) & mask), base + (begin[i] & mask)
        for word in range(2):
            rows[upper, word] = rows[newest, word] + added[i, word]
            found[i, word] = rows[upper, word] - rows[lower, word]
    return found
