"""What aggregates that need values in order share: trees of the values of groups, and one question to them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from windrow.aggregates.aggregate import changes_of
from windrow.batch.arrays import Int64s
from windrow.batch.column import Column
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.in_order import in_order, ranks_of
from windrow.numbers.ordered_values import EntryWords, OrderedValues, Ranks
from windrow.state.snapshot import Part, Parts


class InOrder(Parts):
    """Values of groups in order, asked for the elements at a fraction of their number."""

    def __init__(self, fraction: tuple[int, int]) -> None:
        self._trees = OrderedValues()
        self._fractions = np.array([fraction], np.int64)

    def parts(self) -> Mapping[str, Part]:
        return {"trees": self._trees}

    def clear(self, ids: Int64s) -> None:
        self._trees.clear(ids)

    def _ask(self, events: GroupEvents, values: tuple[Column, ...]) -> tuple[Int64s, Int64s]:
        """The words found by instant, and how many values there are; of values, and perhaps their counts."""
        argument = values[0]
        words = in_order(argument)
        words += [np.zeros(len(argument), np.int64)] * (3 - len(words))
        changes = events._replace(change=changes_of(events, values))
        found, sizes = self._trees.sweep(changes, EntryWords(*words), Ranks(ranks_of(argument)), self._fractions)
        return found[0], sizes
