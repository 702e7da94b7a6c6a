"""Aggregates that need values in order: MIN, MAX, MEDIAN, QUANTILE, FIRST, LAST.

All questions about the same column are answered from one set of trees. FIRST and LAST order values by a time column and
then by the values themselves, so that they depend on the bag of rows only.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from windrow.aggregates.aggregate import GroupEvents, changes_of
from windrow.aggregates.extremum import QueuedExtremes
from windrow.batch.arrays import Floats, Int64s
from windrow.batch.column import WIDE, Column, column, order_of
from windrow.batch.wide import as_doubles
from windrow.numbers.in_order import NO_RANKS, column_like, in_order, ranks_of
from windrow.numbers.ordered_values import MEDIAN, OrderedValues
from windrow.state.snapshot import Piece, Snapshot
from windrow.types import DOUBLE, DecimalType


@dataclass(frozen=True)
class Quantile:
    """QUANTILE(x, φ): the element at position max(1, ⌈φN⌉) of the values in order; MIN is φ = 0, MAX is φ = 1."""

    column: int
    fraction: Fraction
    count: int | None = None  # of counters: the column that says how many rows a value stands for

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,) if self.count is None else (self.column, self.count)

    def fresh(self) -> OrderStatistic:
        return OrderStatistic((self.fraction.numerator, self.fraction.denominator))


@dataclass(frozen=True)
class Median:
    """MEDIAN(x), as DOUBLE: the mean of the two middle values when their number is even."""

    column: int
    count: int | None = None

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,) if self.count is None else (self.column, self.count)

    def fresh(self) -> Middle:
        return Middle((MEDIAN, 1))


@dataclass(frozen=True)
class AtEdgeOfTime:
    """FIRST(x) (`fraction` 0) and LAST(x) (`fraction` 1), in the order of a time column."""

    column: int
    time: int
    fraction: int

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column, self.time)

    def fresh(self) -> EdgeOfTime:
        return EdgeOfTime((self.fraction, 1))


@dataclass(frozen=True)
class Extremum(Quantile):
    """MIN(x) and MAX(x), not of wide decimals; cheaper where rows leave in the order in which they came."""

    def fresh_in_order(self) -> QueuedExtremes:
        return QueuedExtremes(1 if self.fraction == 1 else -1)


def minimum(column: int) -> Extremum:
    return Extremum(column, Fraction(0))


def maximum(column: int) -> Extremum:
    return Extremum(column, Fraction(1))


class _InOrder:
    """What the accumulators share: trees, and one question."""

    def __init__(self, fraction: tuple[int, int]) -> None:
        self._trees = OrderedValues()
        self._fractions = np.array([fraction], np.int64)

    def snapshot(self, known: Container[str]) -> Snapshot:
        return self._trees.snapshot(known)

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        self._trees.restore(pieces)

    def clear(self, ids: Int64s) -> None:
        self._trees.clear(ids)

    def _ask(
        self, events: GroupEvents, values: Column, counts: tuple[Column, ...], time: Column | None = None
    ) -> tuple[Int64s, Int64s]:
        """The words found by telling event and sizes; values are in the order of a time where one is given."""
        ranks, timed = ranks_of(values), time is not None
        words = [*([] if time is None else [order_of(time)]), *in_order(values)]
        words += [np.zeros(len(values), np.int64)] * (3 - len(words))
        found, sizes = self._trees.sweep(
            events.group,
            changes_of(events, (values, *counts)),
            (words[0], words[1], words[2]),
            NO_RANKS if timed else ranks,
            ranks if timed else NO_RANKS,
            events.telling,
            events.tellings,
            self._fractions,
            events.capacity,
        )
        return found[0], sizes


class OrderStatistic(_InOrder):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument, *counts = values
        found, sizes = self._ask(events, argument, tuple(counts))
        return column_like(argument, [found[:, 0, 0], found[:, 0, 1]], sizes > 0)


class Middle(_InOrder):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument, *counts = values
        found, sizes = self._ask(events, argument, tuple(counts))
        lower, upper = (_doubles(column_like(argument, list(found[:, i, :2].T), sizes > 0)) for i in (0, 1))
        with np.errstate(over="ignore", invalid="ignore"):
            middle = np.where(lower == upper, lower, lower / 2 + upper / 2)
        return column(DOUBLE, middle, sizes > 0)


def _doubles(values: Column) -> Floats:
    scale = 10.0**values.type.scale if isinstance(values.type, DecimalType) else 1.0
    held = values.values
    return (as_doubles(held) if held.dtype == WIDE else held.astype(np.float64)) / scale


class EdgeOfTime(_InOrder):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument, time = values
        found, sizes = self._ask(events, argument, (), time)
        return column_like(argument, [found[:, 0, 1], found[:, 0, 2]], sizes > 0)
