"""The interval synopsis, B-INT: aggregates over dyadic intervals (Arasu and Widom, 3.1.1; thesis 2.3.4).

Level n of a ring holds the aggregates of the positions [i · 2^n, (i + 1) · 2^n) that are complete; level 0 the elements
themselves. An element completes as many intervals as its number has zeros at the end, so that an update costs a
constant on average; any span is a disjoint union of at most two intervals a level, so that a lookup costs the
logarithm of its width. A ring of n places has 2n rows: n of level 0, n/2 of level 1, and so on.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Rings, Spans, places
from windrow.synopses.positions.word_synopsis import WordSynopsis
from windrow.synopses.positions.words import Operation, are_narrow, merge, merged


class Interval(WordSynopsis):
    rows_per_place = 2

    def _insert_rows(self, arrivals: Arrivals, rows: Int64s, operation: Operation, rings: Rings) -> None:
        _insert(arrivals, rows, operation, rings)

    def _lookup_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return np.asarray(_lookup(spans, operation, rings))

    def _element_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return rings.rows[places(spans, 2 * rings.offset, rings.size)]

    def _move_rows(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        _move(moves, elements.first, elements.next, old, new)


@compiled
def node(offset: int, size: int, level: int, index: int) -> int:
    """The row of the interval [index · 2^level, (index + 1) · 2^level)."""
    return 2 * offset + 2 * size - ((2 * size) >> level) + (index & ((size >> level) - 1))


@compiled
def base_intervals(begin: int, end: int, levels: Int64s, indexes: Int64s) -> int:
    """The dyadic intervals that a span is made of, from left to right; how many there are."""
    count = 0
    while begin < end:
        level = 0
        while begin & ((2 << level) - 1) == 0 and begin + (2 << level) <= end:
            level += 1
        levels[count], indexes[count] = level, begin >> level
        begin += 1 << level
        count += 1
    return count


def covering(begin: int, end: int) -> list[tuple[int, int]]:
    """The spans of the dyadic intervals that make up [begin, end)."""
    levels, indexes = np.zeros(128, np.int64), np.zeros(128, np.int64)
    count = base_intervals(begin, end, levels, indexes)
    return [(int(i << n), int((i + 1) << n)) for n, i in zip(levels[:count], indexes[:count], strict=True)]


@inlined
def lookup_one(g: int, begin: int, end: int, operation: Operation, rings: Rings, result: Int64s, i: int) -> None:
    """Merge the aggregate of one span into row i of `result`: from both ends inwards, a level at a time."""
    level, left, right = 0, begin, end
    offset, size, rows = rings.offset[g], rings.size[g], rings.rows
    if are_narrow(rows, operation):
        count, word = result[i, 0], result[i, 1]
        while left < right:
            if left & 1:
                row = node(offset, size, level, left)
                count, word = merged(count, word, rows[row, 0], rows[row, 1], operation.kind)
            if right & 1:
                row = node(offset, size, level, right - 1)
                count, word = merged(count, word, rows[row, 0], rows[row, 1], operation.kind)
            left, right, level = (left + 1) >> 1, right >> 1, level + 1
        result[i, 0], result[i, 1] = count, word
        return
    while left < right:
        if left & 1:
            merge(result, i, rows, node(offset, size, level, left), operation)
        if right & 1:
            merge(result, i, rows, node(offset, size, level, right - 1), operation)
        left, right, level = (left + 1) >> 1, right >> 1, level + 1


@compiled
def _lookup(spans: Spans, operation: Operation, rings: Rings) -> Int64s:
    result = np.zeros((len(spans.group), rings.rows.shape[1]), np.int64)
    for i in range(len(spans.group)):
        if spans.begin[i] < spans.end[i]:
            lookup_one(spans.group[i], spans.begin[i], spans.end[i], operation, rings, result, i)
    return result


@inlined
def insert_one(g: int, position: int, is_new: bool, added: Int64s, i: int, operation: Operation, rings: Rings) -> None:
    """Row i of `added` as the element at a position: it ends an interval of every level that its number allows."""
    offset, size, rows = rings.offset[g], rings.size[g], rings.rows
    level, index = 0, position
    while True:
        row = node(offset, size, level, index)
        if is_new:
            for word in range(rows.shape[1]):
                rows[row, word] = 0
            if level > 0:
                merge(rows, row, rows, node(offset, size, level - 1, 2 * index), operation)
                merge(rows, row, rows, node(offset, size, level - 1, 2 * index + 1), operation)
        if level == 0 or not is_new:
            merge(rows, row, added, i, operation)
        if index & 1 == 0 or (2 << level) > size:
            return
        level, index = level + 1, index >> 1


@compiled
def _insert(arrivals: Arrivals, added: Int64s, operation: Operation, rings: Rings) -> None:
    for i in range(len(added)):
        insert_one(arrivals.group[i], arrivals.position[i], arrivals.is_new[i], added, i, operation, rings)


@compiled
def _move(moves: RingMoves, first: Int64s, next: Int64s, old: Int64s, new: Int64s) -> None:
    for i in range(len(moves.group)):
        g, old_size, new_size = moves.group[i], moves.old_size[i], moves.new_size[i]
        level = 0
        while (1 << level) <= min(old_size, new_size):
            for index in range((first[g] + (1 << level) - 1) >> level, next[g] >> level):
                target = node(moves.new_offset[i], new_size, level, index)
                new[target] = old[node(moves.old_offset[i], old_size, level, index)]
            level += 1
