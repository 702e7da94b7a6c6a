"""Slices: rows of a group that begin and end together become one row of partial results, and a counter a value.

Needs no memory: rows of a slice that come later make another partial, and the merge adds it to the first. Columns that
come out are the keys, the columns of the partials, for each counted column a value and how many rows have it, and for
each column that is summarised later the same with a place for what the summary adds. A row has values in one of these
parts and nulls in the others; rows that are left apart have them in the partials and all counters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from windrow.aggregates.partials import Partial, Slices
from windrow.batch.arrays import Bools, Int64s
from windrow.batch.batch import Batch, Segment, concat
from windrow.batch.column import Column, nulls
from windrow.batch.key_table import KeyTable
from windrow.batch.words import words_of
from windrow.operators.operator import Remembers
from windrow.state.snapshot import NoState
from windrow.types import BIGINT

_SAMPLE = 4_096
_WORTH_IT = 0.7  # rows that come out for each that comes in, in a sample, above which rows are left apart


@dataclass(frozen=True)
class SlicePartials:
    """`merges` is False where negative tuples have to find what they take back: every row stays apart.

    What is summarised is always counted.
    """

    keys: tuple[int, ...]
    partials: tuple[Partial, ...]
    merges: bool = True
    counted: tuple[int, ...] = ()
    summarised: tuple[int, ...] = ()
    width: int | None = None  # of slices of time, for rows that have not been given their lifetimes yet

    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> NoState:
        return NoState()

    def step(self, state: NoState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        parts = list(self._parts(rows)) if self._merges(rows) else [self._row_by_row(rows)]
        return concat([*parts, *self._counters(rows, self.summarised)]).sorted_by_time()

    def _parts(self, rows: Batch) -> Iterator[Batch]:
        slices = self._slices(rows)
        merged, exact = self._merged(rows, slices)
        if exact.all():
            yield merged
        else:
            yield merged.take(exact)
            yield self._row_by_row(rows.take(~exact[slices.id]), with_counters=False)
        yield from self._counters(rows, self.counted)

    def _merges(self, rows: Batch) -> bool:
        """Whether it is worth it; beside summaries always, they are there to keep little."""
        if not self.merges or not len(rows) or self.summarised:
            return self.merges and len(rows) > 0
        if len(rows) < 2:
            return False
        few = rows.slice(0, _SAMPLE)
        made = len(self._slices(few)) + sum(len(self._slices(few, column)) for column in self.counted)
        return made < _WORTH_IT * len(few)

    def _slices(self, rows: Batch, *values: int) -> Slices:
        times = (rows.ts, rows.exp) if self.width is None else (rows.ts // self.width,)
        id = KeyTable().intern(words_of(rows.select((*self.keys, *values)), len(rows), *times))
        count = int(id.max()) + 1
        first = np.empty(count, np.int64)
        first[id[::-1]] = np.arange(len(id) - 1, -1, -1)
        return Slices(id, first)

    def _merged(self, rows: Batch, slices: Slices) -> tuple[Batch, Bools]:
        columns: list[Column] = [column.take(slices.first) for column in rows.select(self.keys)]
        exact = slices.all_exact()
        for partial in self.partials:
            made, is_exact = partial.of_slices(rows, slices)
            columns += made
            exact &= is_exact
        columns += self._no_counters(rows, len(slices))
        return rows.take(slices.first).with_columns(tuple(columns)), exact

    def _row_by_row(self, rows: Batch, with_counters: bool = True) -> Batch:
        columns = [*rows.select(self.keys)]
        for partial in self.partials:
            columns += partial.of_rows(rows)
        counters = self._no_counters(rows, len(rows))
        if with_counters:
            for place, column in enumerate(rows.select(self.counted)):
                once = Column(BIGINT, column.valid_mask().astype(np.int64))
                counters[2 * place : 2 * place + 2] = column, once
        return rows.with_columns((*columns, *counters))

    def _counters(self, rows: Batch, columns: Sequence[int]) -> Iterator[Batch]:
        """A row for each different value of a slice."""
        for column in columns:
            valid = rows.columns[column].valid
            known = rows if valid is None else rows.take(valid)
            if not len(known):
                continue
            slices = self._slices(known, column)
            yield self._counter(known.take(slices.first), column, slices.counts(None))

    def _counter(self, firsts: Batch, column: int, counts: Int64s) -> Batch:
        partials = [nulls(type, len(firsts)) for partial in self.partials for type in partial.types()]
        counters = self._no_counters(firsts, len(firsts))
        summarised = column in self.summarised
        place = self._first_summary(column) if summarised else 2 * self.counted.index(column)
        counters[place : place + 2] = firsts.columns[column], Column(BIGINT, counts)
        return firsts.with_columns((*firsts.select(self.keys), *partials, *counters))

    def _first_summary(self, column: int) -> int:
        return 2 * len(self.counted) + 3 * self.summarised.index(column)

    def _no_counters(self, rows: Batch, length: int) -> list[Column]:
        made: list[Column] = []
        for column in rows.select(self.counted):
            made += [nulls(column.type, length, column.dictionary), nulls(BIGINT, length)]
        for column in rows.select(self.summarised):
            made += [nulls(column.type, length, column.dictionary), nulls(BIGINT, length), nulls(BIGINT, length)]
        return made
