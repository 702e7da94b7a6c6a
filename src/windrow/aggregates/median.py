"""MEDIAN(x): the value in the middle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.aggregates.aggregate import Counted
from windrow.aggregates.ordered import InOrder
from windrow.batch.arrays import Floats
from windrow.batch.column import WIDE, Column, column
from windrow.batch.wide import as_doubles
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.in_order import column_like
from windrow.numbers.ordered_values import MEDIAN
from windrow.types import DOUBLE, DecimalType


@dataclass(frozen=True)
class Median(Counted):
    """As DOUBLE: the mean of the two middle values when their number is even."""

    column: int
    count: int | None = None

    def fresh(self) -> Middle:
        return Middle((MEDIAN, 1))


class Middle(InOrder):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument = values[0]
        found, sizes = self._ask(events, values)
        lower, upper = (doubles(column_like(argument, list(found[:, i, :2].T), sizes > 0)) for i in (0, 1))
        with np.errstate(over="ignore", invalid="ignore"):
            middle = np.where(lower == upper, lower, lower / 2 + upper / 2)
        return column(DOUBLE, middle, sizes > 0)


def doubles(values: Column) -> Floats:
    """Numbers of any type as doubles."""
    scale = 10.0**values.type.scale if isinstance(values.type, DecimalType) else 1.0
    raw = values.values
    return (as_doubles(raw) if raw.dtype == WIDE else raw.astype(np.float64)) / scale
