"""The basic interval synopsis: the elements, or slices, alone (thesis 2.3.4).

It is the lowest level of an interval synopsis: half the memory, an update is one write, and a lookup merges all
positions of its window. With all queries of a moment answered in one pass (thesis 8.3.1, rule CS2) a pass over b
positions beats log b merges a query from b / log b queries on. Over elements rather than slices it is what Arasu and
Widom call *materialize none*.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Rings, Spans, move_rings, places
from windrow.synopses.positions.word_synopsis import WordSynopsis
from windrow.synopses.positions.words import Operation, are_narrow, merge, merged


class BasicInterval(WordSynopsis):
    def _insert_rows(self, arrivals: Arrivals, rows: Int64s, operation: Operation, rings: Rings) -> None:
        _insert(arrivals, rows, operation, rings)

    def _lookup_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        """In one pass for all windows of a group that end together, from the youngest position to the oldest."""
        order = np.lexsort((-spans.begin, -spans.end, spans.group))
        result = np.empty((len(order), rings.rows.shape[1]), np.int64)
        result[order] = _lookup(Spans(*(column[order] for column in spans)), operation, rings)
        return result

    def _roll_rows(self, arrivals: Arrivals, rows: Int64s, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        """Every span ends with another element: no pass is shared."""
        self._insert_rows(arrivals, rows, operation, rings)
        return np.asarray(_lookup(spans, operation, rings))

    def _element_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return rings.rows[places(spans, rings.offset, rings.size)]

    def _move_rows(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        move_rings(moves, elements.first, elements.next, 1, old, new)


@inlined
def lookup_one(g: int, begin: int, end: int, operation: Operation, rings: Rings, result: Int64s, i: int) -> None:
    """Merge the aggregate of one span into row i of `result`, position by position."""
    base, mask, rows = rings.offset[g], rings.size[g] - 1, rings.rows
    if are_narrow(rows, operation):
        count, word = result[i, 0], result[i, 1]
        for p in range(begin, end):
            row = base + (p & mask)
            count, word = merged(count, word, rows[row, 0], rows[row, 1], operation.kind)
        result[i, 0], result[i, 1] = count, word
        return
    for p in range(begin, end):
        merge(result, i, rows, base + (p & mask), operation)


@compiled
def _lookup(spans: Spans, operation: Operation, rings: Rings) -> Int64s:
    group, begin, end = spans
    result = np.zeros((len(group), rings.rows.shape[1]), np.int64)
    for i in range(len(group)):
        end_of_rest = end[i]
        if i > 0 and group[i] == group[i - 1] and end[i] == end[i - 1] and begin[i - 1] < end[i - 1]:
            result[i] = result[i - 1]
            end_of_rest = begin[i - 1]
        lookup_one(group[i], begin[i], end_of_rest, operation, rings, result, i)
    return result


@inlined
def insert_one(g: int, position: int, is_new: bool, added: Int64s, i: int, operation: Operation, rings: Rings) -> None:
    row, rows = rings.offset[g] + (position & (rings.size[g] - 1)), rings.rows
    if is_new:
        for word in range(rows.shape[1]):
            rows[row, word] = added[i, word]
    else:
        merge(rows, row, added, i, operation)


@compiled
def _insert(arrivals: Arrivals, added: Int64s, operation: Operation, rings: Rings) -> None:
    for i in range(len(added)):
        insert_one(arrivals.group[i], arrivals.position[i], arrivals.is_new[i], added, i, operation, rings)
