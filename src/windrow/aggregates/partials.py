"""Partial results: what rows of a group that come and go together add up to, as a few columns.

A partial stands for its rows exactly. Where it could not (a sum that needs more bits than two doubles or one integer
have, infinities, NaN), the rows stay apart, each a partial of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from windrow.batch.arrays import Bools, Floats, Int64s
from windrow.batch.batch import Batch
from windrow.batch.column import Column, order_of
from windrow.batch.compiled import compiled
from windrow.types import BIGINT, DOUBLE, Type

_SAFE = 2**62  # sums below it in absolute value are exact in 64 bits


class Partial(Protocol):
    def types(self) -> tuple[Type, ...]: ...

    def of_rows(self, rows: Batch) -> tuple[Column, ...]:
        """Every row as a partial of its own."""
        ...

    def of_slices(self, rows: Batch, slices: Slices) -> tuple[tuple[Column, ...], Bools]:
        """One partial a slice, and for which of them it is exact."""
        ...

    def of_partials(self, first: int) -> Partial:
        """The same over partials instead of rows, whose columns begin with the `first`."""
        ...


@dataclass(frozen=True, eq=False)
class Slices:
    """Rows by slice: `id` of each row, and the first row of each slice."""

    id: Int64s
    first: Int64s

    def __len__(self) -> int:
        return len(self.first)

    def all_exact(self) -> Bools:
        return np.ones(len(self), np.bool_)

    def counts(self, valid: Bools | None) -> Int64s:
        kept = self.id if valid is None else self.id[valid]
        return np.bincount(kept, minlength=len(self)).astype(np.int64)


@dataclass(frozen=True)
class CountPartial:
    column: int | None

    def types(self) -> tuple[Type, ...]:
        return (BIGINT,)

    def of_rows(self, rows: Batch) -> tuple[Column, ...]:
        if self.column is None:
            return (Column(BIGINT, np.ones(len(rows), np.int64)),)
        return (_ones(rows.columns[self.column]),)

    def of_slices(self, rows: Batch, slices: Slices) -> tuple[tuple[Column, ...], Bools]:
        valid = None if self.column is None else rows.columns[self.column].valid
        return (Column(BIGINT, slices.counts(valid)),), slices.all_exact()

    def of_partials(self, first: int) -> Partial:
        return MergedPartials((first,), self.types())


@dataclass(frozen=True)
class IntegerPartial:
    """The sum of integers, or of decimals in their smallest unit, and the count of values."""

    column: int

    def types(self) -> tuple[Type, ...]:
        return BIGINT, BIGINT

    def of_rows(self, rows: Batch) -> tuple[Column, ...]:
        column = rows.columns[self.column]
        return Column(BIGINT, column.values.astype(np.int64)), _ones(column)

    def of_slices(self, rows: Batch, slices: Slices) -> tuple[tuple[Column, ...], Bools]:
        column = rows.columns[self.column]
        values = column.values.astype(np.int64)
        sums = _integer_sums(values, slices.id, len(slices))
        largest = float(np.abs(values.astype(np.float64)).max()) if len(values) else 0.0
        counts = slices.counts(column.valid)
        exact = slices.counts(None) * largest < _SAFE
        return (Column(BIGINT, sums), Column(BIGINT, counts)), exact

    def of_partials(self, first: int) -> Partial:
        return MergedPartials((first, first + 1), self.types())


@dataclass(frozen=True)
class FloatPartial:
    """The sum of doubles as two doubles, and the count of values."""

    column: int

    def types(self) -> tuple[Type, ...]:
        return DOUBLE, DOUBLE, BIGINT

    def of_rows(self, rows: Batch) -> tuple[Column, ...]:
        column = rows.columns[self.column]
        values = column.values.astype(np.float64)
        return Column(DOUBLE, values), Column(DOUBLE, np.zeros(len(values))), _ones(column)

    def of_slices(self, rows: Batch, slices: Slices) -> tuple[tuple[Column, ...], Bools]:
        column = rows.columns[self.column]
        values = column.values.astype(np.float64)
        high, low, exact = _float_sums(values[:, None], slices.id, len(slices))
        counts = Column(BIGINT, slices.counts(column.valid))
        return (Column(DOUBLE, high), Column(DOUBLE, low), counts), exact

    def of_partials(self, first: int) -> Partial:
        return MergedPartials((first, first + 1, first + 2), self.types())


@dataclass(frozen=True)
class ExtremumPartial:
    """The smallest or the largest value."""

    column: int
    type: Type
    largest: bool

    def types(self) -> tuple[Type, ...]:
        return (self.type,)

    def of_rows(self, rows: Batch) -> tuple[Column, ...]:
        return (rows.columns[self.column],)

    def of_slices(self, rows: Batch, slices: Slices) -> tuple[tuple[Column, ...], Bools]:
        column = rows.columns[self.column]
        order = order_of(column)
        best = _best(order if self.largest else ~order, column.valid_mask(), slices.id, slices.first)
        return (column.take(best),), slices.all_exact()

    def of_partials(self, first: int) -> Partial:
        return replace(self, column=first)


@dataclass(frozen=True)
class MergedPartials:
    """Sums of partial sums and counts: integers one by one, doubles as two that belong together."""

    columns: tuple[int, ...]
    kinds: tuple[Type, ...]

    def types(self) -> tuple[Type, ...]:
        return self.kinds

    def of_rows(self, rows: Batch) -> tuple[Column, ...]:
        return rows.select(self.columns)

    def of_slices(self, rows: Batch, slices: Slices) -> tuple[tuple[Column, ...], Bools]:
        made: list[Column] = []
        exact = slices.all_exact()
        doubles = [rows.columns[c].values for c, of in zip(self.columns, self.kinds, strict=True) if of == DOUBLE]
        if doubles:
            high, low, exact = _float_sums(np.stack(doubles, axis=1), slices.id, len(slices))
            made += [Column(DOUBLE, high), Column(DOUBLE, low)]
        for column, of in zip(self.columns, self.kinds, strict=True):
            if of == BIGINT:
                values = rows.columns[column].values
                largest = float(np.abs(values.astype(np.float64)).max()) if len(values) else 0.0
                exact &= slices.counts(None) * largest < _SAFE
                made.append(Column(BIGINT, _integer_sums(values, slices.id, len(slices))))
        return tuple(made), exact

    def of_partials(self, first: int) -> Partial:
        return replace(self, columns=tuple(range(first, first + len(self.columns))))


def _ones(column: Column) -> Column:
    return Column(BIGINT, column.valid_mask().astype(np.int64))


@compiled
def _integer_sums(values: Int64s, id: Int64s, count: int) -> Int64s:
    sums = np.zeros(count, np.int64)
    for i in range(len(values)):
        sums[id[i]] += values[i]
    return sums


@compiled
def _float_sums(values: Floats, id: Int64s, count: int) -> tuple[Floats, Floats, Bools]:
    """Sums of rows of values as high + low (Knuth's two-sum), and where nothing was lost from the low part either."""
    high, low, exact = np.zeros(count), np.zeros(count), np.ones(count, np.bool_)
    for i in range(len(values)):
        g = id[i]
        for x in values[i]:
            total = high[g] + x
            part = total - high[g]
            lost = (high[g] - (total - part)) + (x - part)
            high[g] = total
            rest = low[g] + lost
            part = rest - low[g]
            if (low[g] - (rest - part)) + (lost - part) != 0.0 or not np.isfinite(rest):
                exact[g] = False
            low[g] = rest
    return high, low, exact


@compiled
def _best(order: Int64s, valid: Bools, id: Int64s, first: Int64s) -> Int64s:
    """The row with the largest value of each slice; any row of one that has none."""
    best = first.copy()
    for i in range(len(order)):
        g = id[i]
        if valid[i] and (not valid[best[g]] or order[i] > order[best[g]]):
            best[g] = i
    return np.asarray(best)
