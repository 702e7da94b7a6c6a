"""DABA, the de-amortised bankers' aggregator: one window a group, in constant time at worst, for any merge.

Two stacks (`two_stacks`) whose turning over is spread over the elements that come and go. The queue of a window is cut
at f ≤ l ≤ r ≤ a ≤ b ≤ e, and the aggregates of its elements reach

    [f, l) to b        [l, r) to r        [r, a) not made yet        [a, b) to b        [b, e) not made: one for all

Every arrival and every departure makes one step: the parts [l, r) and [r, a) shrink by one each, or when they are empty
l, r and a go on together, or when they have come to b the cuts begin anew with b at e. The lengths always fit, so that
the first element has an aggregate to b: the answer is one merge. (Tangwongsan, Hirzel and Schneider, 2017.)
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Int64s, grown
from windrow.batch.compiled import compiled, inlined
from windrow.errors import WindrowError
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans, move_rings, places
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.word_synopsis import Operation, Ring, WordSynopsis
from windrow.synopses.positions.words import Layout, merge, widened

_F, _L, _R, _A, _B, _E = range(6)  # the cuts
_BACK, _MIDDLE = range(2)  # aggregates of a group: over [b, e), and over [r, b) as it was when the cuts began anew


class Daba(WordSynopsis):
    rows_per_place = 2  # the element, and the aggregate from it on

    def __init__(self, aggregate: WordAggregate) -> None:
        super().__init__(aggregate)
        self.cuts: Int64s = np.zeros((0, 6), np.int64)
        self.sides: Int64s = np.zeros((0, self.layout.width), np.int64)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.cuts.nbytes + self.sides.nbytes

    def _inserted(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s) -> None:
        assert arrivals.is_new.all(), "elements have a position each"
        _insert(
            arrivals.group,
            arrivals.position,
            rows,
            *how,
            ring.offset,
            ring.size,
            ring.first,
            ring.rows,
            self.cuts,
            self.sides,
        )

    def _found(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        _refuse_parts(ring, spans)
        return np.asarray(_lookup(*spans, *how, ring.offset, ring.size, ring.rows, self.cuts, self.sides))

    def _rolled(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s, spans: Spans) -> Int64s:
        return np.asarray(_roll(*spans, rows, *how, ring.offset, ring.size, ring.rows, self.cuts, self.sides))

    def _single(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        return ring.rows[2 * places(spans, ring.offset, ring.size)]

    def _moved(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        """Departures are worked off first: what has left is not moved."""
        self.cuts = grown(self.cuts, elements.groups)
        self.sides = grown(self.sides, 2 * elements.groups)
        ring = self.ring(elements)
        _depart_all(*self.how, ring.offset, ring.size, ring.first, ring.rows, self.cuts, self.sides)
        move_rings(*moves[:5], elements.first, elements.next, self.rows_per_place, old, new)

    def _widen(self, elements: Elements, layout: Layout) -> None:
        self.sides = widened(self.sides, self.layout, layout)
        super()._widen(elements, layout)


def _refuse_parts(ring: Ring, spans: Spans) -> None:
    """Only the whole of what is kept is known."""
    known = spans.group < len(ring.first)
    group, asked = spans.group[known], spans.end[known] > spans.begin[known]
    whole = (spans.begin[known] == ring.first[group]) & (spans.end[known] == ring.next[group])
    if not (whole | ~asked).all():
        raise WindrowError("a window is shorter than what is kept", "keep an interval synopsis for several windows")


@compiled
def _step(
    g: int, operation: int, plain: int, ranks: Int64s, offset: Int64s, size: Int64s, rows: Int64s,
    cuts: Int64s, sides: Int64s,
) -> None:  # fmt: skip
    cut = cuts[g]
    base, mask, words = offset[g], size[g] - 1, rows.shape[1]
    if cut[_F] == cut[_B]:
        for word in range(words):
            sides[2 * g + _BACK, word] = 0
            if cut[_F] < cut[_E]:  # one element: it is its own aggregate
                row = 2 * (base + (cut[_F] & mask))
                rows[row + 1, word] = rows[row, word]
        cut[_L] = cut[_R] = cut[_A] = cut[_B] = cut[_E]
        return
    if cut[_L] == cut[_B]:
        for word in range(words):
            sides[2 * g + _MIDDLE, word] = sides[2 * g + _BACK, word]
            sides[2 * g + _BACK, word] = 0
        cut[_L], cut[_R] = cut[_F], cut[_B]
        cut[_A] = cut[_B] = cut[_E]
    if cut[_L] == cut[_R]:
        cut[_L] += 1
        cut[_R] += 1
        cut[_A] += 1
        return
    left = 2 * (base + (cut[_L] & mask))
    merge(rows, left + 1, sides, 2 * g + _MIDDLE, operation, plain, ranks)
    cut[_L] += 1
    cut[_A] -= 1
    right = 2 * (base + (cut[_A] & mask))
    for word in range(words):
        rows[right + 1, word] = rows[right, word]
    if cut[_A] + 1 < cut[_B]:
        following = 2 * (base + ((cut[_A] + 1) & mask))
        merge(rows, right + 1, rows, following + 1, operation, plain, ranks)


@compiled
def _depart(
    g: int, until: int, operation: int, plain: int, ranks: Int64s, offset: Int64s, size: Int64s, rows: Int64s,
    cuts: Int64s, sides: Int64s,
) -> None:  # fmt: skip
    while cuts[g, _F] < until and cuts[g, _F] < cuts[g, _E]:
        cuts[g, _F] += 1
        _step(g, operation, plain, ranks, offset, size, rows, cuts, sides)


@inlined
def insert_one(
    g: int, first: int, position: int, added: Int64s, i: int, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s, cuts: Int64s, sides: Int64s,
) -> None:  # fmt: skip
    """Row i of `added` behind all others; those before `first` have left."""
    _depart(g, first, operation, plain, ranks, offset, size, rows, cuts, sides)
    if cuts[g, _E] != position:  # positions of a group may begin anywhere
        cuts[g, :] = position
    row = 2 * (offset[g] + (position & (size[g] - 1)))
    for word in range(rows.shape[1]):
        rows[row, word] = added[i, word]
    merge(sides, 2 * g + _BACK, added, i, operation, plain, ranks)
    cuts[g, _E] += 1
    _step(g, operation, plain, ranks, offset, size, rows, cuts, sides)


@inlined
def lookup_one(
    g: int, first: int, operation: int, plain: int, ranks: Int64s, offset: Int64s, size: Int64s, rows: Int64s,
    cuts: Int64s, sides: Int64s, found: Int64s, i: int,
) -> None:  # fmt: skip
    """Merge the aggregate of a group's window, which begins at `first`, into row i of `found`."""
    _depart(g, first, operation, plain, ranks, offset, size, rows, cuts, sides)
    merge(found, i, rows, 2 * (offset[g] + (cuts[g, _F] & (size[g] - 1))) + 1, operation, plain, ranks)
    merge(found, i, sides, 2 * g + _BACK, operation, plain, ranks)


