"""SUM, COUNT and AVG that fade: an element counts half after every half-life (thesis 2.1.1).

Exponential decay needs no elements: the sum at a later time is the sum now times a factor. Of each group the faded sum
and count at its newest element are kept, whatever the length of the stream. The average does not fade: both fade alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Floats, Int64s
from windrow.batch.compiled import compiled
from windrow.errors import WindrowError
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts


class DecayedValues(NamedTuple):
    """`weight` is the faded count; NaN is the average of no elements."""

    sum: Floats
    weight: Floats
    average: Floats


class Totals(NamedTuple):
    """Of each group its faded sum and count at the time of its newest element, for a compiled loop."""

    sum: Floats
    weight: Floats
    time: Int64s


class Decayed(Parts):
    """Decayed aggregates of groups; the half-life is in ticks."""

    def __init__(self, half_life: int) -> None:
        if half_life <= 0:
            raise WindrowError(f"a half-life of {half_life} is not positive", "give the time after which values halve")
        self.half_life = half_life
        self._groups = KeyedArrays(sum=np.float64, count=np.float64, time=np.int64)

    @property
    def nbytes(self) -> int:
        return sum(self._groups[name].nbytes for name in ("sum", "count", "time"))

    def insert(self, group: Int64s, time: Int64s, value: Floats) -> None:
        """Elements in the order of time; nulls are left out by the caller."""
        self._groups.reserve(int(group.max()) + 1 if len(group) else 0)
        _insert(group, time, value, self.half_life, self._totals)

    def lookup(self, group: Int64s, now: int) -> DecayedValues:
        """The aggregates of groups at a time that is not before their newest elements."""
        return DecayedValues(*_lookup(group, now, self.half_life, self._totals))

    def forget(self, group: Int64s) -> None:
        self._groups.clear(group[group < len(self._groups["time"])])

    @property
    def _totals(self) -> Totals:
        return Totals(self._groups["sum"], self._groups["count"], self._groups["time"])

    def parts(self) -> Mapping[str, Part]:
        return {"groups": self._groups}


@compiled
def _insert(group: Int64s, times: Int64s, value: Floats, half_life: int, totals: Totals) -> None:
    sum, count, time = totals
    for i in range(len(group)):
        g = group[i]
        factor = 2.0 ** -((times[i] - time[g]) / half_life) if count[g] > 0.0 else 0.0
        sum[g] = (sum[g] * factor if factor > 0.0 else 0.0) + value[i]
        count[g] = count[g] * factor + 1.0
        time[g] = times[i]


@compiled
def _lookup(group: Int64s, now: int, half_life: int, totals: Totals) -> tuple[Floats, Floats, Floats]:
    sum, count, time = totals
    sums, counts = np.zeros(len(group), np.float64), np.zeros(len(group), np.float64)
    averages = np.full(len(group), np.nan)
    for i in range(len(group)):
        g = group[i]
        if g < len(sum) and count[g] > 0.0:
            factor = 2.0 ** -((now - time[g]) / half_life)
            sums[i], counts[i], averages[i] = sum[g] * factor, count[g] * factor, sum[g] / count[g]
    return sums, counts, averages
