"""Aggregates over distinct values: COUNT(DISTINCT x), SUM(DISTINCT x), AVG(DISTINCT x).

A count is kept for each value of each group; only its changes between zero and more are passed on, so any aggregate
over them sees each value once. Costs one hash an event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from windrow.aggregates.aggregate import Accumulator, Aggregate, Clearable, changes_of
from windrow.batch.arrays import Int8s, Int64s
from windrow.batch.column import Column
from windrow.batch.compiled import compiled
from windrow.numbers.group_events import GroupEvents
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts
from windrow.types import BIGINT


@dataclass(frozen=True)
class OverDistinct:
    """`aggregate` over the distinct values of its one argument."""

    aggregate: Aggregate
    count: int | None = None  # of counters: the column that says how many rows a value stands for

    @property
    def arguments(self) -> tuple[int, ...]:
        own = self.aggregate.arguments
        return own if self.count is None else (*own, self.count)

    def fresh(self) -> DistinctValues:
        return DistinctValues(self.aggregate.fresh())


class DistinctValues(Parts):
    def __init__(self, inner: Accumulator) -> None:
        self._inner = inner
        self._values = KeyDirectory()
        self._counts = KeyedArrays(count=np.int64)

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument = values[0]
        ids = self._values.intern((Column(BIGINT, events.group), argument), len(argument))
        self._counts.reserve(self._values.capacity)
        first_and_last = _first_and_last(ids, changes_of(events, values), self._counts["count"])
        self._values.forget(ids[self._counts["count"][ids] == 0])
        return self._inner.sweep(events._replace(change=first_and_last), values[:1])

    def clear(self, ids: Int64s) -> None:
        assert isinstance(self._inner, Clearable), self._inner
        gone = values_of_groups(self._values, ids)
        self._counts.clear(gone)
        self._values.forget(gone)
        self._inner.clear(ids)

    def parts(self) -> Mapping[str, Part]:
        return {"values": self._values, "counts": self._counts, "inner": self._inner}


def values_of_groups(values: KeyDirectory, groups: Int64s) -> Int64s:
    """The ids of the values of some groups; the first column of a value is its group."""
    known = values.known()
    return known[np.isin(values.columns(known)[0].values, groups)] if len(known) else known


@compiled
def _first_and_last(ids: Int64s, change: Int8s, count: Int64s) -> Int8s:
    """+1 where a count becomes positive, -1 where it stops being so."""
    changes = np.zeros(len(ids), np.int8)
    for i in range(len(ids)):
        before = count[ids[i]] > 0
        count[ids[i]] += change[i]
        after = count[ids[i]] > 0
        changes[i] = np.int8(after) - np.int8(before)
    return changes
