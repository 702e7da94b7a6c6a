"""The cells of a predicate index, in compiled arrays: which predicates a value of a column may satisfy.

A predicate is entered under one of its bounds. Under values that a column has to equal: in the cell of each of them.
Under an interval: in cells of a segment tree over the column's values, cut into leaves (Bentley 1977): those that make
up the leaves it touches, of which there are no more than two a level, and no two of which have a leaf in common. So a
row meets a predicate at most once: in the cell of its value, or in one cell between its leaf and the root. There all
bounds of the predicate are compared. What a row costs does not depend on how many predicates there are, but on how many
it meets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Bools, Int64s, grown
from windrow.batch.compiled import compiled, compiled_in_place, inlined

LEAVES = 1024  # of a column's segment tree, a power of two
NONE = -1


class Entries(NamedTuple):
    """Chains of predicates: `heads` by cell, and for each entry its predicate and the next entry of its cell."""

    heads: Int64s
    slot: Int64s
    next: Int64s


class Bounds(NamedTuple):
    """The bounds of predicates: those of a predicate are at `first` to `last`, each of a column and some words.

    A bound has two words, the smallest and the largest value, or with `is_set` all values that are allowed.
    """

    first: Int64s
    last: Int64s
    column: Int64s
    is_set: Bools
    begin: Int64s
    end: Int64s
    words: Int64s


class Rows(NamedTuple):
    """Rows as the index sees them: for each column that has bounds the words of its values, and which are not null.

    `equal` has the cells of the values, `leaf` the leaves of the values in the tree of the column; NONE for a column
    that no predicate is entered under in this way.
    """

    words: Int64s
    valid: Bools
    equal: Int64s
    leaf: Int64s


@compiled
def chain(cells: Int64s, slots: Int64s, used: int, entries: Entries) -> None:
    """Enter predicates in cells; `used` entries are there already."""
    for place in range(len(cells)):
        entry = used + place
        entries.slot[entry] = slots[place]
        entries.next[entry] = entries.heads[cells[place]]
        entries.heads[cells[place]] = entry


@compiled
def covering(low: Int64s, high: Int64s) -> tuple[Int64s, Int64s]:
    """The nodes of a tree that make up ranges of leaves, and for each of them which range it belongs to."""
    most = 2 * 11 * len(low)
    nodes, of = np.empty(most, np.int64), np.empty(most, np.int64)
    count = 0
    for place in range(len(low)):
        left, right = low[place] + LEAVES, high[place] + LEAVES + 1
        while left < right:
            if left & 1:
                nodes[count], of[count] = left, place
                left += 1
                count += 1
            if right & 1:
                right -= 1
                nodes[count], of[count] = right, place
                count += 1
            left >>= 1
            right >>= 1
    return nodes[:count].copy(), of[:count].copy()


class PredicatePairs(NamedTuple):
    """Room for rows and predicates that belong together."""

    slots: Int64s
    places: Int64s


def matched(rows: Rows, equals: Entries, trees: Entries, bounds: Bounds) -> tuple[Int64s, Int64s]:
    """Every row with every predicate that it satisfies, row by row: predicates, and the places of the rows."""
    length = rows.words.shape[1]
    pairs = PredicatePairs(np.zeros(max(1024, length), np.int64), np.zeros(max(1024, length), np.int64))
    row, used = _match(rows, equals, trees, bounds, pairs, 0, 0)
    while row < length:
        pairs = PredicatePairs(*(grown(array, len(array) + 1) for array in pairs))
        row, used = _match(rows, equals, trees, bounds, pairs, row, used)
    return pairs.slots[:used], pairs.places[:used]


@inlined
def _satisfies(rows: Rows, row: int, slot: int, bounds: Bounds) -> bool:
    bound, last, holds = bounds.first[slot], bounds.last[slot], True
    while holds and bound < last:
        column = bounds.column[bound]
        word, begin, end = rows.words[column, row], bounds.begin[bound], bounds.end[bound]
        holds = rows.valid[column, row]
        if not bounds.is_set[bound]:
            holds = holds and bounds.words[begin] <= word <= bounds.words[begin + 1]
        else:
            while begin < end and bounds.words[begin] != word:
                begin += 1
            holds = holds and begin < end
        bound += 1
    return holds


@inlined
def _take_chain(
    entry: int, entries: Entries, rows: Rows, row: int, bounds: Bounds, pairs: PredicatePairs, used: int
) -> int:
    """Put down those predicates of a cell that a row satisfies; how many pairs there are then, room or not."""
    while entry != NONE:
        slot = entries.slot[entry]
        if _satisfies(rows, row, slot, bounds):
            if used < len(pairs.slots):
                pairs.slots[used], pairs.places[used] = slot, row
            used += 1
        entry = entries.next[entry]
    return used


@compiled_in_place
def _match(
    rows: Rows, equals: Entries, trees: Entries, bounds: Bounds, pairs: PredicatePairs, start: int, used: int
) -> tuple[int, int]:
    """From a row on until there is no room for all that the next one satisfies: that row, and the pairs before it."""
    columns, length = rows.words.shape
    for row in range(start, length):
        before = used
        for column in range(columns):
            if not rows.valid[column, row]:
                continue
            cell, leaf = rows.equal[column, row], rows.leaf[column, row]
            if cell != NONE:
                used = _take_chain(equals.heads[cell], equals, rows, row, bounds, pairs, used)
            if leaf != NONE:
                node = leaf + LEAVES
                while node > 0:
                    entry = trees.heads[2 * LEAVES * column + node]
                    used = _take_chain(entry, trees, rows, row, bounds, pairs, used)
                    node >>= 1
        if used > len(pairs.slots):
            return row, before
    return length, used


@compiled
def grouped(slots: Int64s, places: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """The places by predicate, in the order in which they come, and where those of each predicate begin."""
    begins = np.zeros(count + 1, np.int64)
    for slot in slots:
        begins[slot + 1] += 1
    for slot in range(count):
        begins[slot + 1] += begins[slot]
    filled, ordered = begins[:count].copy(), np.empty(len(places), np.int64)
    for place in range(len(places)):
        slot = slots[place]
        ordered[filled[slot]] = places[place]
        filled[slot] += 1
    return begins, ordered
