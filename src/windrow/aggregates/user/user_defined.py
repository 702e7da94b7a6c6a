"""Aggregates of the user's own, kept in one of two ways.

Where a part can be subtracted, a group has one state: the rows of a step that come are merged into it and those that go
are subtracted, in running merges over the instants of the step. Otherwise the different values of a group are the
leaves of a merge tree; a leaf stands for as many equal rows as there are, or for one when repeats do not matter. Values
that change within a step are taken out of the tree for its length, and merged over the stretches of instants at which
they are there, with what is left of the tree. A step of m events on groups of n values costs m · (log m + log n) merges
in log m + log n calls.

Rows with a null among the arguments are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from windrow.aggregates.aggregate import Accumulator
from windrow.aggregates.distinct_values import values_of_groups
from windrow.aggregates.user.merge_tree import MergeTrees, ValueNumbers
from windrow.aggregates.user.merging import over_instants, powers, reduced, running
from windrow.aggregates.user.user_functions import ABSENT, FAILED, States, UserFunctions, concat_states
from windrow.batch.arrays import Array, Bools, Int64s
from windrow.batch.column import Column
from windrow.batch.dictionary import Dictionary
from windrow.errors import AggregateError
from windrow.numbers.group_events import GroupEvents
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.plain_values import objects_from_bytes, objects_to_bytes
from windrow.state.snapshot import OnePiece, Part, Parts, Piece
from windrow.types import BIGINT, Type


@dataclass(frozen=True)
class UserDefined:
    """An aggregate of functions `initial`, `add`, `merge`, `finish` and perhaps `subtract`."""

    name: str
    columns: tuple[int, ...]
    functions: Any
    result: Type
    dictionary: Dictionary = field(repr=False)
    report: Callable[[AggregateError], None]
    vectorized: bool = False
    subtracts: bool = False
    duplicate_sensitive: bool = True

    @property
    def arguments(self) -> tuple[int, ...]:
        return self.columns

    def fresh(self) -> Accumulator:
        functions = UserFunctions(self.name, self.functions, self.vectorized, self.result, self.dictionary, self.report)
        return Subtracting(functions) if self.subtracts else Merging(functions, self.duplicate_sensitive)


class _Changes(NamedTuple):
    """The events of a step that change something, by group and time; instants are numbered in the same order."""

    group: Int64s
    change: Int64s
    instant: Int64s  # the number of the instant that each falls on
    values: tuple[Column, ...]
    group_of_instant: Int64s  # of each instant
    first: Bools  # whether a instant is the first of its group
    back: Int64s  # the numbers of the instants in the order of time

    @property
    def last(self) -> Bools:
        """Whether a instant is the last of its group."""
        return np.append(self.first[1:], True)[: len(self.first)]

    @property
    def ends(self) -> Int64s:
        """For each instant, the number of the first instant of the next group."""
        starts = np.append(np.flatnonzero(self.first), len(self.first))
        return np.repeat(starts[1:], np.diff(starts))


def _changes(events: GroupEvents, values: tuple[Column, ...]) -> _Changes:
    change = events.change.astype(np.int64)
    for column in values:
        change = change * column.valid_mask()
    order = np.argsort(events.group, kind="stable")
    is_last = events.is_last[order]
    number: Int64s = np.cumsum(is_last) - is_last
    last_events = order[is_last]
    group_of_instant = events.group[last_events]
    first = np.ones(len(last_events), np.bool_)
    first[1:] = group_of_instant[1:] != group_of_instant[:-1]
    back = np.argsort(last_events)
    kept = change[order] != 0
    rows = order[kept]
    return _Changes(
        events.group[rows],
        change[rows],
        number[kept],
        tuple(c.take(rows) for c in values),
        group_of_instant,
        first,
        back,
    )


class Subtracting(Parts):
    """One state a group."""

    def __init__(self, functions: UserFunctions) -> None:
        self._functions = functions
        self._states = _StoredStates(functions)
        self._counts = KeyedArrays(rows=np.int64, failed=np.int64)

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        changes, functions = _changes(events, values), self._functions
        self._counts.reserve(events.capacity)
        lifted = functions.lifted(changes.values)
        failed = lifted.status == FAILED
        rows = self._counted("rows", changes, changes.change)
        bad = self._counted("failed", changes, changes.change * failed)
        # An empty group begins anew, so that nothing is left of what has gone.
        empty = rows == 0
        starts = changes.first.copy()
        starts[1:] |= empty[:-1]
        held = self._states.read(changes.group_of_instant).where(~changes.first, ABSENT)
        come, gone = (
            self._running(changes, lifted, starts, (changes.change == sign) & ~failed, held if sign > 0 else None)
            for sign in (1, -1)
        )
        states = functions.subtracted(come, gone).where(empty, ABSENT)
        last = changes.last
        self._states.write(changes.group_of_instant[last], states.take(last))
        return functions.finished(states.where(bad > 0, FAILED)).take(changes.back)

    def _counted(self, name: str, changes: _Changes, by: Int64s) -> Int64s:
        """A count of each group after each instant, kept for the next step."""
        deltas = np.bincount(changes.instant, by, len(changes.first)).astype(np.int64)
        total = np.cumsum(deltas)
        group_first = np.maximum.accumulate(np.where(changes.first, np.arange(len(total)), 0))
        counts: Int64s = self._counts[name][changes.group_of_instant] + total - (total - deltas)[group_first]
        last = changes.last
        self._counts[name][changes.group_of_instant[last]] = counts[last]
        return counts

    def _running(self, changes: _Changes, lifted: States, starts: Bools, chosen: Bools, held: States | None) -> States:
        """What has come, or gone, since the last start, after each instant."""
        places = np.flatnonzero(chosen)
        instants, states = reduced(self._functions, lifted.take(places), changes.instant[places])
        each = self._functions.absent(len(starts)).put(instants, states)
        if held is not None:
            each = self._functions.merged(held, each)
        return running(self._functions, each, starts)

    def clear(self, ids: Int64s) -> None:
        self._states.write(ids, self._functions.absent(len(ids)))
        self._counts.clear(ids)

    def parts(self) -> Mapping[str, Part]:
        return {"states": self._states, "counts": self._counts}


class _StoredStates(OnePiece):
    """The states of groups; a user's objects are pickled in a snapshot."""

    def __init__(self, functions: UserFunctions) -> None:
        self._packages = functions.packages
        self._states = functions.absent(0)

    def read(self, groups: Int64s) -> States:
        self._states = self._states.grown_to(int(groups.max()) + 1 if len(groups) else 0)
        return self._states.take(groups)

    def write(self, groups: Int64s, states: States) -> None:
        self._changes += 1
        self._states = self._states.put(groups, states)

    def _piece(self) -> Piece:
        columns = {str(place): packed(column, self._packages) for place, column in enumerate(self._states.columns)}
        objects = np.array([column.dtype == object for column in self._states.columns], np.bool_)
        return Piece({"status": self._states.status.copy(), "objects": objects, **columns})

    def _read(self, piece: Piece) -> None:
        columns = tuple(
            unpacked(piece.arrays[str(place)], bool(is_packed), self._packages)
            for place, is_packed in enumerate(piece.arrays["objects"])
        )
        self._states = States(piece.arrays["status"].copy(), columns)


