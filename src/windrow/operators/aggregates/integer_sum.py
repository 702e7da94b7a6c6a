"""Exact sums of integers and decimals.

A value is cut into limbs of 32 bits, the highest with its sign, and the limbs are summed on their own in 64 bits:
2^31 rows fit before a limb could overflow, and a sum that has passed through values too large for its type comes
back exactly when they leave the window. Carries are made when a sum is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Array, Bools, Int8s, Int64s
from windrow.batch.column import WIDE, Column, column, dtype_of
from windrow.batch.compiled import compiled
from windrow.operators.aggregates.aggregate import GroupEvents
from windrow.operators.aggregates.count import counted
from windrow.state.keyed_arrays import KeyedArrays
from windrow.types import MAX_PRECISION, DecimalType, Type

_LIMB = 0xFFFFFFFF


class Sums(NamedTuple):
    """Sums of 128 bits, and how many values each has."""

    hi: Int64s
    lo: Int64s
    values: Int64s


@dataclass(frozen=True)
class IntegerSum:
    """SUM(x) of integers (as BIGINT) or decimals (as the wider decimal); null without values."""

    column: int
    type: Type

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,)

    def fresh(self) -> IntegerSums:
        return IntegerSums(self.type)


class LimbSums(KeyedArrays):
    """The running sums of groups, limb by limb."""

    def __init__(self) -> None:
        super().__init__(count=np.int64)
        self["limbs"] = np.zeros((0, 4), np.int64)

    def sums(self, events: GroupEvents, values: Column) -> Sums:
        """The sum of the group after each telling event."""
        self.reserve(events.capacity)
        valid = values.valid_mask()
        limbs, change = _limbs(values.values), events.change * valid
        count = counted(events.group, change, events.telling, events.tellings, self["count"])
        hi, lo = _sum(events.group, change, limbs, events.telling, events.tellings, self["limbs"])
        return Sums(hi, lo, count)


class IntegerSums(LimbSums):
    def __init__(self, type: Type) -> None:
        super().__init__()
        self._type = type

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        sums = self.sums(events, values[0])
        return column(self._type, _held(sums, self._type), (sums.values > 0) & _fits(sums, self._type))


def _held(sums: Sums, type: Type) -> Array:
    if dtype_of(type) != WIDE:
        return sums.lo
    wide = np.zeros(len(sums.hi), WIDE)
    wide["hi"], wide["lo"] = sums.hi, sums.lo.view(np.uint64)
    return wide


def _fits(sums: Sums, type: Type) -> Bools:
    """Where a sum fits its type; where it does not it is null, and comes back when values have left."""
    if dtype_of(type) != WIDE:
        narrow: Bools = sums.hi == sums.lo >> 63
        return narrow
    digits = type.precision if isinstance(type, DecimalType) else MAX_PRECISION
    total = sums.hi.astype(np.float64) * 2.0**64 + sums.lo.view(np.uint64).astype(np.float64)
    within: Bools = np.abs(total) < 10.0**digits
    return within


def _limbs(values: Array) -> Int64s:
    """Two limbs of a 64-bit integer, four of a 128-bit one; lowest first, the highest signed."""
    if values.dtype == WIDE:
        lo = values["lo"]
        low = [(lo & np.uint64(_LIMB)).astype(np.int64), (lo >> np.uint64(32)).astype(np.int64)]
        return np.stack([*low, values["hi"] & _LIMB, values["hi"] >> 32], axis=1)
    whole = values.astype(np.int64)
    return np.stack([whole & _LIMB, whole >> 32], axis=1)


@compiled
def _sum(
    group: Int64s, change: Int8s, limbs: Int64s, telling: Bools, tellings: int, sums: Int64s
) -> tuple[Int64s, Int64s]:
    hi, lo = np.empty(tellings, np.int64), np.empty(tellings, np.int64)
    place = 0
    for i in range(len(group)):
        g = group[i]
        if change[i] != 0:
            for limb in range(limbs.shape[1]):
                sums[g, limb] += change[i] * limbs[i, limb]
        if telling[i]:
            first = sums[g, 0]
            second = sums[g, 1] + (first >> 32)
            third = sums[g, 2] + (second >> 32)
            fourth = sums[g, 3] + (third >> 32)
            lo[place] = ((second & _LIMB) << 32) | (first & _LIMB)
            hi[place] = (fourth << 32) | (third & _LIMB)
            place += 1
    return hi, lo
