"""The tree of PSoup (Arasu and Widom, 3.1.3): elements as leaves, aggregates of what is below in the inner nodes.

A baseline: every element that comes, and every one that goes, changes all nodes on its way to the root, so that an
update costs the logarithm of what is kept. Leaves lie in a ring; the tree over it is complete, node 1 is the root.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Rings, Spans, places
from windrow.synopses.positions.word_synopsis import WordSynopsis
from windrow.synopses.positions.words import Operation, merge


class SearchTree(WordSynopsis):
    rows_per_place = 2

    def _insert_rows(self, arrivals: Arrivals, rows: Int64s, operation: Operation, rings: Rings) -> None:
        _insert(arrivals, rows, operation, rings)

    def _lookup_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return np.asarray(_lookup(spans, operation, rings))

    def _element_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return rings.rows[places(spans, 2 * rings.offset + rings.size, rings.size)]

    def _move_rows(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        _move(moves, elements.first, elements.next, self.operation, old, new)


@inlined
def insert_one(g: int, position: int, is_new: bool, added: Int64s, i: int, operation: Operation, rings: Rings) -> None:
    """Row i of `added` as the leaf of a position, in the place of the one that has left."""
    root, node, rows = 2 * rings.offset[g], rings.size[g] + (position & (rings.size[g] - 1)), rings.rows
    if is_new:
        for word in range(rows.shape[1]):
            rows[root + node, word] = 0
    merge(rows, root + node, added, i, operation)
    _climb(root, node >> 1, operation, rows)


@compiled
def _climb(root: int, node: int, operation: Operation, rows: Int64s) -> None:
    while node > 0:
        for word in range(rows.shape[1]):
            rows[root + node, word] = 0
        merge(rows, root + node, rows, root + 2 * node, operation)
        merge(rows, root + node, rows, root + 2 * node + 1, operation)
        node >>= 1


@inlined
def lookup_one(g: int, begin: int, end: int, operation: Operation, rings: Rings, result: Int64s, i: int) -> None:
    """Merge the aggregate of one span into row i of `result`; it may go past the end of the ring."""
    places, root, rows = rings.size[g], 2 * rings.offset[g], rings.rows
    first, last = begin & (places - 1), (end - 1) & (places - 1)
    if first <= last:
        _between(root, places + first, places + last + 1, operation, rows, result, i)
    else:
        _between(root, places + first, 2 * places, operation, rows, result, i)
        _between(root, places, places + last + 1, operation, rows, result, i)


@compiled
def _between(root: int, left: int, right: int, operation: Operation, rows: Int64s, result: Int64s, i: int) -> None:
    while left < right:
        if left & 1:
            merge(result, i, rows, root + left, operation)
            left += 1
        if right & 1:
            right -= 1
            merge(result, i, rows, root + right, operation)
        left >>= 1
        right >>= 1


@compiled
def _lookup(spans: Spans, operation: Operation, rings: Rings) -> Int64s:
    result = np.zeros((len(spans.group), rings.rows.shape[1]), np.int64)
    for i in range(len(spans.group)):
        if spans.begin[i] < spans.end[i]:
            lookup_one(spans.group[i], spans.begin[i], spans.end[i], operation, rings, result, i)
    return result


@compiled
def _insert(arrivals: Arrivals, added: Int64s, operation: Operation, rings: Rings) -> None:
    for i in range(len(added)):
        insert_one(arrivals.group[i], arrivals.position[i], arrivals.is_new[i], added, i, operation, rings)


@compiled
def _move(moves: RingMoves, first: Int64s, next: Int64s, operation: Operation, old: Int64s, new: Int64s) -> None:
    """The leaves move, and the tree above them is merged anew."""
    for i in range(len(moves.group)):
        g, old_size, new_size = moves.group[i], moves.old_size[i], moves.new_size[i]
        root = 2 * moves.new_offset[i]
        for p in range(first[g], next[g]):
            leaf = root + new_size + (p & (new_size - 1))
            new[leaf] = old[2 * moves.old_offset[i] + old_size + (p & (old_size - 1))]
        for node in range(new_size - 1, 0, -1):
            new[root + node] = 0
            merge(new, root + node, new, root + 2 * node, operation)
            merge(new, root + node, new, root + 2 * node + 1, operation)
