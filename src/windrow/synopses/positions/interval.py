"""The interval synopsis, B-INT: aggregates over dyadic intervals (Arasu and Widom, 3.1.1; thesis 2.3.4).

Level n of a ring holds the aggregates of the positions [i · 2^n, (i + 1) · 2^n) that are complete; level 0 the elements
themselves. An element completes as many intervals as its number has zeros at the end, so that an update costs a
constant on average; any span is a disjoint union of at most two intervals a level, so that a lookup costs the
logarithm of its width. A ring of n places has 2n rows: n of level 0, n/2 of level 1, and so on.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Bools, Int64s
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans, places
from windrow.synopses.positions.word_synopsis import Operation, Ring, WordSynopsis
from windrow.synopses.positions.words import are_narrow, merge, merged


class Interval(WordSynopsis):
    rows_per_place = 2

    def _inserted(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s) -> None:
        _insert(*arrivals, rows, *how, ring.offset, ring.size, ring.rows)

    def _found(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return np.asarray(_lookup(*spans, *how, ring.offset, ring.size, ring.rows))

    def _single(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return ring.rows[places(spans, 2 * ring.offset, ring.size)]

    def _moved(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        _move(*moves[:5], elements.first, elements.next, old, new)


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
def lookup_one(
    g: int, begin: int, end: int, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s, found: Int64s, i: int,
) -> None:  # fmt: skip
    """Merge the aggregate of one span into row i of `found`: from both ends inwards, a level at a time."""
    level, left, right = 0, begin, end
    begins, places = offset[g], size[g]
    if are_narrow(rows, ranks):
        count, word = found[i, 0], found[i, 1]
        while left < right:
            if left & 1:
                row = node(begins, places, level, left)
                count, word = merged(count, word, rows[row, 0], rows[row, 1], operation)
            if right & 1:
                row = node(begins, places, level, right - 1)
                count, word = merged(count, word, rows[row, 0], rows[row, 1], operation)
            left, right, level = (left + 1) >> 1, right >> 1, level + 1
        found[i, 0], found[i, 1] = count, word
        return
    while left < right:
        if left & 1:
            merge(found, i, rows, node(begins, places, level, left), operation, plain, ranks)
        if right & 1:
            merge(found, i, rows, node(begins, places, level, right - 1), operation, plain, ranks)
        left, right, level = (left + 1) >> 1, right >> 1, level + 1


@compiled
def _lookup(
    group: Int64s, begin: Int64s, end: Int64s, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s,
) -> Int64s:  # fmt: skip
    found = np.zeros((len(group), rows.shape[1]), np.int64)
    for i in range(len(group)):
        if begin[i] == end[i]:
            continue
        lookup_one(group[i], begin[i], end[i], operation, plain, ranks, offset, size, rows, found, i)
    return found


@inlined
def insert_one(
    g: int, position: int, is_new: bool, added: Int64s, i: int, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    """Row i of `added` as the element at a position: it ends an interval of every level that its number allows."""
    level, index = 0, position
    while True:
        row = node(offset[g], size[g], level, index)
        if is_new:
            for word in range(rows.shape[1]):
                rows[row, word] = 0
            if level > 0:
                merge(rows, row, rows, node(offset[g], size[g], level - 1, 2 * index), operation, plain, ranks)
                merge(rows, row, rows, node(offset[g], size[g], level - 1, 2 * index + 1), operation, plain, ranks)
        if level == 0 or not is_new:
            merge(rows, row, added, i, operation, plain, ranks)
        if index & 1 == 0 or (2 << level) > size[g]:
            return
        level, index = level + 1, index >> 1


@compiled
def _insert(
    group: Int64s, position: Int64s, is_new: Bools, added: Int64s, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    for i in range(len(group)):
        insert_one(group[i], position[i], is_new[i], added, i, operation, plain, ranks, offset, size, rows)


@compiled
def _move(
    group: Int64s, old_offset: Int64s, old_size: Int64s, new_offset: Int64s, new_size: Int64s,
    first: Int64s, next: Int64s, old: Int64s, new: Int64s,
) -> None:  # fmt: skip
    for i in range(len(group)):
        level = 0
        while (1 << level) <= min(old_size[i], new_size[i]):
            for index in range((first[group[i]] + (1 << level) - 1) >> level, next[group[i]] >> level):
                target = node(new_offset[i], new_size[i], level, index)
                new[target] = old[node(old_offset[i], old_size[i], level, index)]
            level += 1
