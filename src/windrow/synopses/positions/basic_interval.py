"""The basic interval synopsis: the elements, or slices, alone (thesis 2.3.4).

It is the lowest level of an interval synopsis: half the memory, an update is one write, and a lookup merges all
positions of its window. With all queries of a moment answered in one pass (thesis 8.3.1, rule CS2) a pass over b
positions beats log b merges a query from b / log b queries on. Over elements rather than slices it is what Arasu and
Widom call *materialize none*.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Bools, Int64s
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans, move_rings, places
from windrow.synopses.positions.word_synopsis import Operation, Ring, WordSynopsis
from windrow.synopses.positions.words import are_narrow, merge, merged


class BasicInterval(WordSynopsis):
    def _inserted(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s) -> None:
        _insert(*arrivals, rows, *how, ring.offset, ring.size, ring.rows)

    def _found(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        """In one pass for all windows of a group that end together, from the youngest position to the oldest."""
        order = np.lexsort((-spans.begin, -spans.end, spans.group))
        sorted_spans = Spans(*(column[order] for column in spans))
        found = np.empty((len(order), ring.rows.shape[1]), np.int64)
        found[order] = _lookup(*sorted_spans, *how, ring.offset, ring.size, ring.rows)
        return found

    def _rolled(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s, spans: Spans) -> Int64s:
        """Every span ends with another element: no pass is shared."""
        self._inserted(ring, how, arrivals, rows)
        return np.asarray(_lookup(*spans, *how, ring.offset, ring.size, ring.rows))

    def _single(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return ring.rows[places(spans, ring.offset, ring.size)]

    def _moved(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        move_rings(*moves[:5], elements.first, elements.next, 1, old, new)


@inlined
def lookup_one(
    g: int, begin: int, end: int, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s, found: Int64s, i: int,
) -> None:  # fmt: skip
    """Merge the aggregate of one span into row i of `found`, position by position."""
    base, mask = offset[g], size[g] - 1
    if are_narrow(rows, ranks):
        count, word = found[i, 0], found[i, 1]
        for p in range(begin, end):
            row = base + (p & mask)
            count, word = merged(count, word, rows[row, 0], rows[row, 1], operation)
        found[i, 0], found[i, 1] = count, word
        return
    for p in range(begin, end):
        merge(found, i, rows, base + (p & mask), operation, plain, ranks)


@compiled
def _lookup(
    group: Int64s, begin: Int64s, end: Int64s, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s,
) -> Int64s:  # fmt: skip
    found = np.zeros((len(group), rows.shape[1]), np.int64)
    for i in range(len(group)):
        end_of_rest = end[i]
        if i > 0 and group[i] == group[i - 1] and end[i] == end[i - 1] and begin[i - 1] < end[i - 1]:
            found[i] = found[i - 1]
            end_of_rest = begin[i - 1]
        lookup_one(group[i], begin[i], end_of_rest, operation, plain, ranks, offset, size, rows, found, i)
    return found


@inlined
def insert_one(
    g: int, position: int, is_new: bool, added: Int64s, i: int, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    row = offset[g] + (position & (size[g] - 1))
    if is_new:
        for word in range(rows.shape[1]):
            rows[row, word] = added[i, word]
    else:
        merge(rows, row, added, i, operation, plain, ranks)


@compiled
def _insert(
    group: Int64s, position: Int64s, is_new: Bools, added: Int64s, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    for i in range(len(group)):
        insert_one(group[i], position[i], is_new[i], added, i, operation, plain, ranks, offset, size, rows)
