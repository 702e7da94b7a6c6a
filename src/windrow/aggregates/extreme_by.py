"""MAX_BY(x, y) and MIN_BY(x, y): the x of the row with the largest or smallest y.

Of several such rows MAX_BY takes the largest x and MIN_BY the smallest, so that it depends on the bag of rows only.
Rows whose y is null are skipped; x may be null, which is the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.aggregates.first_last import TiedEdgeOfTime
from windrow.batch.column import Column
from windrow.numbers.group_events import GroupEvents


@dataclass(frozen=True)
class ExtremeBy:
    """`fraction` is 0 for MIN_BY and 1 for MAX_BY."""

    column: int
    by: int
    fraction: int

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column, self.by)

    def fresh(self) -> ValueByOrder:
        return ValueByOrder(self.fraction)


class ValueByOrder(TiedEdgeOfTime):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument, by = values
        changes = events._replace(change=events.change * by.valid_mask())
        return self._swept(changes, (by, argument), np.zeros(len(by), np.int64))
