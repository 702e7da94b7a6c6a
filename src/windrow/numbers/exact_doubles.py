"""Doubles as what they are: integers times powers of two."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Floats, Int64s
from windrow.batch.compiled import compiled


class Exact(NamedTuple):
    """Numbers as integers times powers of two; those that are not finite are 0 and marked as `special`."""

    whole: Int64s
    exponent: Int64s
    special: Int64s  # 1 infinity, 2 minus infinity, 3 NaN


def exact(values: Floats) -> Exact:
    return Exact(*_mantissas(np.ascontiguousarray(values).view(np.int64)))


@compiled
def _mantissas(bits: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """The mantissas of doubles as whole numbers, their exponents, and marks of those that are not finite."""
    whole, exponent, special = (
        np.empty(len(bits), np.int64),
        np.empty(len(bits), np.int64),
        np.zeros(len(bits), np.int64),
    )
    for i in range(len(bits)):
        power, mantissa = (bits[i] >> 52) & 0x7FF, bits[i] & 0xFFFFFFFFFFFFF
        if power == 0x7FF:
            special[i] = 3 if mantissa != 0 else (2 if bits[i] < 0 else 1)
            mantissa = 0
        elif power == 0:
            power = 1  # subnormal: the same exponent, without the leading one
        else:
            mantissa |= 1 << 52
        whole[i] = -mantissa if bits[i] < 0 else mantissa
        exponent[i] = power - 1075
    return whole, exponent, special
