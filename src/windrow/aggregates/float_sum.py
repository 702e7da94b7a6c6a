"""SUM(x) of FLOAT and DOUBLE, exactly."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.batch.column import Column, column
from windrow.numbers.digit_sums import DigitSums
from windrow.numbers.group_events import GroupEvents
from windrow.types import DOUBLE


@dataclass(frozen=True)
class FloatSum:
    """SUM(x) of FLOAT or DOUBLE, as DOUBLE; null without values."""

    column: int
    rest: tuple[int, ...] = ()  # of partial sums: the columns with their low parts and the counts of values

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column, *self.rest)

    def fresh(self) -> FloatSums:
        return FloatSums()


class FloatSums(DigitSums):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        sums, count = self.total(events, values)
        return column(DOUBLE, sums, count > 0)
