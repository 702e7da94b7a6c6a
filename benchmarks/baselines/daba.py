"""DABA, the de-amortised bankers' aggregator: one window a group, in constant time at worst, for any merge.

Two stacks (`two_stacks`) whose turning over is spread over the elements that come and go. The queue of a window is cut
at f ≤ l ≤ r ≤ a ≤ b ≤ e, and the aggregates of its elements reach

    [f, l) to b        [l, r) to r        [r, a) not made yet        [a, b) to b        [b, e) not made: one for all

Every arrival and every departure makes one step: the parts [l, r) and [r, a) shrink by one each, or when they are empty
l, r and a go on together, or when they have come to b the cuts begin anew with b at e. The lengths always fit, so that
the first element has an aggregate to b: the answer is one merge. (Tangwongsan, Hirzel and Schneider, 2017.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Int64s, grown
from windrow.batch.compiled import compiled, inlined
from windrow.errors import WindrowError
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Rings, Spans, move_rings, places
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.word_synopsis import WordSynopsis
from windrow.synopses.positions.words import Layout, Operation, merge, widened

_F, _L, _R, _A, _B, _E = range(6)  # the cuts
_BACK, _MIDDLE = range(2)  # aggregates of a group: over [b, e), and over [r, b) as it was when the cuts began anew


class Queues(NamedTuple):
    """Where the queues of groups are, for a compiled loop."""

    offset: Int64s
    size: Int64s
    rows: Int64s
    cuts: Int64s
    sides: Int64s


class Daba(WordSynopsis):
    rows_per_place = 2  # the element, and the aggregate from it on

    def __init__(self, aggregate: WordAggregate) -> None:
        super().__init__(aggregate)
        self.cuts: Int64s = np.zeros((0, 6), np.int64)
        self.sides: Int64s = np.zeros((0, self.layout.width), np.int64)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.cuts.nbytes + self.sides.nbytes

    def queues(self, rings: Rings) -> Queues:
        return Queues(rings.offset, rings.size, rings.rows, self.cuts, self.sides)

    def _insert_rows(self, arrivals: Arrivals, rows: Int64s, operation: Operation, rings: Rings) -> None:
        assert arrivals.is_new.all(), "elements have a position each"
        _insert(arrivals, rows, rings.first, operation, self.queues(rings))

    def _lookup_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        _refuse_parts(rings, spans)
        return np.asarray(_lookup(spans, operation, self.queues(rings)))

    def _roll_rows(self, arrivals: Arrivals, rows: Int64s, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return np.asarray(_roll(spans, rows, operation, self.queues(rings)))

    def _element_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        return rings.rows[2 * places(spans, rings.offset, rings.size)]

    def _move_rows(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        """Departures are worked off first: what has left is not moved."""
        self.cuts = grown(self.cuts, elements.groups)
        self.sides = grown(self.sides, 2 * elements.groups)
        _depart_all(elements.first, self.operation, self.queues(self.rings(elements)))
        move_rings(moves, elements.first, elements.next, self.rows_per_place, old, new)

    def _widen(self, elements: Elements, layout: Layout) -> None:
        self.sides = widened(self.sides, self.layout, layout)
        super()._widen(elements, layout)


def _refuse_parts(rings: Rings, spans: Spans) -> None:
    """Only the whole of what is kept is known."""
    known = spans.group < len(rings.first)
    group, asked = spans.group[known], spans.end[known] > spans.begin[known]
    whole = (spans.begin[known] == rings.first[group]) & (spans.end[known] == rings.next[group])
    if not (whole | ~asked).all():
        raise WindrowError("a window is shorter than what is kept", "keep an interval synopsis for several windows")


@compiled
def _step(g: int, operation: Operation, queues: Queues) -> None:
    cut, rows, sides = queues.cuts[g], queues.rows, queues.sides
    base, mask, words = queues.offset[g], queues.size[g] - 1, queues.rows.shape[1]
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
    merge(rows, left + 1, sides, 2 * g + _MIDDLE, operation)
    cut[_L] += 1
    cut[_A] -= 1
    right = 2 * (base + (cut[_A] & mask))
    for word in range(words):
        rows[right + 1, word] = rows[right, word]
    if cut[_A] + 1 < cut[_B]:
        following = 2 * (base + ((cut[_A] + 1) & mask))
        merge(rows, right + 1, rows, following + 1, operation)


@compiled
def _depart(g: int, until: int, operation: Operation, queues: Queues) -> None:
    cuts = queues.cuts
    while cuts[g, _F] < until and cuts[g, _F] < cuts[g, _E]:
        cuts[g, _F] += 1
        _step(g, operation, queues)


@inlined
def insert_one(g: int, first: int, position: int, added: Int64s, i: int, operation: Operation, queues: Queues) -> None:
    """Row i of `added` behind all others; those before `first` have left."""
    _depart(g, first, operation, queues)
    cuts, rows = queues.cuts, queues.rows
    if cuts[g, _E] != position:  # positions of a group may begin anywhere
        cuts[g, :] = position
    row = 2 * (queues.offset[g] + (position & (queues.size[g] - 1)))
    for word in range(rows.shape[1]):
        rows[row, word] = added[i, word]
    merge(queues.sides, 2 * g + _BACK, added, i, operation)
    cuts[g, _E] += 1
    _step(g, operation, queues)


@inlined
def lookup_one(g: int, first: int, operation: Operation, queues: Queues, result: Int64s, i: int) -> None:
    """Merge the aggregate of a group's window, which begins at `first`, into row i of `result`."""
    _depart(g, first, operation, queues)
    oldest = queues.offset[g] + (queues.cuts[g, _F] & (queues.size[g] - 1))
    merge(result, i, queues.rows, 2 * oldest + 1, operation)
    merge(result, i, queues.sides, 2 * g + _BACK, operation)


@compiled
def _insert(arrivals: Arrivals, added: Int64s, first: Int64s, operation: Operation, queues: Queues) -> None:
    for i in range(len(added)):
        g = arrivals.group[i]
        insert_one(g, first[g], arrivals.position[i], added, i, operation, queues)


@compiled
def _lookup(spans: Spans, operation: Operation, queues: Queues) -> Int64s:
    result = np.zeros((len(spans.group), queues.rows.shape[1]), np.int64)
    for i in range(len(spans.group)):
        if spans.begin[i] < spans.end[i]:
            lookup_one(spans.group[i], spans.begin[i], operation, queues, result, i)
    return result


@compiled
def _roll(spans: Spans, added: Int64s, operation: Operation, queues: Queues) -> Int64s:
    result = np.zeros((len(spans.group), queues.rows.shape[1]), np.int64)
    for i in range(len(spans.group)):
        g, first = spans.group[i], spans.begin[i]
        insert_one(g, first, spans.end[i] - 1, added, i, operation, queues)
        lookup_one(g, first, operation, queues, result, i)
    return result


@compiled
def _depart_all(first: Int64s, operation: Operation, queues: Queues) -> None:
    for g in range(len(queues.offset)):
        if queues.size[g] > 0:
            _depart(g, first[g], operation, queues)
