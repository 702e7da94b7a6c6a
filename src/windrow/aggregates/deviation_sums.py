"""REGR_SXY, REGR_SXX and REGR_SYY(y, x): Σ(y − mean of y)(x − mean of x), and so for x and y with themselves.

They come from exact sums of values and of their products: a product of doubles is exactly two doubles, so the sums are
exact whatever has come and gone. Only their difference, Σxy − Σx Σy / n, is rounded, and with twice the digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from windrow.aggregates.variance import near_one, product, shifted
from windrow.batch.arrays import Floats, Int64s
from windrow.batch.column import Column, column
from windrow.batch.compiled import compiled
from windrow.numbers.digit_sums import DigitSums
from windrow.numbers.exact_doubles import exact
from windrow.numbers.group_events import GroupEvents
from windrow.state.snapshot import Parts
from windrow.types import DOUBLE


@dataclass(frozen=True)
class DeviationSum:
    """Of the rows in which neither is null."""

    columns: tuple[int, int]
    chosen: tuple[int, int]  # the places of the two that are multiplied

    @property
    def arguments(self) -> tuple[int, ...]:
        return self.columns

    def fresh(self) -> DeviationSums:
        return DeviationSums(self.chosen)


class DeviationSums(Parts):
    def __init__(self, chosen: tuple[int, int]) -> None:
        self._chosen = chosen
        self._sums = {name: DigitSums() for name in ("y", "x", "products", "errors")}

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        valid = values[0].valid_mask() & values[1].valid_mask()
        y, x = (values[place].values.astype(np.float64) for place in self._chosen)
        (a, a_power), (b, b_power) = (np.frexp(np.where(np.isfinite(value), value, 0.0)) for value in (y, x))
        products, errors = (shifted(exact(part), a_power.astype(np.int64) + b_power) for part in _products(a, b))
        added = [
            self._sums[name].sums(events, value, valid)
            for name, value in (("y", exact(y)), ("x", exact(x)), ("products", products), ("errors", errors))
        ]
        count = added[0].values
        parts = np.stack([part for sums in added for part in near_one(sums, np.zeros(len(count), np.int64))])
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(added[0].total) & np.isfinite(added[1].total)
            return column(DOUBLE, np.where(finite, _difference(parts, count), np.nan), count > 0)

    def clear(self, ids: Int64s) -> None:
        for sums in self._sums.values():
            sums.clear(ids)

    def parts(self) -> Mapping[str, DigitSums]:
        return self._sums


@compiled
def _products(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    products, errors = np.empty(len(a), np.float64), np.empty(len(a), np.float64)
    for i in range(len(a)):
        products[i], errors[i] = product(a[i], b[i])
    return products, errors


@compiled
def _difference(parts: Floats, count: Int64s) -> Floats:
    """Σxy − ΣxΣy/n in double-double arithmetic; rows of `parts` are sums and what they lack, of y, x, xy and errors."""
    result = np.empty(len(count), np.float64)
    for i in range(len(count)):
        n = np.float64(max(count[i], 1))
        high, low = product(parts[0, i], parts[2, i])
        low += parts[0, i] * parts[3, i] + parts[1, i] * parts[2, i]
        quotient = high / n
        back, back_rest = product(quotient, n)
        rest = ((high - back) - back_rest + low) / n
        total = parts[4, i]
        difference = total - quotient
        taken = total - difference
        difference_rest = (total - (difference + taken)) + (taken - quotient)
        result[i] = difference + (difference_rest + parts[5, i] + parts[6, i] + parts[7, i] - rest)
    return result
