"""Every answer at all times, *materialize all* (Arasu and Widom, 1.2): the other end of what can be traded.

A row for each declared window of each group, changed by every element that comes: a lookup is one read, an update
touches all windows. For suffix windows of so many elements. A sum takes the element that leaves away again; an extreme
is looked for anew when it leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.batch.arrays import Int64s, grown
from windrow.batch.column import Column
from windrow.batch.compiled import compiled
from windrow.synopses.positions.basic_interval import BasicInterval
from windrow.synopses.positions.elements import Arrivals, Elements, Rings
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.words import ADD, Operation, Words, merge, subtract, widened


class Materialized:
    """Windows over the last so many elements of each group."""

    def __init__(self, aggregate: WordAggregate, widths: Sequence[int]) -> None:
        self.widths: Int64s = np.array(widths, np.int64)
        self.elements, self.values = Elements(), BasicInterval(aggregate)
        self.answers: Int64s = np.zeros((0, aggregate.empty.width), np.int64)  # window by window of each group
        self._number = 0

    @property
    def nbytes(self) -> int:
        return self.elements.nbytes + self.values.nbytes + self.answers.nbytes

    def insert(self, group: Int64s, time: Int64s, values: tuple[Column, ...]) -> None:
        moves = self.elements.reserve(group)
        self.values.move(self.elements, moves)
        self.elements.move(moves)
        before = self.values.layout
        arrivals = self.elements.insert(group, time)
        self.values.insert(self.elements, arrivals, values)
        self.answers = grown(widened(self.answers, before, self.values.layout), self.elements.groups * len(self.widths))
        _update(arrivals, self.widths, self.values.operation, self.values.rings(self.elements), self.answers)
        self.elements.keep_newest(int(self.widths.max()) + 1)

    def lookup(self, group: Int64s, window: Int64s) -> Column:
        """The current answers of windows, by their places among the widths."""
        rows = np.zeros((len(group), self.values.layout.width), np.int64)
        known = group < self.elements.groups
        rows[known] = self.answers[group[known] * len(self.widths) + window[known]]
        return self.values.aggregate.finish(Words(self.values.layout, rows))


@compiled
def update_one(g: int, p: int, widths: Int64s, operation: Operation, rings: Rings, answers: Int64s) -> None:
    """The element at position p, which is in its ring, comes into every window; another leaves most of them."""
    base, mask, rows = rings.offset[g], rings.size[g] - 1, rings.rows
    for window in range(len(widths)):
        answer, oldest = g * len(widths) + window, p - widths[window]
        if widths[window] == 0:
            continue
        if operation.kind == ADD:
            merge(answers, answer, rows, base + (p & mask), operation)
            if oldest >= 0:
                subtract(answers, answer, rows, base + (oldest & mask), operation.plain)
            continue
        leaves = oldest >= 0 and _is_same(answers, answer, rows, base + (oldest & mask))
        if leaves:
            for word in range(answers.shape[1]):
                answers[answer, word] = 0
            for q in range(oldest + 1, p):
                merge(answers, answer, rows, base + (q & mask), operation)
        elif oldest >= 0:
            answers[answer, 0] -= rows[base + (oldest & mask), 0]
        merge(answers, answer, rows, base + (p & mask), operation)


@compiled
def _is_same(answers: Int64s, answer: int, rows: Int64s, row: int) -> bool:
    same = True
    for word in range(1, answers.shape[1]):
        same &= answers[answer, word] == rows[row, word]
    return same


@compiled
def _update(arrivals: Arrivals, widths: Int64s, operation: Operation, rings: Rings, answers: Int64s) -> None:
    for i in range(len(arrivals.group)):
        update_one(arrivals.group[i], arrivals.position[i], widths, operation, rings, answers)
