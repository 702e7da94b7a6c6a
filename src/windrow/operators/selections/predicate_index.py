"""A predicate index: which of many predicates over the same rows each row satisfies.

Publish and subscribe systems match an event against all subscriptions at once (Fabret et al. 2001). Here it is a batch
of rows against the *bounds* of predicates: what they demand of single columns, as intervals or sets of values. Each
predicate is entered under one of its bounds (`predicate_entries`), the one that the fewest rows of a sample are within.
The other bounds are compared in the same loop. What else a predicate demands is the affair of its owner.

A predicate is in the index for as long as somebody has its `Slot`. One that comes is entered with the next batch, at
its own cost; one that goes is only marked. All are entered anew, under bounds and leaves chosen anew, when there are
twice as many as the last time, or when half of them have gone.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch
from windrow.batch.column import Column, order_of
from windrow.batch.dictionary import Dictionary
from windrow.operators.selections.predicate_entries import grouped, matched
from windrow.operators.selections.predicate_table import Bound, PredicateTable

FEWEST = 16  # predicates that are worth an index: with fewer, each is evaluated by itself (docs/benchmarks.md)
_SAMPLED = 1024  # rows that say how selective a bound is


@dataclass(frozen=True, eq=False)
class Slot:
    """A predicate's place in the index."""

    number: int


class PredicateMatches(NamedTuple):
    """The rows of a batch that satisfy predicates: of predicate `n` the places from `begins[n]` to `begins[n + 1]`."""

    rows: Batch
    begins: Int64s
    places: Int64s

    def of(self, slot: Slot) -> Int64s:
        return self.places[self.begins[slot.number] : self.begins[slot.number + 1]]

    def slots(self) -> list[int]:
        """The numbers of predicates that some row satisfies."""
        found: list[int] = np.flatnonzero(self.begins[1:] > self.begins[:-1]).tolist()
        return found


class PredicateIndex:
    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._demanded: dict[int, tuple[Bound, ...]] = {}  # by number
        self._owners: dict[int, weakref.ref[Slot]] = {}
        self._dropped: deque[int] = deque()  # whose slots are gone, which is noticed in the middle of anything
        self._waiting: dict[int, None] = {}  # to be entered with the next batch
        self._free: list[int] = []  # numbers that nothing is entered under
        self._entered = PredicateTable([], 0)
        self._matches: PredicateMatches | None = None

    def __len__(self) -> int:
        """How many predicates there are."""
        self._forget_dropped()
        return len(self._demanded)

    def add(self, demanded: Sequence[Bound]) -> Slot:
        """A predicate with at least one bound, for as long as the slot is there."""
        assert demanded
        self._forget_dropped()
        number = self._free.pop() if self._free else self._numbers
        slot, dropped = Slot(number), self._dropped
        self._demanded[number] = tuple(demanded)
        self._owners[number] = weakref.ref(slot, lambda gone: dropped.append(number))
        self._waiting[number] = None
        self._matches = None
        return slot

    def match(self, rows: Batch) -> PredicateMatches | None:
        """Which predicates each row satisfies, worked out once for a batch; None where that is not worth it."""
        known = self.known(rows)
        if known is None:
            is_worth_it = len(self) >= FEWEST and len(rows) > 0
            known = self._matches = self._matched(rows) if is_worth_it else None
        return known

    def known(self, rows: Batch) -> PredicateMatches | None:
        """What is known of these very rows."""
        return self._matches if self._matches is not None and self._matches.rows is rows else None

    @property
    def _numbers(self) -> int:
        """All numbers are below this."""
        return len(self._demanded) + len(self._free) + self._entered.gone

    def _forget_dropped(self) -> None:
        while self._dropped:
            number = self._dropped.popleft()
            del self._owners[number], self._demanded[number]
            if number in self._waiting:
                del self._waiting[number]
                self._free.append(number)
            else:
                self._entered.remove(number)

    def _matched(self, rows: Batch) -> PredicateMatches:
        waiting = (bound.ordinal for number in self._waiting for bound in self._demanded[number])
        ordinals = sorted({*self._entered.ordinals, *waiting})
        words = {ordinal: self._words(rows.columns[ordinal]) for ordinal in ordinals}
        self._enter(words)
        valid = [rows.columns[ordinal].valid_mask() for ordinal in ordinals]
        slots, found = matched(*self._entered.cells_of(list(words.values()), valid))
        begins, places = grouped(slots, found, self._numbers)
        return PredicateMatches(rows, begins, places)

    def _words(self, column: Column) -> Int64s:
        if column.is_coded:
            return column.recoded(self._dictionary).values.astype(np.int64)
        return order_of(column)

    def _enter(self, words: Mapping[int, Int64s]) -> None:
        """Enter what has come since the last batch, or everything anew."""
        if self._entered.is_full(len(self._waiting)) or list(words) != self._entered.ordinals:
            highest = self._numbers
            self._entered = PredicateTable(list(words), 2 * len(self._demanded))
            self._free = [number for number in range(highest) if number not in self._demanded]
            self._waiting = dict.fromkeys(self._demanded)
        samples = {ordinal: _sample(values) for ordinal, values in words.items()} if self._waiting else {}
        self._entered.enter({number: self._demanded[number] for number in self._waiting}, self._numbers, samples)
        self._waiting = {}


def _sample(words: Int64s) -> list[int]:
    """Some of the values, in order."""
    sampled: list[int] = np.sort(words[:: -(-len(words) // _SAMPLED)]).tolist()
    return sampled
