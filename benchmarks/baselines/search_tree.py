"""The tree of PSoup (Arasu and Widom, 3.1.3): elements as leaves, aggregates of what is below in the inner nodes.

A baseline: every element that comes, and every one that goes, changes all nodes on its way to the root, so that an
update costs the logarithm of what is kept. Leaves lie in a ring; the tree over it is complete, node 1 is the root.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Bools, Int64s
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans, places
from windrow.synopses.positions.word_synopsis import Operation, Ring, WordSynopsis
from windrow.synopses.positions.words import merge


class SearchTree(WordSynopsis):
    rows_per_place = 2

    def _inserted(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s) -> None:
        _insert(*arrivals, rows, *how, ring.offset, ring.size, ring.rows)

    def _found(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return np.asarray(_lookup(*spans, *how, ring.offset, ring.size, ring.rows))

    def _single(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return ring.rows[places(spans, 2 * ring.offset + ring.size, ring.size)]

    def _moved(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        _move(*moves[:5], elements.first, elements.next, *self.how, old, new)


@inlined
def insert_one(
    g: int, position: int, is_new: bool, added: Int64s, i: int, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    """Row i of `added` as the leaf of a position, in the place of the one that has left."""
    root, node = 2 * offset[g], size[g] + (position & (size[g] - 1))
    if is_new:
        for word in range(rows.shape[1]):
            rows[root + node, word] = 0
    merge(rows, root + node, added, i, operation, plain, ranks)
    _climb(root, node >> 1, operation, plain, ranks, rows)


@compiled
def _climb(root: int, node: int, operation: int, plain: int, ranks: Int64s, rows: Int64s) -> None:
    while node > 0:
        for word in range(rows.shape[1]):
            rows[root + node, word] = 0
        merge(rows, root + node, rows, root + 2 * node, operation, plain, ranks)
        merge(rows, root + node, rows, root + 2 * node + 1, operation, plain, ranks)
        node >>= 1


@inlined
def lookup_one(
    g: int, begin: int, end: int, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s, found: Int64s, i: int,
) -> None:  # fmt: skip
    """Merge the aggregate of one span into row i of `found`; it may go past the end of the ring."""
    places, root = size[g], 2 * offset[g]
    first, last = begin & (places - 1), (end - 1) & (places - 1)
    if first <= last:
        _between(root, places + first, places + last + 1, operation, plain, ranks, rows, found, i)
    else:
        _between(root, places + first, 2 * places, operation, plain, ranks, rows, found, i)
        _between(root, places, places + last + 1, operation, plain, ranks, rows, found, i)


@compiled
def _between(
    root: int, left: int, right: int, operation: int, plain: int, ranks: Int64s, rows: Int64s, found: Int64s, i: int
) -> None:
    while left < right:
        if left & 1:
            merge(found, i, rows, root + left, operation, plain, ranks)
            left += 1
        if right & 1:
            right -= 1
            merge(found, i, rows, root + right, operation, plain, ranks)
        left >>= 1
        right >>= 1


@compiled
def _lookup(
    group: Int64s, begin: Int64s, end: Int64s, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s,
) -> Int64s:  # fmt: skip
    found = np.zeros((len(group), rows.shape[1]), np.int64)
    for i in range(len(group)):
        if begin[i] < end[i]:
            lookup_one(group[i], begin[i], end[i], operation, plain, ranks, offset, size, rows, found, i)
    return found


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
    first: Int64s, next: Int64s, operation: int, plain: int, ranks: Int64s, old: Int64s, new: Int64s,
) -> None:  # fmt: skip
    """The leaves move, and the tree above them is merged anew."""
    for i in range(len(group)):
        for p in range(first[group[i]], next[group[i]]):
            leaf = 2 * new_offset[i] + new_size[i] + (p & (new_size[i] - 1))
            new[leaf] = old[2 * old_offset[i] + old_size[i] + (p & (old_size[i] - 1))]
        root = 2 * new_offset[i]
        for node in range(new_size[i] - 1, 0, -1):
            new[root + node] = 0
            merge(new, root + node, new, root + 2 * node, operation, plain, ranks)
            merge(new, root + node, new, root + 2 * node + 1, operation, plain, ranks)
