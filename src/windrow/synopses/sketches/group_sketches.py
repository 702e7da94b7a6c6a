"""Aggregates that are summarised without positions: what is kept of a group does not grow with its elements.

They answer windows that end now, or the whole of a stream that fades.
"""

from __future__ import annotations

import enum
from collections.abc import Container, Mapping
from typing import Protocol

import numpy as np

from windrow.batch.arrays import Bools, Int64s
from windrow.batch.column import Column, column
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts, Piece, Snapshot
from windrow.synopses.sketches.decayed import Decayed
from windrow.synopses.sketches.exponential_histogram import ExponentialHistogram
from windrow.types import DOUBLE, DecimalType, Type

_MOST = 2.0**61  # of sums within an error


class GroupSketch(Protocol):
    """A summary of each group."""

    @property
    def nbytes(self) -> int: ...

    def insert(self, group: Int64s, time: Int64s, values: tuple[Column, ...]) -> None: ...

    def lookup(self, group: Int64s, begin: Int64s, now: int) -> Column:
        """The aggregate over what has come since `begin`, as of `now`."""
        ...

    def expire_until(self, time: int) -> None: ...

    def forget(self, group: Int64s) -> None: ...

    def snapshot(self, known: Container[str]) -> Snapshot: ...

    def restore(self, pieces: Mapping[str, Piece]) -> None: ...


class HistogramSketch(Parts):
    """COUNT, or with `sums` SUM of whole numbers, within an error.

    Windows with a negative value have no sum, nor those with values that add up to more than 2^61: it is null until the
    value has left.
    """

    def __init__(self, error: float, type: Type, sums: bool) -> None:
        self._type, self._sums = type, sums
        self._buckets = ExponentialHistogram(error)
        self._refused = KeyedArrays(time=np.int64, seen=np.bool_)  # the newest value that was not summed

    @property
    def nbytes(self) -> int:
        return self._buckets.nbytes + self._refused["time"].nbytes + self._refused["seen"].nbytes

    def insert(self, group: Int64s, time: Int64s, values: tuple[Column, ...]) -> None:
        valid = values[0].valid_mask()
        self._refused.reserve(int(group.max()) + 1 if len(group) else 0)
        summed = self._summed(group, time, values[0], valid) if self._sums else valid.astype(np.int64)
        self._buckets.insert(group, time, summed)

    def _summed(self, group: Int64s, time: Int64s, values: Column, valid: Bools) -> Int64s:
        weight = np.where(valid, values.values, 0).astype(np.int64)
        total = self._buckets.totals(len(self._refused["time"])).astype(np.float64)
        np.add.at(total, group, np.abs(weight.astype(np.float64)))
        refused = (weight < 0) | (total[group] >= _MOST)
        self._refused["time"][group[refused]] = time[refused]
        self._refused["seen"][group[refused]] = True
        return np.where(refused, 0, weight)

    def lookup(self, group: Int64s, begin: Int64s, now: int) -> Column:
        result = self._buckets.lookup(group, begin).value
        if not self._sums:
            return Column(self._type, result)
        self._refused.reserve(int(group.max()) + 1 if len(group) else 0)
        refused = self._refused["seen"][group] & (self._refused["time"][group] >= begin)
        return column(self._type, result, ~refused)

    def expire_until(self, time: int) -> None:
        self._buckets.expire_until(time)

    def forget(self, group: Int64s) -> None:
        self._buckets.forget(group)
        self._refused.clear(group)

    def parts(self) -> Mapping[str, Part]:
        return {"buckets": self._buckets, "refused": self._refused}


class DecayedKind(enum.Enum):
    SUM = "sum"
    COUNT = "count"
    AVERAGE = "average"


class DecayedSketch(Parts):
    """A sum, a count or an average of values that count half after every half-life; null where there are none."""

    def __init__(self, half_life: int, which: DecayedKind) -> None:
        self._which = which
        self._groups = Decayed(half_life)

    @property
    def nbytes(self) -> int:
        return self._groups.nbytes

    def insert(self, group: Int64s, time: Int64s, values: tuple[Column, ...]) -> None:
        valid = np.flatnonzero(values[0].valid_mask())
        numbers = np.asarray(values[0].values[valid], np.float64)
        if isinstance(values[0].type, DecimalType):
            numbers = numbers / 10.0 ** values[0].type.scale
        self._groups.insert(group[valid], time[valid], numbers)

    def lookup(self, group: Int64s, begin: Int64s, now: int) -> Column:
        result = self._groups.lookup(group, now)
        some = result.weight > 0
        if self._which is DecayedKind.COUNT:
            return Column(DOUBLE, result.weight)
        return column(
            DOUBLE, np.where(some, result.sum if self._which is DecayedKind.SUM else result.average, 0.0), some
        )

    def expire_until(self, time: int) -> None:
        """What fades does not end."""

    def forget(self, group: Int64s) -> None:
        self._groups.forget(group)

    def parts(self) -> Mapping[str, Part]:
        return {"groups": self._groups}
