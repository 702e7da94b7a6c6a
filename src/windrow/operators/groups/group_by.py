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
from typing import ClassVar, NamedTuple, Protocol, cast

import numpy as np

from windrow.aggregates.aggregate import Accumulator, Aggregate, CheaperInOrder
from windrow.aggregates.count import Count, Counts
from windrow.batch.arrays import Bools, Int8s, Int64s, grown
from windrow.batch.batch import Batch, Segment, inserts
from windrow.batch.column import Column, concat_columns, nulls
from windrow.batch.compiled import compiled
from windrow.batch.words import same_as_before
from windrow.numbers.group_events import GroupEvents
from windrow.operators.operator import Remembers
from windrow.operators.sweep import Events, events_of
from windrow.state import STRUCTURES, StructureKind
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.shown_rows import ShownRows
from windrow.state.snapshot import Part, Parts
from windrow.units import FOREVER


class ShowsGroups(Protocol):
    """A state with the groups, and the row that each of them shows."""

    groups: KeyDirectory
    shown: ShownRows
    marks: Int64s


class GroupByState(Parts):
    """Groups, the row each shows, accumulators, and the ends of rows that are to come."""

    def __init__(self, spec: GroupBy) -> None:
        self.groups = KeyDirectory()
        self.rows = Counts(count=np.int64)
        self.shown = ShownRows()
        self.accumulators = [
            self.rows if aggregate == Count() else _accumulator(aggregate, spec.structure)
            for aggregate in spec.aggregates
        ]
        self.ends = STRUCTURES[spec.structure]()
        self.begun = KeyedArrays(yes=np.bool_)
        self.begun.reserve(1)
        self.marks: Int64s = np.zeros(0, np.int64)  # scratch: by group, a mark of the latest instant

    def __len__(self) -> int:
        return len(self.groups) + len(self.ends)

    def parts(self) -> Mapping[str, Part]:
        others = [(i, part) for i, part in enumerate(self.accumulators) if part is not self.rows]
        named = {f"aggregate{i}": cast(Part, part) for i, part in others}
        kept: dict[str, Part] = {"groups": self.groups, "rows": self.rows, "shown": self.shown, "ends": self.ends}
        return {**kept, "begun": self.begun, **named}


def _accumulator(aggregate: Aggregate, structure: StructureKind) -> Accumulator:
    if structure is StructureKind.FIFO and isinstance(aggregate, CheaperInOrder):
        return aggregate.fresh_in_order()
    return aggregate.fresh()


