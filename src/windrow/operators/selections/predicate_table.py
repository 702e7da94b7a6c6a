"""Predicates as they are entered in the cells of an index, each under one of its bounds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Bools, Int64s, UInt64s, grown
from windrow.batch.key_table import KeyTable
from windrow.operators.selections.predicate_entries import LEAVES, NONE, Bounds, Entries, Rows, chain, covering

_FEW = 1024  # predicates that may be entered before they are looked at again
_IMPOSSIBLE = 0  # the bound of predicates that have gone: no value is both at least 1 and at most 0
_LARGEST = np.iinfo(np.int64).max


class Bound(NamedTuple):
    """What a predicate demands of a column, in words: codes of strings, else integers in the order of the values.

    Words are the smallest and the largest one; with `is_set` all that are allowed.
    """

    ordinal: int
    words: tuple[int, ...]
    is_set: bool


class _Chains:
    """Entries of cells; cells get more and entries are only added."""

    def __init__(self, cells: int) -> None:
        self._heads: Int64s = np.full(cells, NONE, np.int64)
        self._slot: Int64s = np.zeros(0, np.int64)
        self._next: Int64s = np.zeros(0, np.int64)
        self._used = 0

    @property
    def entries(self) -> Entries:
        return Entries(self._heads, self._slot, self._next)

    def add(self, cells: Int64s, slots: Int64s, all_cells: int) -> None:
        if all_cells > len(self._heads):
            more = np.full(max(all_cells, 2 * len(self._heads)) - len(self._heads), NONE, np.int64)
            self._heads = np.concatenate([self._heads, more])
        self._slot, self._next = (grown(array, self._used + len(cells)) for array in (self._slot, self._next))
        chain(cells, slots, self._used, self.entries)
        self._used += len(cells)


class _Placed(NamedTuple):
    """Predicates to be entered: under a value of a column, or under an interval of one."""

    values: list[tuple[int, int, int]]  # column, word, number
    intervals: list[tuple[int, int, int, int]]  # column, smallest, largest, number


class PredicateTable:
    """Predicates by number over some columns, with room for some more."""

    def __init__(self, ordinals: list[int], room: int) -> None:
        self.ordinals = ordinals
        self.gone = 0
        self._room, self._entered = max(_FEW, room) if ordinals else 0, 0
        self._places = {ordinal: place for place, ordinal in enumerate(ordinals)}
        self._bounds = Bounds(*(np.zeros(1, bool if name == "is_set" else np.int64) for name in Bounds._fields))
        self._bounds = self._bounds._replace(words=np.array([1, 0]), end=np.array([2]))
        self._used, self._used_words = 1, 2
        self._cells = KeyTable()  # of values: of a column and a word
        self._equals, self._trees = _Chains(0), _Chains(2 * LEAVES * len(ordinals))
        self._cuts: dict[int, Int64s] = {}  # by column, where a leaf ends and the next one begins
        self._valued: set[int] = set()  # columns that predicates are entered under values of

    def is_full(self, more: int) -> bool:
        return self._entered + more > self._room

    def remove(self, number: int) -> None:
        self.gone += 1
        self._bounds.first[number], self._bounds.last[number] = _IMPOSSIBLE, _IMPOSSIBLE + 1

    def enter(self, demanded: Mapping[int, Sequence[Bound]], numbers: int, samples: Mapping[int, list[int]]) -> None:
        """Under the bound that the fewest rows of a sample are within; all numbers are below `numbers`."""
        if not demanded:
            return
        self._entered += len(demanded)
        self._keep_bounds(demanded, numbers)
        listed = _Placed([], [])
        for number, bounds in demanded.items():
            bound = min(bounds, key=lambda one: (_within(one, samples[one.ordinal]), not one.is_set))
            place = self._places[bound.ordinal]
            if bound.is_set:
                listed.values.extend((place, word, number) for word in bound.words)
            else:
                listed.intervals.append((place, bound.words[0], bound.words[1], number))
        self._enter_values(np.array(listed.values, np.int64).reshape(-1, 3))
        self._enter_intervals(np.array(listed.intervals, np.int64).reshape(-1, 4))

    def cells_of(self, words: Sequence[Int64s], valid: Sequence[Bools]) -> tuple[Rows, Entries, Entries, Bounds]:
        """Rows, of which the columns are given in the order of the ordinals, and all that they are compared with."""
        shape = len(words), len(words[0])
        equal, leaf = np.full(shape, NONE, np.int64), np.full(shape, NONE, np.int64)
        for place, values in enumerate(words):
            if place in self._valued:
                equal[place] = self._cells.find(_keys(np.full(shape[1], place), values))
            if place in self._cuts:
                leaf[place] = np.searchsorted(self._cuts[place], values, side="right")
        rows = Rows(np.stack(words), np.stack(valid), equal, leaf)
        return rows, self._equals.entries, self._trees.entries, self._bounds

    def _keep_bounds(self, demanded: Mapping[int, Sequence[Bound]], numbers: int) -> None:
        new = [bound for bounds in demanded.values() for bound in bounds]
        ends = self._used_words + np.cumsum([len(bound.words) for bound in new])
        last = self._used + np.cumsum([len(bounds) for bounds in demanded.values()])
        at, by_number = slice(self._used, self._used + len(new)), np.fromiter(demanded, np.int64, len(demanded))
        lengths = {"first": numbers, "last": numbers, "words": int(ends[-1])}
        kept = Bounds(*(grown(array, lengths.get(name, at.stop)) for name, array in self._bounds._asdict().items()))
        kept.column[at] = [self._places[bound.ordinal] for bound in new]
        kept.is_set[at] = [bound.is_set for bound in new]
        kept.begin[at], kept.end[at] = [self._used_words, *ends[:-1]], ends
        kept.words[self._used_words : ends[-1]] = [word for bound in new for word in bound.words]
        kept.first[by_number], kept.last[by_number] = [self._used, *last[:-1]], last
        self._bounds, self._used, self._used_words = kept, at.stop, int(ends[-1])

    def _enter_values(self, listed: Int64s) -> None:
        places, words, numbers = listed.T
        self._valued |= set(places.tolist())
        cells = self._cells.intern(_keys(places, words))
        self._equals.add(cells, np.ascontiguousarray(numbers), self._cells.capacity)

    def _enter_intervals(self, listed: Int64s) -> None:
        for place in np.unique(listed[:, 0]).tolist():
            _, low, high, numbers = listed[listed[:, 0] == place].T
            if place not in self._cuts:
                self._cuts[place] = _cuts(low, high)
            leaves = (np.searchsorted(self._cuts[place], ends, side="right") for ends in (low, high))
            nodes, of = covering(*leaves)
            self._trees.add(2 * LEAVES * place + nodes, numbers[of], 0)


def _keys(places: Int64s, words: Int64s) -> UInt64s:
    return np.stack([places, words], axis=1).astype(np.int64).view(np.uint64)


def _within(bound: Bound, sample: list[int]) -> int:
    """How many of a sample a bound allows."""
    if bound.is_set:
        return sum(bisect_right(sample, word) - bisect_left(sample, word) for word in bound.words)
    return max(0, bisect_right(sample, bound.words[1]) - bisect_left(sample, bound.words[0]))


def _cuts(low: Int64s, high: Int64s) -> Int64s:
    """Where intervals begin and where they are over, thinned out evenly to what a tree has leaves for."""
    edges = np.unique(np.concatenate([low, high[high < _LARGEST] + 1]))
    step = -(-len(edges) // (LEAVES - 1))
    return edges[::step]
