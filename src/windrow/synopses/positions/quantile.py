"""The quantile synopsis, B-INT-QNT: any fraction over any window, exactly (Arasu and Widom, 3.3).

The dyadic intervals of an interval synopsis, each with its elements in order: level n of a ring is an array as long as
the ring, in which every complete interval of 2^n positions is sorted. An interval is merged from its halves when it is
complete, so that an element is moved once a level: an update costs the logarithm of what is kept, as does the memory.

A lookup looks for the element of a rank in the sorted runs of its window. It holds a range of candidates in every run,
takes an element of the longest range as a guess, counts how many candidates are not larger, and drops those that cannot
be the one. The guess lies where it would be if all runs were alike, so that a few rounds do; every fourth is the
middle, so that it cannot take many.

Elements are numbers, dates and times of up to 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Array, Bools, Int64s, grown
from windrow.batch.column import WIDE, Column, column, dtype_of, from_order, order_of
from windrow.batch.compiled import compiled
from windrow.errors import WindrowError
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans, levelled, places
from windrow.synopses.positions.interval import base_intervals
from windrow.synopses.positions.synopsis import Synopsis
from windrow.types import BINARY, DOUBLE, STRING, DecimalType, Type, is_nested

_RUNS = 130  # a span has at most two a level
_NULL = 2**63 - 1  # in the place of a null: behind everything, and never reached


class Runs(NamedTuple):
    """Where the runs of groups are, for a compiled loop: level by level of each ring, and nulls as they are counted."""

    start: Int64s
    offset: Int64s
    size: Int64s
    rows: Int64s
    nulls: Int64s


class Room(NamedTuple):
    """To work in: of each run of a window its level and number, the range of its candidates, and where that is cut."""

    levels: Int64s
    indexes: Int64s
    low: Int64s
    high: Int64s
    cut: Int64s


class QuantileSynopsis(Synopsis):
    """`fraction` is the quantile that `lookup` gives; `quantiles` gives any."""

    def __init__(self, type: Type, fraction: Fraction = Fraction(1, 2)) -> None:
        if dtype_of(type) == WIDE or is_nested(type) or type in (STRING, BINARY):
            raise WindrowError(f"quantiles of {type} are not kept in order", "numbers of up to 18 digits and times are")
        self._type, self._fraction = type, fraction
        self.runs: Int64s = np.zeros(0, np.int64)  # level by level of each ring
        self.nulls: Int64s = np.zeros(0, np.int64)  # before each position, as in a running synopsis
        self.start: Int64s = np.zeros(0, np.int64)  # of a group's runs
        self._used = 0

    @property
    def nbytes(self) -> int:
        return self.runs.nbytes + self.nulls.nbytes + self.start.nbytes

    def insert(self, elements: Elements, arrivals: Arrivals, values: tuple[Column, ...]) -> None:
        valid = values[0].valid_mask()
        self._insert(elements, arrivals, np.where(valid, order_of(values[0]), _NULL), valid)

    def lookup(self, elements: Elements, spans: Spans) -> Column:
        return self.quantiles(elements, spans, [self._fraction] * len(spans.group))

    def quantiles(self, elements: Elements, spans: Spans, fractions: list[Fraction]) -> Column:
        """The element at position max(1, ⌈φ N⌉) of each sorted window of N values; null where there are none."""
        counts = self.counts(elements, spans)
        ranks = [max(1, -(-f.numerator * n // f.denominator)) for f, n in zip(fractions, counts.tolist(), strict=True)]
        return self._column(self.ranked(elements, spans, np.array(ranks, np.int64)), counts > 0)

    def medians(self, elements: Elements, spans: Spans) -> Column:
        """The middle element, or the mean of the two in the middle, as DOUBLE."""
        counts = self.counts(elements, spans)
        middle = [self.ranked(elements, spans, np.maximum((counts + more) // 2, 1)) for more in (1, 2)]
        low, high = (self._column(result, counts > 0).values.astype(np.float64) for result in middle)
        scale = 10.0**self._type.scale if isinstance(self._type, DecimalType) else 1.0
        with np.errstate(invalid="ignore"):
            mean = np.where(low == high, low, low / 2 + high / 2)
        return column(DOUBLE, mean / scale, counts > 0)

    def counts(self, elements: Elements, spans: Spans) -> Int64s:
        """How many values windows have that are not null."""
        return np.asarray(_counts(spans, self.where(elements)))

    def ranked(self, elements: Elements, spans: Spans, ranks: Int64s) -> Int64s:
        """The value, as an integer in order, of each rank (from 1 on); 0 for an empty window."""
        return np.asarray(_ranked(spans, ranks, self.where(elements)))

    def where(self, elements: Elements) -> Runs:
        return Runs(self.start, elements.offset, elements.size, self.runs, self.nulls)

    def move(self, elements: Elements, moves: RingMoves) -> None:
        self.start = grown(self.start, elements.groups)
        start, used = levelled(moves, self._used)
        runs = np.zeros(used, np.int64) if moves.packed else grown(self.runs, used)
        nulls = np.zeros(moves.places, np.int64) if moves.packed else grown(self.nulls, moves.places)
        old = Runs(self.start[moves.group], moves.old_offset, moves.old_size, self.runs, self.nulls)
        new = Runs(start, moves.new_offset, moves.new_size, runs, nulls)
        _move(elements.first[moves.group], elements.next[moves.group], old, new)
        self.start[moves.group] = start
        self.runs, self.nulls, self._used = runs, nulls, used

    def written(self, elements: Elements, spans: Spans) -> Mapping[str, Array]:
        after = Spans(spans.group, spans.begin + 1, spans.end + 1)
        nulls = [self.nulls[places(one, elements.offset, elements.size)] for one in (spans, after)]
        return {"keys": self.runs[places(spans, self.start, elements.size)], "valid": nulls[0] == nulls[1]}

    def read(self, elements: Elements, arrivals: Arrivals, arrays: Mapping[str, Array]) -> None:
        self._insert(elements, arrivals, arrays["keys"], arrays["valid"])

    def _insert(self, elements: Elements, arrivals: Arrivals, keys: Int64s, valid: Bools) -> None:
        assert arrivals.is_new.all(), "elements of a quantile synopsis have a position each"
        _insert(arrivals, keys, valid, self.where(elements))

    def _column(self, keys: Int64s, present: Bools) -> Column:
        return from_order(self._type, [keys], present)


class MedianSynopsis(QuantileSynopsis):
    """The middle of any window: `lookup` gives what SQL's MEDIAN does."""

    def lookup(self, elements: Elements, spans: Spans) -> Column:
        return self.medians(elements, spans)


