"""TOP(k, x): the k most frequent values with their counts, exactly.

A count is kept for each value of each group, and in the tree of the group each value once, under its count: the most
frequent first, among equals the smaller value first, so that the answer depends on the bag of rows only. A change moves
one value from one place of the tree to another; a logarithm of the number of different values for each, and for each of
the k that are emitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from windrow.aggregates.aggregate import changes_of
from windrow.aggregates.distinct_values import values_of_groups
from windrow.batch.arrays import Int64s
from windrow.batch.arrow import column_from_arrow, column_to_arrow
from windrow.batch.column import Column
from windrow.batch.compiled import compiled
from windrow.batch.dictionary import Dictionary
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.in_order import column_like, in_order, ranks_of
from windrow.numbers.ordered_values import (
    NO_RANKS,
    SECOND,
    SIZE,
    THIRD,
    VALUE,
    Entry,
    OrderedValues,
    Ranks,
    Trees,
    change_count,
    element_at,
)
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts
from windrow.types import BIGINT, Type, array, struct


@dataclass(frozen=True)
class Top:
    """TOP(k, x), an array of (item, count); empty without values. Arrays become codes of the dictionary."""

    column: int
    count: int
    dictionary: Dictionary = field(compare=False, repr=False)
    rows: int | None = None  # of counters: the column that says how many rows a value stands for

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,) if self.rows is None else (self.column, self.rows)

    def fresh(self) -> MostFrequent:
        return MostFrequent(self.count, self.dictionary)


def type_of_top(item: Type) -> Type:
    return array(struct(("item", item), ("count", BIGINT)))


class MostFrequent(Parts):
    def __init__(self, count: int, dictionary: Dictionary) -> None:
        self._count, self._dictionary = count, dictionary
        self._values = KeyDirectory()
        self._counts = KeyedArrays(count=np.int64)
        self._trees = OrderedValues()

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        argument = values[0]
        ids = self._values.intern((Column(BIGINT, events.group), argument), len(argument))
        self._counts.reserve(self._values.capacity)
        self._trees.reserve(events.capacity, len(ids))
        first, *rest = in_order(argument)
        second = rest[0] if rest else np.zeros(len(first), np.int64)
        changes = events._replace(change=changes_of(events, values))
        ranks = Ranks(NO_RANKS, ranks_of(argument))  # a value lies in its tree under minus its count
        items = _Items(ids, first, second)
        ends, found = _sweep(changes, items, self._count, self._counts["count"], ranks, self._trees.trees)
        self._trees.tidy(ranks)
        self._values.forget(ids[self._counts["count"][ids] == 0])
        return self._arrays(argument, ends, found)

    def _arrays(self, like: Column, ends: Int64s, found: Int64s) -> Column:
        items = column_like(like, [found[:, 1], found[:, 2]], np.ones(len(found), np.bool_))
        fields = pa.StructArray.from_arrays([column_to_arrow(items), pa.array(-found[:, 0])], names=["item", "count"])
        lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), fields)
        return column_from_arrow(lists, self._dictionary, type_of_top(like.type))

    def clear(self, ids: Int64s) -> None:
        gone = values_of_groups(self._values, ids)
        self._counts.clear(gone)
        self._values.forget(gone)
        self._trees.clear(ids)

    def parts(self) -> Mapping[str, Part]:
        return {"values": self._values, "counts": self._counts, "trees": self._trees}


class _Items(NamedTuple):
    """The values of events: their ids, and the words that they are in order by."""

    ids: Int64s
    first: Int64s
    second: Int64s


@compiled
def _sweep(
    events: GroupEvents, items: _Items, most: int, counts: Int64s, ranks: Ranks, trees: Trees
) -> tuple[Int64s, Int64s]:
    """Where the items of each instant end, and for each item minus its count and its words."""
    group, change, is_last, ids = events.group, events.change, events.is_last, items.ids
    first, second = items.first, items.second
    by_count, by_value = ranks.first, ranks.second
    roots, nodes, tally, path = trees.roots, trees.nodes, trees.tally, trees.path
    ends = np.zeros(events.instants + 1, np.int64)
    found = np.empty((max(16, events.instants), 3), np.int64)
    place = total = 0
    for i in range(len(group)):
        g = group[i]
        if change[i] != 0:
            before = counts[ids[i]]
            after = before + change[i]
            counts[ids[i]] = after
            for count, by in ((before, -1), (after, 1)):
                if count > 0:
                    entry = Entry(-count, first[i], second[i])
                    roots[g] = change_count(roots[g], entry, by, by_count, by_value, nodes, tally, path)
        if is_last[i]:
            shown = min(most, nodes[roots[g], SIZE])
            while total + shown > len(found):
                longer = np.empty((2 * len(found), 3), np.int64)
                longer[:total] = found[:total]
                found = longer
            for position in range(1, shown + 1):
                node = element_at(roots[g], position, nodes)
                found[total, 0] = nodes[node, VALUE]
                found[total, 1] = nodes[node, SECOND]
                found[total, 2] = nodes[node, THIRD]
                total += 1
            place += 1
            ends[place] = total
    return ends, found[:total]
