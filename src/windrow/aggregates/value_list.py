"""ARRAY_AGG(x): the values of a group as an array, in the order of time and ties, or of the values themselves.

Values that are equal in all of these lie in the tree once, with their number. An array costs its length for each
instant at which it changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.aggregates.aggregate import changes_of
from windrow.aggregates.first_last import TiedEdgeOfTime
from windrow.batch.arrays import Int64s
from windrow.batch.arrow import column_from_arrow, column_to_arrow
from windrow.batch.column import Column
from windrow.batch.compiled import compiled
from windrow.batch.dictionary import Dictionary
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.ordered_values import NO_RANKS, SECOND, SIZE, Entry, Ranks, Trees, change_count, element_at
from windrow.types import array


@dataclass(frozen=True)
class ValueList:
    """`order` are the columns that come before the value; arrays become codes of the dictionary."""

    column: int
    order: tuple[int, ...]
    dictionary: Dictionary = field(compare=False, repr=False)

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column, *self.order)

    def fresh(self) -> ValuesInOrder:
        return ValuesInOrder(self.dictionary)


class ValuesInOrder(TiedEdgeOfTime):
    def __init__(self, dictionary: Dictionary) -> None:
        super().__init__(0)
        self._dictionary = dictionary

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument, *order = values
        changes = events._replace(change=changes_of(events, (argument,)))
        ids = self._counted(changes, (*order, argument))
        ranks = Ranks(NO_RANKS, self._ranks.words)
        self._trees.reserve(events.capacity, len(ids))
        ends, found = _sweep(changes, ids, ranks, self._trees.trees)
        self._trees.tidy(ranks)
        result = self._arrays(argument, ends, found)
        self._tidy()
        return result

    def _arrays(self, like: Column, ends: Int64s, found: Int64s) -> Column:
        different, places = np.unique(found, return_inverse=True)
        items = (
            column_to_arrow(self._rows.columns(different)[-1]) if len(different) else column_to_arrow(like.take(found))
        )
        lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items.take(pa.array(places)))
        return column_from_arrow(lists, self._dictionary, array(like.type))


@compiled
def _sweep(events: GroupEvents, ids: Int64s, ranks: Ranks, trees: Trees) -> tuple[Int64s, Int64s]:
    """Where the rows of each instant end, and their ids."""
    group, change, is_last = events.group, events.change, events.is_last
    by_first, by_row = ranks.first, ranks.second
    roots, nodes, tally, path = trees.roots, trees.nodes, trees.tally, trees.path
    ends = np.zeros(events.instants + 1, np.int64)
    found = np.empty(max(16, events.instants), np.int64)
    place = total = 0
    for i in range(len(group)):
        g = group[i]
        if change[i] != 0:
            entry = Entry(0, ids[i], 0)
            roots[g] = change_count(roots[g], entry, change[i], by_first, by_row, nodes, tally, path)
        if is_last[i]:
            size = nodes[roots[g], SIZE]
            while total + size > len(found):
                longer = np.empty(2 * len(found), np.int64)
                longer[:total] = found[:total]
                found = longer
            for position in range(1, size + 1):
                found[total] = nodes[element_at(roots[g], position, nodes), SECOND]
                total += 1
            place += 1
            ends[place] = total
    return ends, found[:total]
