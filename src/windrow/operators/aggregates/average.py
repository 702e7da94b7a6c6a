"""AVG(x): the exact sum over the count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.batch.arrays import Array, Int64s
from windrow.batch.column import WIDE, Column, column, dtype_of
from windrow.operators.aggregates.aggregate import GroupEvents
from windrow.operators.aggregates.float_sum import DigitSums
from windrow.operators.aggregates.integer_sum import LimbSums, Sums
from windrow.types import DOUBLE, DecimalType


@dataclass(frozen=True)
class IntegerAverage:
    """AVG(x) of integers, as DOUBLE."""

    column: int

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,)

    def fresh(self) -> IntegerAverages:
        return IntegerAverages()


class IntegerAverages(LimbSums):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        sums = self.sums(events, values[0])
        total = sums.hi.astype(np.float64) * 2.0**64 + sums.lo.view(np.uint64).astype(np.float64)
        narrow = sums.hi == sums.lo >> 63
        total = np.where(narrow, sums.lo.astype(np.float64), total)
        return column(DOUBLE, total / np.maximum(sums.values, 1), sums.values > 0)


@dataclass(frozen=True)
class FloatAverage:
    """AVG(x) of FLOAT or DOUBLE, as DOUBLE."""

    column: int

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,)

    def fresh(self) -> FloatAverages:
        return FloatAverages()


class FloatAverages(DigitSums):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        doubles = values[0].values.astype(np.float64)
        sums, _, count = self.sums(events, doubles, values[0].valid_mask())
        return column(DOUBLE, sums / np.maximum(count, 1), count > 0)


@dataclass(frozen=True)
class DecimalAverage:
    """AVG(x) of decimals: `type` has more digits after the point than `argument`; halves are rounded away from zero."""

    column: int
    argument: DecimalType
    type: DecimalType

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,)

    def fresh(self) -> DecimalAverages:
        return DecimalAverages(10 ** (self.type.scale - self.argument.scale), self.type)


class DecimalAverages(LimbSums):
    def __init__(self, factor: int, type: DecimalType) -> None:
        super().__init__()
        self._factor = factor
        self._type = type

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        sums = self.sums(events, values[0])
        return column(self._type, self._quotients(sums), sums.values > 0)

    def _quotients(self, sums: Sums) -> Array:
        narrow = dtype_of(self._type) != WIDE
        if narrow and bool((np.abs(sums.lo) < 2**61 // self._factor).all()):
            return _rounded(sums.lo * self._factor, np.maximum(sums.values, 1))
        # Beyond 64 bits Python's integers are exact; sums this large are rare.
        exact = [_exact_quotient(h, low, n, self._factor) for h, low, n in zip(*sums, strict=True)]
        if narrow:
            return np.array(exact, np.int64)
        wide = np.zeros(len(exact), WIDE)
        wide["hi"] = [value >> 64 for value in exact]
        wide["lo"] = [value & 0xFFFFFFFFFFFFFFFF for value in exact]
        return wide


def _rounded(total: Int64s, count: Int64s) -> Int64s:
    half_up = (2 * np.abs(total) + count) // (2 * count)
    return np.where(total < 0, -half_up, half_up)


def _exact_quotient(hi: int, lo: int, count: int, factor: int) -> int:
    total = ((int(hi) << 64) + (int(lo) & 0xFFFFFFFFFFFFFFFF)) * factor
    divisor = max(int(count), 1)
    half_up = (2 * abs(total) + divisor) // (2 * divisor)
    return -half_up if total < 0 else half_up
