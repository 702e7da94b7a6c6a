"""FIRST(x) and LAST(x): values in the order of a time column, and then of the values themselves.

So they depend on the bag of rows only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.aggregates.aggregate import changes_of
from windrow.aggregates.ordered import InOrder
from windrow.batch.column import Column, order_of
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.in_order import column_like, in_order, ranks_of
from windrow.numbers.ordered_values import NO_RANKS, Ranks, Words


@dataclass(frozen=True)
class AtEdgeOfTime:
    """FIRST(x) (`fraction` 0) and LAST(x) (`fraction` 1), in the order of a time column."""

    column: int
    time: int
    fraction: int

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column, self.time)

    def fresh(self) -> EdgeOfTime:
        return EdgeOfTime((self.fraction, 1))


class EdgeOfTime(InOrder):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument, time = values
        words = [order_of(time), *in_order(argument)]
        words += [np.zeros(len(time), np.int64)] * (3 - len(words))
        changes = events._replace(change=changes_of(events, (argument,)))
        found, sizes = self._trees.sweep(changes, Words(*words), Ranks(NO_RANKS, ranks_of(argument)), self._fractions)
        return column_like(argument, [found[0, :, 0, 1], found[0, :, 0, 2]], sizes > 0)