@compiled
def insert_one(g: int, p: int, key: int, is_valid: bool, runs: Runs) -> None:
    """An element at position p: all intervals that end with it are merged from their halves."""
    start, offset, size, rows = runs.start[g], runs.offset[g], runs.size[g], runs.rows
    mask = size - 1
    runs.nulls[offset + ((p + 1) & mask)] = runs.nulls[offset + (p & mask)] + (0 if is_valid else 1)
    rows[start + (p & mask)] = key
    level, half = 1, 1
    while 2 * half <= size and (p + 1) & (2 * half - 1) == 0:
        below, here = start + (level - 1) * size, start + level * size
        left = below + ((p + 1 - 2 * half) & mask)
        right, out = left + half, here + ((p + 1 - 2 * half) & mask)
        left_end, right_end = left + half, right + half
        while left < left_end and right < right_end:
            if rows[left] <= rows[right]:
                rows[out] = rows[left]
                left += 1
            else:
                rows[out] = rows[right]
                right += 1
            out += 1
        while left < left_end:
            rows[out] = rows[left]
            left += 1
            out += 1
        while right < right_end:
            rows[out] = rows[right]
            right += 1
            out += 1
        level, half = level + 1, 2 * half


@compiled
def _insert(arrivals: Arrivals, keys: Int64s, valid: Bools, runs: Runs) -> None:
    for i in range(len(keys)):
        insert_one(arrivals.group[i], arrivals.position[i], keys[i], valid[i], runs)


