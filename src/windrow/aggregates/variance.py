"""VAR(x) and STDDEV(x) of the sample, from exact sums of the values and of their squares.

A square of a double is exactly two doubles times a power of two, so the sums are exact whatever has come and gone. The
difference of the two sums, where digits cancel, is taken with twice the digits of a double, and near one in size: only
the result may be too large or too small for a double.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from windrow.batch.arrays import Floats, Int64s
from windrow.batch.column import Column, column
from windrow.batch.compiled import compiled
from windrow.numbers.digit_sums import DigitSums, DoubleTotals
from windrow.numbers.exact_doubles import Exact, exact
from windrow.numbers.group_events import GroupEvents
from windrow.state.snapshot import Parts
from windrow.types import DOUBLE

_SPLITTER = 134217729.0  # 2^27 + 1: cuts a double into two halves whose products are exact


@dataclass(frozen=True)
class Variance:
    """VAR(x): null for fewer than two values."""

    column: int

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,)

    def fresh(self) -> Variances:
        return Variances()


@dataclass(frozen=True)
class StandardDeviation:
    """STDDEV(x): the square root of VAR(x)."""

    column: int

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,)

    def fresh(self) -> StandardDeviations:
        return StandardDeviations()


class Variances(Parts):
    def __init__(self) -> None:
        self._sum, self._squares, self._errors = DigitSums(), DigitSums(), DigitSums()

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        variance, count = self._variance(events, values[0])
        return column(DOUBLE, variance, count > 1)

    def clear(self, ids: Int64s) -> None:
        for sums in self.parts().values():
            sums.clear(ids)

    def parts(self) -> Mapping[str, DigitSums]:
        return {"sum": self._sum, "squares": self._squares, "errors": self._errors}

    def _variance(self, events: GroupEvents, values: Column) -> tuple[Floats, Int64s]:
        doubles, valid = values.values.astype(np.float64), values.valid_mask()
        mantissa, power = np.frexp(np.where(np.isfinite(doubles), doubles, 0.0))
        squares, errors = (shifted(exact(part), 2 * power) for part in _squared(mantissa))
        total = self._sum.sums(events, exact(doubles), valid)
        square, error = self._squares.sums(events, squares, valid), self._errors.sums(events, errors, valid)
        half = (np.frexp(square.total)[1] + square.exponent + 1) // 2
        variance = _spread_of(
            *near_one(total, half), *near_one(square, 2 * half), *near_one(error, 2 * half), total.values
        )
        with np.errstate(over="ignore", under="ignore"):
            variance = np.ldexp(variance, (2 * half).astype(np.int32))
        return np.where(np.isfinite(total.total), variance, np.nan), total.values


def shifted(values: Exact, power: Int64s) -> Exact:
    """Values times powers of two."""
    return values._replace(exponent=values.exponent + power)


def near_one(sums: DoubleTotals, power: Int64s) -> tuple[Floats, Floats]:
    """Sums divided by a power of two."""
    down = (sums.exponent - power).astype(np.int32)
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(sums.total, down), np.ldexp(sums.rest, down)


class StandardDeviations(Variances):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        variance, count = self._variance(events, values[0])
        return column(DOUBLE, np.sqrt(variance), count > 1)


@compiled
def product(a: float, b: float) -> tuple[float, float]:
    """a × b as a double and what it lacks."""
    product = a * b
    cut = _SPLITTER * a
    a_high = cut - (cut - a)
    a_low = a - a_high
    cut = _SPLITTER * b
    b_high = cut - (cut - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def _squared(values: Floats) -> tuple[Floats, Floats]:
    squares, errors = np.empty(len(values), np.float64), np.empty(len(values), np.float64)
    for i in range(len(values)):
        squares[i], errors[i] = product(values[i], values[i])
    return squares, errors


@compiled
def _spread_of(
    total: Floats,
    total_rest: Floats,
    square: Floats,
    square_rest: Floats,
    error: Floats,
    error_rest: Floats,
    count: Int64s,
) -> Floats:
    """(Σx² − (Σx)²/n) / (n − 1), the difference in double-double arithmetic."""
    variance = np.empty(len(total), np.float64)
    for i in range(len(total)):
        n = np.float64(max(count[i], 1))
        high, low = product(total[i], total[i])
        low += 2.0 * total[i] * total_rest[i]
        quotient = high / n
        back, back_rest = product(quotient, n)
        rest = ((high - back) - back_rest + low) / n
        difference = square[i] - quotient
        # Both are of one size where digits cancel, so this difference is exact; the small parts make up for the rest.
        taken = square[i] - difference
        difference_rest = (square[i] - (difference + taken)) + (taken - quotient)
        value = difference + (difference_rest + square_rest[i] + error[i] + error_rest[i] - rest)
        variance[i] = max(value, 0.0) / max(n - 1.0, 1.0)
    return variance