class Versions(NamedTuple):
    """What groups show after instants, in the order of time."""

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

    remembers: ClassVar = Remembers.RESULTS

    def fresh_state(self) -> GroupByState:
        return GroupByState(self)

    @cached_property
    def arguments(self) -> tuple[int, ...]:
        """The columns that aggregates read: all that has to be kept of a row until it ends."""
        return tuple(sorted({column for aggregate in self.aggregates for column in aggregate.arguments}))

    def step(self, state: GroupByState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        versions = self._versions(state, rows, segment)
        output = self.changes(state, versions, rows)
        ended = versions.group[~versions.present]
        state.groups.forget(ended[state.rows["count"][ended] == 0] if self.keys else ended[:0])
        return output.sorted_by_time()

    def alive(self, state: GroupByState, inputs: Sequence[Batch], at: int) -> Batch:
        ids = state.shown.present()
        if not len(ids):  # a first step knows the columns
            return self.step(self.fresh_state(), inputs, Segment(at - 1, at)).slice(0, 0)
        _, aggregates = state.shown.look_up(ids, ())
        return inserts((*state.groups.columns(ids), *aggregates), np.full(len(ids), at - 1, np.int64))

    def _versions(self, state: GroupByState, rows: Batch, segment: Segment) -> Versions:
        ids = state.groups.intern(rows.select(self.keys), len(rows))
        events = events_of(ids, rows.with_columns(rows.select(self.arguments)), state.ends, segment)
        if not self.keys and not state.begun["yes"][0]:
            events = self._with_beginning(state, events, segment)
        of_groups = self._group_events(state, events)
        counts = state.rows.sweep(of_groups, ())
        values = [
            counts
            if accumulator is state.rows
            else accumulator.sweep(
                of_groups, tuple(events.columns[self.arguments.index(c)] for c in aggregate.arguments)
            )
            for aggregate, accumulator in zip(self.aggregates, state.accumulators, strict=True)
        ]
        present = counts.values > 0
        group, time = events.key, events.time
        if of_groups.instants < len(group):
            group, time = group[of_groups.is_last], time[of_groups.is_last]
        return Versions(group, time, present | (not self.keys), tuple(values))

    def _with_beginning(self, state: GroupByState, events: Events, segment: Segment) -> Events:
        """The one group without keys shows itself from the first instant on: an event that changes nothing."""
        state.begun.reserve(1)
        state.begun["yes"][0] = True
        only = state.groups.intern((), 1)
        return Events(
            np.concatenate([[segment.begin], events.time]),
            np.concatenate([only, events.key]),
            np.concatenate([np.zeros(1, np.int8), events.change]),
            tuple(concat_columns([nulls(c.type, 1, c.dictionary), c]) for c in events.columns),
        )

    def _group_events(self, state: GroupByState, events: Events) -> GroupEvents:
        capacity = state.groups.capacity
        if bool((events.time[1:] > events.time[:-1]).all()):
            return GroupEvents(events.key, events.change, np.ones(len(events.key), np.bool_), len(events.key), capacity)
        state.marks = grown(state.marks, capacity)
        is_last = _last_of_instant(events.key, events.time, state.marks)
        return GroupEvents(events.key, events.change, is_last, int(np.count_nonzero(is_last)), capacity)

    def changes(self, state: ShowsGroups, versions: Versions, rows: Batch) -> Batch:
        """From versions to changes: what differs from the version before, and how long it is shown."""
        group = versions.group
        if not len(group):
            return _empty(rows, self.keys, versions.columns)
        state.marks = grown(state.marks, state.groups.capacity)
        before, first, last = _chained(group, state.marks)
        old_present, old = state.shown.look_up(group[first], versions.columns)
        state.shown.replace(group[last], versions.present[last], tuple(c.take(last) for c in versions.columns))
        # The rows shown so far, and behind them the versions: one column of both, and one kind of position.
        columns = tuple(concat_columns(both) for both in zip(old, versions.columns, strict=True))
        present = np.concatenate([old_present, versions.present])
        shown, ts, exp, sign = _shown(same_as_before(columns, before), present, before, versions.time)
        keys = np.concatenate([group[first], group]).take(shown)
        return Batch((*state.groups.columns(keys), *(column.take(shown) for column in columns)), ts, exp, sign)


def _empty(rows: Batch, keys: tuple[int, ...], aggregates: tuple[Column, ...]) -> Batch:
    none = rows.slice(0, 0)
    return none.with_columns((*none.select(keys), *aggregates))


@compiled
def _chained(group: Int64s, marks: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """What each version replaces; and the first and the last version of each group.

    Positions of what is replaced are of the rows that groups have shown so far, one for each, and then of versions.
    `marks` is all zeros, and left so.
    """
    before = np.empty(len(group), np.int64)
    first, last = np.empty(len(group), np.int64), np.empty(len(group), np.int64)
    count = 0
    for i in range(len(group)):
        before[i] = marks[group[i]] - 1
        marks[group[i]] = i + 1
        if before[i] < 0:
            first[count] = i
            count += 1
    for i in range(len(group)):
        before[i] += count
    for i in range(count):
        before[first[i]] = i
        last[i] = marks[group[first[i]]] - 1
        marks[group[first[i]]] = 0
    return before, first[:count], last[:count]


@compiled
def _shown(same: Bools, present: Bools, before: Int64s, time: Int64s) -> tuple[Int64s, Int64s, Int64s, Int8s]:
    """The tuples that come out, in the order of time: position of the row, ts, exp, sign.

    Positions are of rows shown so far and then of versions; `same` (as what is replaced), `before` and `time` are of
    the versions.
    """
    room, shown_so_far = 2 * len(before), len(present) - len(before)
    rows, begins = np.empty(room, np.int64), np.empty(room, np.int64)
    ends, signs = np.empty(room, np.int64), np.empty(room, np.int8)
    open_tuple = np.full(len(present), -1, np.int64)  # by position: the tuple that shows it, -1 for one of before
    count = 0
    for i in range(len(before)):
        this, previous = i + shown_so_far, before[i]
        if present[this] == present[previous] and (same[i] or not present[this]):
            open_tuple[this] = open_tuple[previous]
            continue
        if present[previous]:
            if open_tuple[previous] >= 0:
                ends[open_tuple[previous]] = time[i]
            else:
                rows[count], begins[count], ends[count], signs[count] = previous, time[i], FOREVER, -1
                count += 1
        if present[this]:
            rows[count], begins[count], ends[count], signs[count] = this, time[i], FOREVER, 1
            open_tuple[this] = count
            count += 1
    return rows[:count], begins[:count], ends[:count], signs[:count]


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
