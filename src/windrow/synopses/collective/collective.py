"""Which groups pass a threshold, exactly: a collective index for candidates, and a synopsis of each group."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.column import Column
from windrow.state.snapshot import Part, Parts
from windrow.synopses.collective.collective_index import LARGEST, CollectiveIndex
from windrow.synopses.positions.running import Running
from windrow.synopses.positions.shared import SharedSynopsis
from windrow.synopses.positions.word_aggregates import count, sum_of_integers
from windrow.types import Type
from windrow.units import FOREVER


class Collective(Parts):
    """`type` is that of the sum; without it elements are counted."""

    def __init__(self, p: int = 4, type: Type | None = None) -> None:
        aggregate = count() if type is None else sum_of_integers(type)
        self.index, self.synopsis = CollectiveIndex(p), SharedSynopsis([Running(aggregate)])
        self._sums = type is not None

    @property
    def nbytes(self) -> int:
        return self.index.nbytes + self.synopsis.nbytes

    def insert(self, group: Int64s, time: Int64s, values: Column | None = None) -> None:
        """Elements in the order of time; `values` are the whole numbers, or decimals of up to 18 digits, to sum."""
        assert self._sums == (values is not None)
        weight = None if values is None else values.values.astype(np.int64)
        self.index.insert(group, time, weight)
        self.synopsis.insert(group, time, [() if values is None else (values,)])

    def expire_until(self, time: int) -> None:
        self.synopsis.expire_until(time)

    def above(self, begin: int, threshold: int) -> Int64s:
        """The groups with more than the threshold since `begin`; of decimals both are in their smallest unit."""
        candidates = self.index.above(begin, max(threshold, 0)) if threshold >= 0 else self._alive(begin)
        return np.sort(candidates[self._since(candidates, begin) > threshold])

    def below(self, begin: int, threshold: int) -> Int64s:
        """The groups with elements since `begin`, and less than the threshold."""
        candidates = self.index.below(begin, threshold)
        return np.sort(candidates[self._since(candidates, begin) < threshold])

    def _alive(self, begin: int) -> Int64s:
        return self.index.below(begin, LARGEST)

    def _since(self, group: Int64s, begin: int) -> Int64s:
        begins = np.full(len(group), begin, np.int64)
        (result,) = self.synopsis.lookup_by_time(group, begins, np.full(len(group), FOREVER))
        return result.values.astype(np.int64)

    def parts(self) -> Mapping[str, Part]:
        return {"index": self.index, "synopsis": self.synopsis}
