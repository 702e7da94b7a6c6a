"""COUNT(*) and COUNT(x)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.batch.column import Column
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.running_counts import running_counts
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
        weighed = events._replace(change=events.change * values[0].values)
        return Column(BIGINT, running_counts(weighed, self["count"]))


class Counts(KeyedArrays):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        self.reserve(events.capacity)
        valid = values[0].valid if values else None
        valued = events if valid is None else events._replace(change=events.change * valid)
        return Column(BIGINT, running_counts(valued, self["count"]))
