"""SUM(x) of integers and decimals, exactly."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.aggregates.aggregate import Counted
from windrow.batch.column import Column, column
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.limb_sums import LimbSums
from windrow.types import Type


@dataclass(frozen=True)
class IntegerSum(Counted):
    """SUM(x) of integers (as BIGINT) or decimals (as the wider decimal); null without values."""

    column: int
    type: Type
    count: int | None = None  # of partial sums: the column with the count of values

    def fresh(self) -> IntegerSums:
        return IntegerSums(self.type)


class IntegerSums(LimbSums):
    def __init__(self, type: Type) -> None:
        super().__init__()
        self._type = type

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        sums = self.sums(events, values)
        total, fits = sums.as_type(self._type)
        return column(self._type, total, (sums.values > 0) & fits)
