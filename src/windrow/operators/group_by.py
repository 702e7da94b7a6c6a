"""Grouping with aggregation: one row a group, replaced whenever its value changes (thesis 2.2.2 and 3.5.2).

Arrivals and ends are swept in the order of time. A group has a *version* after each instant at which something happened
to it; versions that say the same as the one before are dropped. A version that is replaced within the segment is one
tuple with both ends, the last one is open, and the row shown before the segment is taken back by a negative tuple.
Without keys there is one group, which is there from the start and when it is empty.

Keeps one row a group and what the accumulators need; and, for inputs whose ends are known, the arguments of rows until
they end. Costs a constant an event and aggregate, a logarithm for aggregates that need values in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from windrow.batch.arrays import Bools, Int64s, grown
from windrow.batch.batch import Batch, Segment, concat
from windrow.batch.column import Column, concat_columns, nulls
from windrow.batch.compiled import compiled
from windrow.batch.words import words_of
from windrow.operators.aggregates.aggregate import Accumulator, Aggregate, CheaperInOrder, GroupEvents
from windrow.operators.aggregates.count import Counts
from windrow.operators.operator import Parts
from windrow.operators.sweep import Events, events_of
from windrow.state import STRUCTURES, StructureKind
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.shown_rows import ShownRows
from windrow.state.snapshot import Part
from windrow.units import FOREVER


class GroupByState(Parts):
    """Groups, the row each shows, accumulators, and the ends of rows that are to come."""

    def __init__(self, spec: GroupBy) -> None:
        self.groups = KeyDirectory()
        self.rows = Counts(count=np.int64)
        self.shown = ShownRows()
        self.accumulators = [_accumulator(aggregate, spec.structure) for aggregate in spec.aggregates]
        self.ends = STRUCTURES[spec.structure]()
        self.begun = KeyedArrays(yes=np.bool_)
        self.begun.reserve(1)
        self.marks: Int64s = np.zeros(0, np.int64)  # scratch: by group, a mark of the latest instant

    def __len__(self) -> int:
        return len(self.groups) + len(self.ends)

    def parts(self) -> Mapping[str, Part]:
        named = {f"aggregate{i}": cast(Part, part) for i, part in enumerate(self.accumulators)}
        kept: dict[str, Part] = {"groups": self.groups, "rows": self.rows, "shown": self.shown, "ends": self.ends}
        return {**kept, "begun": self.begun, **named}


def _accumulator(aggregate: Aggregate, structure: StructureKind) -> Accumulator:
    if structure is StructureKind.FIFO and isinstance(aggregate, CheaperInOrder):
        return aggregate.fresh_in_order()
    return aggregate.fresh()


class Versions(NamedTuple):
    """What groups show after instants: sorted by group, and by time within a group."""

    group: Int64s
    time: Int64s
    present: Bools
    columns: tuple[Column, ...]  # the aggregates


@dataclass(frozen=True)
class GroupBy:
    """The columns that come out are the keys and then the aggregates."""

    keys: tuple[int, ...]
    aggregates: tuple[Aggregate, ...]
    structure: StructureKind = StructureKind.CALENDAR

    def fresh_state(self) -> GroupByState:
        return GroupByState(self)

    @cached_property
    def arguments(self) -> tuple[int, ...]:
        """The columns that aggregates read: all that has to be kept of a row until it ends."""
        return tuple(sorted({column for aggregate in self.aggregates for column in aggregate.arguments}))

    def step(self, state: GroupByState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        versions = self._versions(state, rows, segment)
        output = self._changes(state, versions, rows)
        ended = versions.group[~versions.present]
        state.groups.forget(ended[state.rows["count"][ended] == 0] if self.keys else ended[:0])
        return output.sorted_by_time()

    def _versions(self, state: GroupByState, rows: Batch, segment: Segment) -> Versions:
        ids = state.groups.intern(rows.select(self.keys), len(rows))
        events = events_of(ids, rows.with_columns(rows.select(self.arguments)), state.ends, segment)
        arguments = tuple(column.take(events.row) for column in events.rows.columns)
        if not self.keys and not state.begun["yes"][0]:
            events, arguments = self._with_beginning(state, events, arguments, segment)
        told = self._telling(state, events)
        values = [
            accumulator.sweep(told, tuple(arguments[self.arguments.index(c)] for c in aggregate.arguments))
            for aggregate, accumulator in zip(self.aggregates, state.accumulators, strict=True)
        ]
        present = state.rows.sweep(told, ()).values > 0
        group, time = events.key[told.telling], events.time[told.telling]
        order = np.argsort(group, kind="stable")
        columns = tuple(column.take(order) for column in values)
        return Versions(group[order], time[order], present[order] | (not self.keys), columns)

    def _with_beginning(
        self, state: GroupByState, events: Events, arguments: tuple[Column, ...], segment: Segment
    ) -> tuple[Events, tuple[Column, ...]]:
        """The one group without keys shows itself from the first instant on: an event that changes nothing."""
        state.begun.reserve(1)
        state.begun["yes"][0] = True
        only = state.groups.intern((), 1)
        started = Events(
            np.concatenate([[segment.begin], events.time]),
            np.concatenate([only, events.key]),
            np.concatenate([np.zeros(1, np.int8), events.change]),
            events.row,
            events.rows,
        )
        return started, tuple(concat_columns([nulls(c.type, 1, c.dictionary), c]) for c in arguments)

    def _telling(self, state: GroupByState, events: Events) -> GroupEvents:
        capacity = state.groups.capacity
        state.marks = grown(state.marks, capacity)
        telling = _last_of_instant(events.key, events.time, state.marks)
        return GroupEvents(events.key, events.change, telling, int(np.count_nonzero(telling)), capacity)

    def _changes(self, state: GroupByState, versions: Versions, rows: Batch) -> Batch:
        """From versions to changes: what differs from the version before, and how long it is shown."""
        group = versions.group
        if not len(group):
            return _empty(rows, self.keys, versions.columns)
        first = np.ones(len(group), np.bool_)
        first[1:] = group[1:] != group[:-1]
        old_present, old = state.shown.look_up(group[first], versions.columns)
        changed = self._changed(versions, first, old_present, old)
        last = np.append(first[1:], True)
        state.shown.replace(
            group[last], versions.present[last], tuple(column.take(last) for column in versions.columns)
        )
        kept = np.flatnonzero(changed)
        until = np.full(len(kept), FOREVER, np.int64)
        followed = group[kept[1:]] == group[kept[:-1]]
        until[:-1][followed] = versions.time[kept[1:]][followed]
        shown = versions.present[kept]
        opened = self._rows(state, versions, kept[shown], until[shown])
        lead = np.ones(len(kept), np.bool_)
        lead[1:] = ~followed
        closing = kept[lead]
        taken = np.searchsorted(group[first], group[closing])
        taken_back = old_present[taken]
        columns = (*state.groups.columns(group[closing][taken_back]), *(c.take(taken[taken_back]) for c in old))
        count = int(np.count_nonzero(taken_back))
        closed = Batch(
            columns if count else opened.slice(0, 0).columns,
            versions.time[closing][taken_back],
            np.full(count, FOREVER, np.int64),
            np.full(count, -1, np.int8),
        )
        return concat([opened, closed])

    def _changed(self, versions: Versions, first: Bools, old_present: Bools, old: tuple[Column, ...]) -> Bools:
        """The versions that differ from the one before, which for the first of a group is the row shown so far."""
        words = words_of(versions.columns, len(first))
        before, present_before = np.empty_like(words), np.empty(len(first), np.bool_)
        before[1:], present_before[1:] = words[:-1], versions.present[:-1]
        before[first], present_before[first] = words_of(old, len(old_present)), old_present
        same = (words == before).all(axis=1) & versions.present & present_before
        return np.asarray(~same & (versions.present | present_before))

    def _rows(self, state: GroupByState, versions: Versions, kept: Int64s, until: Int64s) -> Batch:
        keys = state.groups.columns(versions.group[kept])
        columns = (*keys, *(column.take(kept) for column in versions.columns))
        return Batch(columns, versions.time[kept], until, np.ones(len(kept), np.int8))


def _empty(rows: Batch, keys: tuple[int, ...], aggregates: tuple[Column, ...]) -> Batch:
    none = rows.slice(0, 0)
    return none.with_columns((*none.select(keys), *aggregates))


@compiled
def _last_of_instant(group: Int64s, time: Int64s, marks: Int64s) -> Bools:
    """The events after which no other of the same group and instant comes. `marks` is all zeros, and left so."""
    last = np.zeros(len(group), np.bool_)
    end = len(group)
    while end > 0:
        start = end
        while start > 0 and time[start - 1] == time[end - 1]:
            start -= 1
        for i in range(end - 1, start - 1, -1):
            if marks[group[i]] == 0:
                last[i] = True
                marks[group[i]] = 1
        for i in range(start, end):
            marks[group[i]] = 0
        end = start
    return last
