"""COUNT(*) and COUNT(x)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.aggregates.aggregate import GroupEvents
from windrow.batch.arrays import Bools, Int8s, Int64s
from windrow.batch.column import Column
from windrow.batch.compiled import compiled
from windrow.state.keyed_arrays import KeyedArrays
from windrow.types import BIGINT


@dataclass(frozen=True)
class Count:
    """Rows; with a column, its values that are not null."""

    column: int | None = None

    @property
    def arguments(self) -> tuple[int, ...]:
        return () if self.column is None else (self.column,)

    def fresh(self) -> Counts:
        return Counts(count=np.int64)


@dataclass(frozen=True)
class CountOfPartials:
    """COUNT from partial counts."""

    column: int

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,)

    def fresh(self) -> PartialCounts:
        return PartialCounts(count=np.int64)


class PartialCounts(KeyedArrays):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        self.reserve(events.capacity)
        change = events.change * values[0].values
        return Column(BIGINT, counted(events.group, change, events.telling, events.tellings, self["count"]))


class Counts(KeyedArrays):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        self.reserve(events.capacity)
        valid = values[0].valid if values else None
        change = events.change if valid is None else events.change * valid
        return Column(BIGINT, counted(events.group, change, events.telling, events.tellings, self["count"]))


@compiled
def counted(group: Int64s, change: Int8s, telling: Bools, tellings: int, count: Int64s) -> Int64s:
    """The count of the group after each telling event."""
    told = np.empty(tellings, np.int64)
    place = 0
    for i in range(len(group)):
        count[group[i]] += change[i]
        if telling[i]:
            told[place] = count[group[i]]
            place += 1
    return told
