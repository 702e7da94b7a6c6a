"""PERCENTILE(x, φ): the value at position φ(N − 1) of the values in order, between two of them by the distance."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from windrow.aggregates.aggregate import Counted
from windrow.aggregates.median import doubles
from windrow.aggregates.ordered import InOrder
from windrow.batch.column import Column, column
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.in_order import column_like
from windrow.types import DOUBLE


@dataclass(frozen=True)
class Percentile(Counted):
    column: int
    fraction: Fraction
    count: int | None = None  # of counters: the column that says how many rows a value stands for

    def fresh(self) -> BetweenTwo:
        return BetweenTwo(self.fraction)


class BetweenTwo(InOrder):
    def __init__(self, fraction: Fraction) -> None:
        super().__init__((fraction.numerator, -fraction.denominator))
        self._fraction = fraction

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument = values[0]
        found, sizes = self._ask(events, values)
        lower, upper = (doubles(column_like(argument, list(found[:, i, :2].T), sizes > 0)) for i in (0, 1))
        of, whole = self._fraction.numerator * np.maximum(sizes - 1, 0), self._fraction.denominator
        weight = (of % whole) / whole
        with np.errstate(over="ignore", invalid="ignore"):
            between = np.where(lower == upper, lower, lower * (1 - weight) + upper * weight)
            between = np.where(weight == 0, lower, between)
        return column(DOUBLE, between, sizes > 0)
