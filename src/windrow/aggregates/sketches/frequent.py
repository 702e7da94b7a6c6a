"""Frequent items of sliding windows: top-k lists of sub-windows, and counters over the lists (thesis, Algorithm 6).

Of each sub-window of each group the k most frequent values are kept with their counts, ties by value. δi is the count
of the k-th, 0 where there are fewer than k different values: no value that is not on the list has more. The counter of
a value is the sum of its counts on the lists of the window, and δ is the sum of all δi. Values whose counter is above δ
are the frequent ones.

What holds, whatever the rows are:
    no false positives  a value that is reported has more than δ rows in the window
    bounds              it has at least `count` rows, and at most `most`: `count` and the δi of the lists without it
    complete            when it is true, every value with more than δ rows is reported; otherwise some may be missing,
                        but only such as are on a list, and have no more than δ and the δi of the lists without them

Cut by a share of the slice instead of a number of values, the same counters give the values with the most rows within a
stated error: a value that is not kept has at most `error` of the rows of its slice.

Invariant: a value is in the tree of its group once, under minus its counter, and `above` counts the values whose
counter is larger than the δi of the lists they are on. Costs a logarithm for each value that enters or leaves with a
list; keeps k values a sub-window and group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from windrow.aggregates.distinct_values import values_of_groups
from windrow.aggregates.sketches.slice_counters import CutCounters, SliceCounters
from windrow.batch.arrays import Bools, Int64s
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
from windrow.types import BIGINT, Type

_ABOVE_THRESHOLD = 0  # how many items are emitted: those above δ; or a number of them


@dataclass(frozen=True)
class TopList:
    """The cut of Algorithm 6: the `size` most frequent values of a sub-window."""

    size: int

    def __call__(self, counters: SliceCounters) -> CutCounters:
        order, rank, slice = _by_count(counters)
        last = rank == self.size - 1
        floors = np.zeros(len(counters.firsts), np.int64)
        floors[slice[last]] = counters.count[order[last]]
        return _cut(counters, order, slice, rank < self.size, floors)


@dataclass(frozen=True)
class LargeShare:
    """Values with more than a share of the rows of their slice; the floor is the largest count below that."""

    error: Fraction

    def __call__(self, counters: SliceCounters) -> CutCounters:
        order, _, slice = _by_count(counters)
        total = np.add.reduceat(counters.count, counters.firsts)
        count = counters.count[order]
        stays = count > (total * self.error.numerator // self.error.denominator)[slice]
        floors = np.zeros(len(counters.firsts), np.int64)
        np.maximum.at(floors, slice[~stays], count[~stays])
        return _cut(counters, order, slice, stays, floors)


def _by_count(counters: SliceCounters) -> tuple[Int64s, Int64s, Int64s]:
    """Counters of each slice with the largest first, ties by value: their places, ranks from 0, and slices from 0."""
    slice = np.zeros(len(counters.count), np.int64)
    slice[counters.firsts[1:]] = 1
    slice = np.cumsum(slice)
    order = np.lexsort((-counters.count, slice))  # stable: equal counts stay in the order of values
    return order, np.arange(len(order)) - counters.firsts[slice], slice


def _cut(counters: SliceCounters, order: Int64s, slice: Int64s, stays: Bools, floors: Int64s) -> CutCounters:
    places = order[stays]
    return CutCounters(places, counters.count[places], floors[slice[stays]], floors)


@dataclass(frozen=True)
class FrequentItems:
    """Over the kept values, their counts and the floors of their slices; the items above δ, or the first `most`.

    Without counts every row is a slice of its own of which all is kept.
    """

    columns: tuple[int, ...]
    type: Type
    dictionary: Dictionary = field(compare=False, repr=False)
    most: int = _ABOVE_THRESHOLD

    @property
    def arguments(self) -> tuple[int, ...]:
        return self.columns

    def fresh(self) -> GlobalCounters:
        return GlobalCounters(self.type, self.most, self.dictionary)


class GlobalCounters(Parts):
    def __init__(self, type: Type, most: int, dictionary: Dictionary) -> None:
        self._type, self._most, self._dictionary = type, most, dictionary
        self._values = KeyDirectory()
        self._counters = KeyedArrays(count=np.int64, covered=np.int64)
        self._groups = KeyedArrays(threshold=np.int64, above=np.int64)
        self._trees = OrderedValues()

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        item = values[0]
        ids = self._values.intern((Column(BIGINT, events.group), item), len(item))
        self._counters.reserve(self._values.capacity)
        self._groups.reserve(events.capacity)
        self._trees.reserve(events.capacity, 2 * len(ids))
        count = values[1].values if len(values) > 1 else np.ones(len(item), np.int64)
        floor = values[2].values if len(values) > 1 else np.zeros(len(item), np.int64)
        (value,) = in_order(item)
        items = _Items(ids, item.valid_mask(), count, floor, value)
        counters = _Counters(
            self._counters["count"], self._counters["covered"], self._groups["threshold"], self._groups["above"]
        )
        ranks = Ranks(NO_RANKS, ranks_of(item))  # a value lies in its tree under minus its counter, with its id
        ends, found, thresholds, complete = _sweep(events, items, self._most, counters, ranks, self._trees.trees)
        self._trees.tidy(ranks)
        self._values.forget(ids[self._counters["count"][ids] == 0])
        return self._answers(item, ends, found, thresholds, complete)

    def _answers(self, like: Column, ends: Int64s, found: Int64s, thresholds: Int64s, complete: Bools) -> Column:
        items = column_to_arrow(column_like(like, [found[:, 1]], np.ones(len(found), np.bool_)))
        count = pa.array(found[:, 0])
        fields = pa.StructArray.from_arrays([items, count, pa.array(found[:, 2])], names=["item", "count", "most"])
        answers: pa.Array = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), fields)
        if self._most == _ABOVE_THRESHOLD:
            parts = [answers, pa.array(thresholds), pa.array(complete)]
            answers = pa.StructArray.from_arrays(parts, names=["items", "threshold", "complete"])
        return column_from_arrow(answers, self._dictionary, self._type)

    def clear(self, ids: Int64s) -> None:
        gone = values_of_groups(self._values, ids)
        self._counters.clear(gone)
        self._groups.clear(ids)
        self._values.forget(gone)
        self._trees.clear(ids)

    def parts(self) -> Mapping[str, Part]:
        return {"values": self._values, "counters": self._counters, "groups": self._groups, "trees": self._trees}


class _Items(NamedTuple):
    """The items of events: ids, whether they have a value, their rows, the floors of their slices, and their order."""

    ids: Int64s
    listed: Bools
    rows: Int64s
    floor: Int64s
    value: Int64s


class _Counters(NamedTuple):
    """By item its count and the floors that it has a counter beside; by group δ, and how many items are above it."""

    rows: Int64s
    covered: Int64s
    threshold: Int64s
    above: Int64s


@compiled
def _sweep(
    events: GroupEvents, items: _Items, most: int, counters: _Counters, ranks: Ranks, trees: Trees
) -> tuple[Int64s, Int64s, Int64s, Bools]:
    """After each last event of an instant: where its items end, the items (count, value, most), δ, and whether all
    are there.
    """
    group, change, is_last = events.group, events.change, events.is_last
    ids, listed, rows, floor, value = items.ids, items.listed, items.rows, items.floor, items.value
    by_count, by_value = ranks.first, ranks.second
    roots, nodes, tally, path = trees.roots, trees.nodes, trees.tally, trees.path
    counts, covered, threshold, above = counters.rows, counters.covered, counters.threshold, counters.above
    ends = np.zeros(events.instants + 1, np.int64)
    found = np.empty((max(16, events.instants), 3), np.int64)
    thresholds, complete = np.empty(events.instants, np.int64), np.empty(events.instants, np.bool_)
    place = total = 0
    for i in range(len(group)):
        g, item = group[i], ids[i]
        if change[i] != 0 and not listed[i]:
            threshold[g] += change[i] * floor[i]
        elif change[i] != 0:
            before, was_above = counts[item], counts[item] > covered[item]
            after = before + change[i] * rows[i]
            counts[item] = after
            covered[item] += change[i] * floor[i]
            above[g] += np.int64(after > covered[item]) - np.int64(was_above)
            for old, by in ((before, -1), (after, 1)):
                if old > 0:
                    entry = Entry(-old, value[i], item)
                    roots[g] = change_count(roots[g], entry, by, by_count, by_value, nodes, tally, path)
        if is_last[i]:
            found, total = _append_items(roots[g], most, threshold[g], covered, nodes, found, total)
            thresholds[place] = threshold[g]
            complete[place] = above[g] == total - ends[place]
            place += 1
            ends[place] = total
    return ends, found[:total], thresholds, complete


@compiled
def _append_items(
    root: int, most: int, threshold: int, covered: Int64s, nodes: Int64s, found: Int64s, total: int
) -> tuple[Int64s, int]:
    """Write the items of a group behind the `total` that are there: those above δ, or the first `most`."""
    size = nodes[root, SIZE]
    longest = size if most == _ABOVE_THRESHOLD else min(most, size)
    for position in range(1, longest + 1):
        node = element_at(root, position, nodes)
        count = -nodes[node, VALUE]
        if most == _ABOVE_THRESHOLD and count <= threshold:
            break
        if total == len(found):
            longer = np.empty((2 * total, 3), np.int64)
            longer[:total] = found
            found = longer
        found[total, 0], found[total, 1] = count, nodes[node, SECOND]
        found[total, 2] = count + threshold - covered[nodes[node, THIRD]]
        total += 1
    return found, total
