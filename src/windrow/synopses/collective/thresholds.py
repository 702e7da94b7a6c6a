"""Which groups may pass a threshold: collective indexes over an aggregate of all groups.

An index gives candidates, all groups that pass among them; whoever asks checks them. It is for windows of time that end
now. A sum has one as long as no value is negative: after the first it says nothing any more, and all groups are
candidates.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Protocol

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.column import Column
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts, Piece, Snapshot
from windrow.synopses.collective.collective_extremes import CollectiveExtremes
from windrow.synopses.collective.collective_index import CollectiveIndex

_MOST = 2**62  # of bounds
_LARGEST = 2.0**60  # of sums since a group began


class ThresholdIndex(Protocol):
    @property
    def nbytes(self) -> int: ...

    def insert(self, group: Int64s, time: Int64s, values: tuple[Column, ...]) -> None: ...

    def candidates(self, begin: int, above: bool, bound: int) -> Int64s | None:
        """Groups among which are all that pass; None when that may be any."""
        ...

    def expire_until(self, time: int) -> None: ...

    def forget(self, group: Int64s) -> None: ...

    def snapshot(self, known: Container[str]) -> Snapshot: ...

    def restore(self, pieces: Mapping[str, Piece]) -> None: ...


class WeightIndex(Parts):
    """CI-COUNT, or with `sums` CI-SUM of whole numbers."""

    def __init__(self, levels: int, sums: bool) -> None:
        self._sums = sums
        self._index = CollectiveIndex(levels)
        self._given_up = KeyedArrays(yes=np.bool_)
        self._given_up.reserve(1)

    @property
    def nbytes(self) -> int:
        return self._index.nbytes

    @property
    def is_usable(self) -> bool:
        return not self._given_up["yes"][0]

    def insert(self, group: Int64s, time: Int64s, values: tuple[Column, ...]) -> None:
        if not self.is_usable:
            return
        weight = values[0].valid_mask().astype(np.int64) if values else None
        if self._sums and weight is not None:
            weight = np.where(weight > 0, values[0].values, 0).astype(np.int64)
            held = float(self._index.length.max(initial=0)) + float(np.abs(weight.astype(np.float64)).sum())
            if len(weight) and (int(weight.min()) < 0 or held >= _LARGEST):
                self._given_up.reserve(1)
                self._given_up["yes"][0] = True
                self._index = CollectiveIndex(self._index.p)
                return
        self._index.insert(group, time, weight)

    def candidates(self, begin: int, above: bool, bound: int) -> Int64s | None:
        if not self.is_usable or (above and bound < 0):
            return None
        bound = max(-_MOST, min(_MOST, bound))
        return self._index.above(begin, bound) if above else self._index.below(begin, bound)

    def expire_until(self, time: int) -> None:
        """What is old is never asked for, and goes with its group."""

    def forget(self, group: Int64s) -> None:
        if self.is_usable:
            self._index.forget(group)

    def parts(self) -> Mapping[str, Part]:
        return {"index": self._index, "given up": self._given_up}


class ExtremeIndex(Parts):
    """CI-MAX, or CI-MIN with `largest` false, of whole numbers."""

    def __init__(self, largest: bool) -> None:
        self._index = CollectiveExtremes(largest)

    @property
    def nbytes(self) -> int:
        return self._index.nbytes

    def insert(self, group: Int64s, time: Int64s, values: tuple[Column, ...]) -> None:
        valid = np.flatnonzero(values[0].valid_mask())
        self._index.insert(group[valid], time[valid], values[0].values[valid].astype(np.int64))

    def candidates(self, begin: int, above: bool, bound: int) -> Int64s | None:
        if above is not self._index.largest or abs(bound) > _MOST:
            return None
        return self._index.beyond(begin, bound)

    def expire_until(self, time: int) -> None:
        self._index.expire_until(time)

    def forget(self, group: Int64s) -> None:
        self._index.forget(group[group < len(self._index.groups)])

    def parts(self) -> Mapping[str, Part]:
        return {"index": self._index}
