"""Averages: exact sums over counts."""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Array, Bools, Int64s
from windrow.batch.column import WIDE, Column, column, dtype_of
from windrow.batch.wide import as_doubles, averaged, totals
from windrow.numbers.limb_sums import IntegerTotals
from windrow.types import DOUBLE, DecimalType


def integer_averages(sums: IntegerTotals) -> Column:
    narrow, fits = sums.narrow
    total = narrow.astype(np.float64)
    if not fits.all():
        total = np.where(fits, total, as_doubles(totals(sums.limbs, 2**127)[0]))
    return column(DOUBLE, total / np.maximum(sums.values, 1), sums.values > 0)


def decimal_averages(sums: IntegerTotals, digits: int, type: DecimalType) -> Column:
    """Averages with so many digits more after the point than the sums have."""
    quotients, fits = _quotients(sums, digits, type)
    return column(type, quotients, (sums.values > 0) & fits)


def _quotients(sums: IntegerTotals, digits: int, type: DecimalType) -> tuple[Array, Bools]:
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