@compiled
def _insert(
    group: Int64s, position: Int64s, added: Int64s, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, first: Int64s, rows: Int64s, cuts: Int64s, sides: Int64s,
) -> None:  # fmt: skip
    for i in range(len(group)):
        insert_one(
            group[i], first[group[i]], position[i], added, i, operation, plain, ranks, offset, size, rows, cuts, sides
        )  # fmt: skip


@compiled
def _lookup(
    group: Int64s, begin: Int64s, end: Int64s, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s, cuts: Int64s, sides: Int64s,
) -> Int64s:  # fmt: skip
    found = np.zeros((len(group), rows.shape[1]), np.int64)
    for i in range(len(group)):
        if begin[i] < end[i]:
            lookup_one(group[i], begin[i], operation, plain, ranks, offset, size, rows, cuts, sides, found, i)
    return found


@compiled
def _roll(
    group: Int64s, begin: Int64s, end: Int64s, added: Int64s, operation: int, plain: int, ranks: Int64s,
    offset: Int64s, size: Int64s, rows: Int64s, cuts: Int64s, sides: Int64s,
) -> Int64s:  # fmt: skip
    found = np.zeros((len(group), rows.shape[1]), np.int64)
    for i in range(len(group)):
        g, first = group[i], begin[i]
        insert_one(g, first, end[i] - 1, added, i, operation, plain, ranks, offset, size, rows, cuts, sides)
        lookup_one(g, first, operation, plain, ranks, offset, size, rows, cuts, sides, found, i)
    return found


@compiled
def _depart_all(
    operation: int, plain: int, ranks: Int64s, offset: Int64s, size: Int64s, first: Int64s, rows: Int64s,
    cuts: Int64s, sides: Int64s,
) -> None:  # fmt: skip
    for g in range(len(offset)):
        if size[g] > 0:
            _depart(g, first[g], operation, plain, ranks, offset, size, rows, cuts, sides)
