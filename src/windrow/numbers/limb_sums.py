"""Exact sums of integers and decimals.

A value is cut into limbs of 32 bits, the highest with its sign, and the limbs are summed on their own in 64 bits:
2^31 rows fit before a limb could overflow, and a sum that has passed through values too large for its type comes
back exactly when they leave the window. Carries are made when a sum is read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Array, Bools, Int64s
from windrow.batch.column import WIDE, Column, dtype_of
from windrow.batch.compiled import compiled
from windrow.batch.wide import totals
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.running_counts import running_counts
from windrow.state.keyed_arrays import KeyedArrays
from windrow.types import DecimalType, Type

_LIMB = 0xFFFFFFFF


class IntegerTotals(NamedTuple):
    """Sums as rows of four limbs, carries made, and how many values each has."""

    limbs: Int64s
    values: Int64s

    @property
    def narrow(self) -> tuple[Int64s, Bools]:
        """The sums as 64 bits, and where they fit."""
        limbs = self.limbs
        low = limbs[:, 1] << 32 | limbs[:, 0]
        return low, (limbs[:, 3] == low >> 63) & (limbs[:, 2] == (low >> 63) & _LIMB)

    def as_type(self, type: Type) -> tuple[Array, Bools]:
        """The sums, and where they fit their type; one that does not is null, and comes back when values have left."""
        if dtype_of(type) == WIDE:
            assert isinstance(type, DecimalType), type
            return totals(self.limbs, 10**type.precision)
        total, fits = self.narrow
        if isinstance(type, DecimalType):
            fits &= np.abs(total) < 10**type.precision
        return total, fits


class LimbSums(KeyedArrays):
    """The running sums of groups, limb by limb."""

    def __init__(self) -> None:
        super().__init__(count=np.int64)
        self["limbs"] = np.zeros((0, 4), np.int64)

    def sums(self, events: GroupEvents, values: tuple[Column, ...]) -> IntegerTotals:
        """The sum of the group after each last event of an instant; of values, or of partial sums with their counts."""
        self.reserve(events.capacity)
        valued = events._replace(change=events.change * values[0].valid_mask())
        weighed = valued if len(values) == 1 else events._replace(change=events.change * values[1].values)
        count = running_counts(weighed, self["count"])
        return IntegerTotals(_sum(valued, _limbs(values[0].values), self["limbs"]), count)


def _limbs(values: Array) -> Int64s:
    """Two limbs of a 64-bit integer, four of a 128-bit one; lowest first, the highest signed."""
    if values.dtype == WIDE:
        lo = values["lo"]
        low = [(lo & np.uint64(_LIMB)).astype(np.int64), (lo >> np.uint64(32)).astype(np.int64)]
        return np.stack([*low, values["hi"] & _LIMB, values["hi"] >> 32], axis=1)
    whole = values.astype(np.int64)
    return np.stack([whole & _LIMB, whole >> 32], axis=1)


@compiled
def _sum(events: GroupEvents, limbs: Int64s, sums: Int64s) -> Int64s:
    """The limbs of the group's sum after each last event: of 32 bits, but for the highest, which is signed."""
    group, change, is_last = events.group, events.change, events.is_last
    emitted = np.empty((events.instants, 4), np.int64)
    place = 0
    for i in range(len(group)):
        g = group[i]
        if change[i] != 0:
            for limb in range(limbs.shape[1]):
                sums[g, limb] += change[i] * limbs[i, limb]
        if is_last[i]:
            carry = 0
            for limb in range(3):
                total = sums[g, limb] + carry
                emitted[place, limb] = total & _LIMB
                carry = total >> 32
            emitted[place, 3] = sums[g, 3] + carry
            place += 1
    return emitted
