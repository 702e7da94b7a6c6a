"""AVG(x): the exact sum over the count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.aggregates.aggregate import GroupEvents
from windrow.aggregates.float_sum import DigitSums
from windrow.aggregates.integer_sum import LimbSums, Sums
from windrow.batch.arrays import Array, Bools, Int64s
from windrow.batch.column import WIDE, Column, column, dtype_of
from windrow.batch.wide import as_doubles, averaged, totals
from windrow.types import DOUBLE, DecimalType


@dataclass(frozen=True)
class IntegerAverage:
    """AVG(x) of integers, as DOUBLE."""

    column: int
    count: int | None = None  # of partial sums: the column with the count of values

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,) if self.count is None else (self.column, self.count)

    def fresh(self) -> IntegerAverages:
        return IntegerAverages()


class IntegerAverages(LimbSums):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        return integer_averages(self.sums(events, values))


def integer_averages(sums: Sums) -> Column:
    narrow, fits = sums.narrow
    total = narrow.astype(np.float64)
    if not fits.all():
        total = np.where(fits, total, as_doubles(totals(sums.limbs, 2**127)[0]))
    return column(DOUBLE, total / np.maximum(sums.values, 1), sums.values > 0)


@dataclass(frozen=True)
class FloatAverage:
    """AVG(x) of FLOAT or DOUBLE, as DOUBLE."""

    column: int
    rest: tuple[int, ...] = ()  # of partial sums: the columns with their low parts and the counts of values

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column, *self.rest)

    def fresh(self) -> FloatAverages:
        return FloatAverages()


class FloatAverages(DigitSums):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        sums, count = self.total(events, values)
        return column(DOUBLE, sums / np.maximum(count, 1), count > 0)


@dataclass(frozen=True)
class DecimalAverage:
    """AVG(x) of decimals: `type` has more digits after the point than `argument`; halves are rounded away from zero."""

    column: int
    argument: DecimalType
    type: DecimalType
    count: int | None = None  # of partial sums: the column with the count of values

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,) if self.count is None else (self.column, self.count)

    def fresh(self) -> DecimalAverages:
        return DecimalAverages(self.type.scale - self.argument.scale, self.type)


class DecimalAverages(LimbSums):
    def __init__(self, digits: int, type: DecimalType) -> None:
        super().__init__()
        self._digits = digits
        self._type = type

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        return decimal_averages(self.sums(events, values), self._digits, self._type)


def decimal_averages(sums: Sums, digits: int, type: DecimalType) -> Column:
    """Averages with so many digits more after the point than the sums have."""
    quotients, fits = _quotients(sums, digits, type)
    return column(type, quotients, (sums.values > 0) & fits)


def _quotients(sums: Sums, digits: int, type: DecimalType) -> tuple[Array, Bools]:
    counts = np.maximum(sums.values, 1)
    total, fits = sums.narrow
    is_narrow = dtype_of(type) != WIDE
    if is_narrow and bool((fits & (np.abs(total) < 2**61 // 10**digits)).all()):
        return _rounded(total * 10**digits, counts), fits
    exact, fits = averaged(sums.limbs, counts, digits, 10**type.precision)
    return (exact["lo"].view(np.int64) if is_narrow else exact), fits


def _rounded(total: Int64s, count: Int64s) -> Int64s:
    half_up = (2 * np.abs(total) + count) // (2 * count)
    return np.where(total < 0, -half_up, half_up)
