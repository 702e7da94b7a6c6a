"""Slices: rows of a group that begin and end together become one row of partial results.

Needs no memory: rows of a slice that come later make another partial, and the merge adds it to the first. Columns that
come out are the keys and then the columns of the partials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windrow.batch.arrays import Bools
from windrow.batch.batch import Batch, Segment, concat
from windrow.batch.column import Column
from windrow.batch.key_table import KeyTable
from windrow.batch.words import words_of
from windrow.operators.aggregates.partials import Partial, Slices
from windrow.operators.operator import Nothing

_SAMPLE = 4_096
_WORTH_IT = 0.7  # slices a row, in a sample, above which rows are left apart


@dataclass(frozen=True)
class SlicePartials:
    """`merges` is False where negative tuples have to find what they take back: every row stays apart."""

    keys: tuple[int, ...]
    partials: tuple[Partial, ...]
    merges: bool = True

    def fresh_state(self) -> Nothing:
        return Nothing()

    def step(self, state: Nothing, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        if not self.merges or not self._is_worth_it(rows):
            return self._apart(rows)
        slices = self._slices(rows)
        merged, exact = self._together(rows, slices)
        if exact.all():
            return merged
        return concat([merged.take(exact), self._apart(rows.take(~exact[slices.id]))])

    def _is_worth_it(self, rows: Batch) -> bool:
        if len(rows) < 2:
            return False
        few = rows.slice(0, _SAMPLE)
        return len(self._slices(few)) < _WORTH_IT * len(few)

    def _slices(self, rows: Batch) -> Slices:
        id = KeyTable().intern(words_of(rows.select(self.keys), len(rows), rows.ts, rows.exp))
        count = int(id.max()) + 1
        first = np.empty(count, np.int64)
        first[id[::-1]] = np.arange(len(id) - 1, -1, -1)
        return Slices(id, first)

    def _together(self, rows: Batch, slices: Slices) -> tuple[Batch, Bools]:
        columns: list[Column] = [column.take(slices.first) for column in rows.select(self.keys)]
        exact = slices.all_exact()
        for partial in self.partials:
            made, is_exact = partial.together(rows, slices)
            columns += made
            exact &= is_exact
        return rows.take(slices.first).with_columns(tuple(columns)), exact

    def _apart(self, rows: Batch) -> Batch:
        columns = [*rows.select(self.keys)]
        for partial in self.partials:
            columns += partial.apart(rows)
        return rows.with_columns(tuple(columns))
