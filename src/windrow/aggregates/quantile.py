"""QUANTILE(x, φ): the element at position max(1, ⌈φN⌉) of the values in order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from windrow.aggregates.aggregate import Counted
from windrow.aggregates.ordered import InOrder
from windrow.batch.column import Column
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.in_order import column_like


@dataclass(frozen=True)
class Quantile(Counted):
    """MIN is φ = 0, MAX is φ = 1."""

    column: int
    fraction: Fraction
    count: int | None = None  # of counters: the column that says how many rows a value stands for

    def fresh(self) -> OrderStatistic:
        return OrderStatistic((self.fraction.numerator, self.fraction.denominator))


class OrderStatistic(InOrder):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        found, sizes = self._ask(events, values)
        return column_like(values[0], [found[:, 0, 0], found[:, 0, 1]], sizes > 0)
