"""The stable order of small numbers, by counting: a few passes over the digits that they have, eleven bits a pass."""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.compiled import compiled

_DIGIT = 11  # bits: the counters of a pass fit the first cache


def radix_order(numbers: Int64s, bound: int) -> Int64s:
    """Which of the numbers come first, second, ...; all are from 0 on and below the bound."""
    return np.asarray(_order(numbers, max(1, int(bound - 1).bit_length())))


@compiled
def _order(numbers: Int64s, bits: int) -> Int64s:
    order, other = np.arange(len(numbers)), np.empty(len(numbers), np.int64)
    for shift in range(0, bits, _DIGIT):
        starts = np.zeros(1 << _DIGIT, np.int64)
        for i in range(len(numbers)):
            starts[(numbers[i] >> shift) & ((1 << _DIGIT) - 1)] += 1
        total = 0
        for digit in range(len(starts)):
            starts[digit], total = total, total + starts[digit]
        for n in range(len(numbers)):
            i = order[n]
            digit = (numbers[i] >> shift) & ((1 << _DIGIT) - 1)
            other[starts[digit]] = i
            starts[digit] += 1
        order, other = other, order
    return order