def packed(column: Array, packages: Collection[str]) -> Array:
    """States as an array that can be written: a user's objects are pickled."""
    return np.frombuffer(objects_to_bytes(column, packages), np.uint8) if column.dtype == object else column.copy()


def unpacked(array: Array, is_packed: bool, packages: Collection[str]) -> Array:
    return objects_from_bytes(array.tobytes(), packages) if is_packed else array.copy()


class Merging(Parts):
    """The values of each group, counted, in a merge tree."""

    def __init__(self, functions: UserFunctions, duplicate_sensitive: bool) -> None:
        self._functions = functions
        self._most = np.iinfo(np.int64).max if duplicate_sensitive else 1
        self._values = KeyDirectory()
        self._counts = KeyedArrays(count=np.int64)
        self._numbers = ValueNumbers()
        self._trees = MergeTrees(functions)

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        changes, functions = _changes(events, values), self._functions
        ids = self._values.intern((Column(BIGINT, changes.group), *changes.values), len(changes.group))
        self._counts.reserve(self._values.capacity)
        touched, where = np.unique(ids, return_index=True)
        lifted = functions.lifted(tuple(column.take(where) for column in changes.values))
        group, before = changes.group[where], self._counts["count"][touched].copy()
        stretches = self._stretches(changes, np.searchsorted(touched, ids), before, changes.group[where])
        np.add.at(self._counts["count"], ids, changes.change)
        after = self._counts["count"][touched]
        self._take_out(group[before > 0], touched[before > 0])
        base = self._roots(changes.group_of_instant[changes.first])
        pieces = powers(functions, lifted.take(stretches.value), np.minimum(stretches.times, self._most))
        states = over_instants(
            functions,
            concat_states([base, pieces]),
            np.concatenate([np.flatnonzero(changes.first), stretches.begin]),
            np.concatenate([changes.ends[changes.first], stretches.end]),
            len(changes.first),
        )
        self._put_in(group, touched, before, after, lifted)
        self._values.forget(touched[after == 0])
        return functions.finished(states).take(changes.back)

    def _stretches(self, changes: _Changes, value: Int64s, before: Int64s, group: Int64s) -> _Stretches:
        """How often each value is there, from instant to instant."""
        starts = np.flatnonzero(changes.first)
        place = np.searchsorted(changes.group_of_instant[starts], group)
        begin, end = starts[place], changes.ends[starts[place]]
        values = np.concatenate([np.arange(len(before)), value])
        times = np.concatenate([begin, changes.instant])
        counts = np.concatenate([before, changes.change])
        order = np.argsort(values, kind="stable")
        values, times, counts = values[order], times[order], np.cumsum(counts[order])
        first = np.ones(len(values), np.bool_)
        first[1:] = values[1:] != values[:-1]
        earlier = np.append(0, counts[np.flatnonzero(first)[1:] - 1])  # what the values before add up to
        counts = counts - earlier[values] if len(values) else counts
        until = np.where(np.append(first[1:], True), end[values], np.append(times[1:], 0)) if len(values) else times
        kept = (times < until) & (counts > 0)
        return _Stretches(values[kept], times[kept], until[kept], counts[kept])

    def _take_out(self, group: Int64s, value: Int64s) -> None:
        number = self._numbers.of_value["number"][value] if len(value) else value
        self._trees.put(group, number, self._functions.absent(len(value)), self._heights(group))

    def _put_in(self, group: Int64s, value: Int64s, before: Int64s, after: Int64s, lifted: States) -> None:
        coming, going = (before <= 0) & (after > 0), (before > 0) & (after <= 0)
        capacity = int(group.max()) + 1 if len(group) else 0
        self._numbers.change(group, value, coming, going, capacity, self._values.capacity)
        there = np.flatnonzero(after > 0)
        leaves = powers(self._functions, lifted.take(there), np.minimum(after[there], self._most))
        number = self._numbers.of_value["number"][value[there]]
        self._trees.put(group[there], number, leaves, self._heights(group[there]))

    def _roots(self, groups: Int64s) -> States:
        return self._trees.read(groups, self._heights(groups), np.zeros(len(groups), np.int64))

    def _heights(self, group: Int64s) -> Int64s:
        longest = int(group.max()) + 1 if len(group) else 0
        self._numbers.of_group.reserve(longest)
        return self._numbers.heights(group)

    def clear(self, ids: Int64s) -> None:
        gone = values_of_groups(self._values, ids)
        if not len(gone):
            return
        group, every = self._values.columns(gone)[0].values, np.ones(len(gone), np.bool_)
        self._take_out(group, gone)
        self._numbers.change(group, gone, ~every, every, int(group.max()) + 1, self._values.capacity)
        self._counts.clear(gone)
        self._values.forget(gone)

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        """The trees are merged again from the values: their shape follows from the numbers."""
        super().restore(pieces)
        ids = self._values.known()
        if not len(ids):
            return
        group, *values = self._values.columns(ids)
        counts = np.minimum(self._counts["count"][ids], self._most)
        leaves = powers(self._functions, self._functions.lifted(values), counts)
        number = self._numbers.of_value["number"][ids]
        self._trees.put(group.values, number, leaves, self._heights(group.values))

    def parts(self) -> Mapping[str, Part]:
        numbers = self._numbers
        named = {"numbers": numbers.of_value, "groups": numbers.of_group, "chains": numbers.chains}
        return {"values": self._values, "counts": self._counts, "tally": numbers.tally, **named}


class _Stretches(NamedTuple):
    """Values that are there, so many times, from one instant up to another."""

    value: Int64s
    begin: Int64s
    end: Int64s
    times: Int64s