@compiled
def _counts(spans: Spans, runs: Runs) -> Int64s:
    group, begin, end = spans
    result = np.zeros(len(group), np.int64)
    for i in range(len(group)):
        if begin[i] < end[i]:
            base, mask = runs.offset[group[i]], runs.size[group[i]] - 1
            nulls = runs.nulls[base + (end[i] & mask)] - runs.nulls[base + (begin[i] & mask)]
            result[i] = end[i] - begin[i] - nulls
    return result


@compiled
def _not_larger(rows: Int64s, low: int, high: int, value: int) -> int:
    """The end of the elements of a sorted run that are not larger than a value."""
    while low < high:
        middle = (low + high) >> 1
        if rows[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def empty_room() -> Room:
    each = np.empty((5, _RUNS), np.int64)
    return Room(each[0], each[1], each[2], each[3], each[4])


@compiled
def rank_one(g: int, begin: int, end: int, rank: int, runs: Runs, room: Room) -> int:
    """The element of a rank over one span."""
    levels, indexes, low, high, cut = room
    start, size, rows = runs.start[g], runs.size[g], runs.rows
    count = base_intervals(begin, end, levels, indexes)
    for r in range(count):
        low[r] = start + levels[r] * size + ((indexes[r] << levels[r]) & (size - 1))
        high[r] = low[r] + (1 << levels[r])
    left, candidates, rounds = rank, end - begin, 0  # the rank among the candidates
    while True:
        longest = 0
        for r in range(1, count):
            if high[r] - low[r] > high[longest] - low[longest]:
                longest = r
        length = high[longest] - low[longest]
        if rounds & 3 == 3:
            guess = low[longest] + length // 2
        else:
            guess = low[longest] + min(length - 1, (2 * left - 1) * length // (2 * candidates))
        value = rows[guess]
        not_larger = 0
        for r in range(count):
            cut[r] = _not_larger(rows, low[r], high[r], value)
            not_larger += cut[r] - low[r]
        if not_larger < left:
            for r in range(count):
                low[r] = cut[r]
            left -= not_larger
            candidates -= not_larger
        else:
            smaller = 0
            for r in range(count):
                cut[r] = _not_larger(rows, low[r], cut[r], value - 1) if value > -(2**63) else low[r]
                smaller += cut[r] - low[r]
            if smaller < left:
                return int(value)
            for r in range(count):
                high[r] = cut[r]
            candidates = smaller
        rounds += 1


@compiled
def _ranked(spans: Spans, rank: Int64s, runs: Runs) -> Int64s:
    result, room = np.zeros(len(rank), np.int64), empty_room()
    for i in range(len(rank)):
        if spans.begin[i] < spans.end[i]:
            result[i] = rank_one(spans.group[i], spans.begin[i], spans.end[i], rank[i], runs, room)
    return result


@compiled
def _move(first: Int64s, next: Int64s, old: Runs, new: Runs) -> None:
    """The positions [first, next) of the groups that move; `old` and `new` are by their places among these."""
    for i in range(len(first)):
        if old.size[i] == 0 or new.size[i] == 0:
            continue
        old_mask, new_mask = old.size[i] - 1, new.size[i] - 1
        level = 0
        while (1 << level) <= min(old.size[i], new.size[i]):
            target, source = new.start[i] + level * new.size[i], old.start[i] + level * old.size[i]
            for p in range(first[i], next[i]):
                new.rows[target + (p & new_mask)] = old.rows[source + (p & old_mask)]
            level += 1
        for p in range(first[i], next[i] + 1):
            new.nulls[new.offset[i] + (p & new_mask)] = old.nulls[old.offset[i] + (p & old_mask)]
