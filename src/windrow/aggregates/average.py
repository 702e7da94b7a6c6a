"""AVG(x): the exact sum over the count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.aggregates.aggregate import Counted
from windrow.batch.column import Column, column
from windrow.numbers.averages import decimal_averages, integer_averages
from windrow.numbers.digit_sums import DigitSums
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.limb_sums import LimbSums
from windrow.types import DOUBLE, DecimalType


@dataclass(frozen=True)
class IntegerAverage(Counted):
    """AVG(x) of integers, as DOUBLE."""

    column: int
    count: int | None = None  # of partial sums: the column with the count of values

    def fresh(self) -> IntegerAverages:
        return IntegerAverages()


class IntegerAverages(LimbSums):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        return integer_averages(self.sums(events, values))


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
class DecimalAverage(Counted):
    """AVG(x) of decimals: `type` has more digits after the point than `argument`; halves are rounded away from zero."""

    column: int
    argument: DecimalType
    type: DecimalType
    count: int | None = None  # of partial sums: the column with the count of values

    def fresh(self) -> DecimalAverages:
        return DecimalAverages(self.type.scale - self.argument.scale, self.type)


class DecimalAverages(LimbSums):
    def __init__(self, digits: int, type: DecimalType) -> None:
        super().__init__()
        self._digits = digits
        self._type = type

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        return decimal_averages(self.sums(events, values), self._digits, self._type)
