"""Synopses of aggregates of the user's own: their states in the places of words, merged by their own functions.

The structures are those of `interval` and `running`; what is different is that a merge is a call of Python, so that
many are made in one: an update goes level by level through all groups, a lookup merges the intervals of all its windows
in as many calls as the longest list of them has binary digits. A row that a function failed on makes the windows null
that it is in, and no others.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from windrow.aggregates.user.merging import reduced, running
from windrow.aggregates.user.user_defined import packed, unpacked
from windrow.aggregates.user.user_functions import ABSENT, FAILED, States, UserFunctions
from windrow.batch.arrays import Array, Bools, Int64s
from windrow.batch.column import Column
from windrow.batch.compiled import compiled
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans, places, single
from windrow.synopses.positions.interval import base_intervals, node
from windrow.synopses.positions.running import Running
from windrow.synopses.positions.synopsis import Synopsis
from windrow.synopses.positions.word_aggregates import count
from windrow.types import BIGINT


class IntervalStates(Synopsis):
    """B-INT over states; rows with a null among the arguments are skipped."""

    def __init__(self, functions: UserFunctions) -> None:
        self._functions = functions
        self._states = functions.absent(0)

    @property
    def nbytes(self) -> int:
        """Without what the user's own objects hold."""
        return self._states.status.nbytes + sum(column.nbytes for column in self._states.columns)

    def insert(self, elements: Elements, arrivals: Arrivals, values: tuple[Column, ...]) -> None:
        self._insert(elements, arrivals, lifted(self._functions, values))

    def lookup(self, elements: Elements, spans: Spans) -> Column:
        rows, which = _covering(spans, elements.offset, elements.size)
        result, states = reduced(self._functions, self._states.take(rows), which)
        return self._functions.finished(self._functions.absent(len(spans.group)).put(result, states))

    def move(self, elements: Elements, moves: RingMoves) -> None:
        old, new = _moved(moves, elements.first, elements.next)
        kept = self._states.take(old)
        states = self._functions.absent(2 * moves.places) if moves.packed else self._states.grown_to(2 * moves.places)
        self._states = states.put(new, kept)

    def written(self, elements: Elements, spans: Spans) -> Mapping[str, Array]:
        return as_arrays(self._functions, self._states.take(places(spans, 2 * elements.offset, elements.size)))

    def read(self, elements: Elements, arrivals: Arrivals, arrays: Mapping[str, Array]) -> None:
        self._insert(elements, arrivals, from_arrays(self._functions, arrays))

    def _insert(self, elements: Elements, arrivals: Arrivals, states: States) -> None:
        """Level by level: an interval is merged anew from its halves when it is complete or its newest part changed."""
        if not len(arrivals.group):
            return
        functions, group, index = self._functions, arrivals.group, arrivals.position
        order = np.lexsort((index, group))
        rows, states = _reduced(functions, self._rows(elements, 0, group, index)[order], states.take(order))
        again = np.isin(rows, self._rows(elements, 0, group, index)[~arrivals.is_new])
        again &= ~np.isin(rows, self._rows(elements, 0, group, index)[arrivals.is_new])
        states = states.put(np.flatnonzero(again), functions.merged(self._states.take(rows[again]), states.take(again)))
        self._states = self._states.put(rows, states)
        level = 0
        while len(group):
            level += 1
            pairs = np.unique(np.stack([group, index >> 1], axis=1), axis=0)
            group, index = pairs[:, 0], pairs[:, 1]
            whole = ((index + 1) << level <= elements.next[group]) & (1 << level <= elements.size[group])
            group, index = group[whole], index[whole]
            left, right = (self._states.take(self._rows(elements, level - 1, group, 2 * index + n)) for n in (0, 1))
            self._states = self._states.put(self._rows(elements, level, group, index), functions.merged(left, right))

    def _rows(self, elements: Elements, level: int, group: Int64s, index: Int64s) -> Int64s:
        size = elements.size[group]
        rows: Int64s = 2 * elements.offset[group] + 2 * size - (2 * size >> level) + (index & ((size >> level) - 1))
        return rows


class RunningStates(Synopsis):
    """R-INT over states that can be subtracted. What failed is counted and left out of the running states."""

    def __init__(self, functions: UserFunctions) -> None:
        self._functions = functions
        self._states = functions.absent(0)  # at the place of a position: over all elements before it
        self._rows, self._failed = Running(count(of_partials=True)), Running(count(of_partials=True))

    @property
    def nbytes(self) -> int:
        own = self._states.status.nbytes + sum(column.nbytes for column in self._states.columns)
        return own + self._rows.nbytes + self._failed.nbytes

    def insert(self, elements: Elements, arrivals: Arrivals, values: tuple[Column, ...]) -> None:
        self._insert(elements, arrivals, lifted(self._functions, values))

    def lookup(self, elements: Elements, spans: Spans) -> Column:
        functions = self._functions
        rows, failed = (np.asarray(one.lookup(elements, spans).values) for one in (self._rows, self._failed))
        some = np.flatnonzero(rows > 0)
        group = spans.group[some]
        ends = (spans.end[some], spans.begin[some])
        upper, lower = (self._states.take(_places(elements, group, at)) for at in ends)
        states = functions.absent(len(rows)).put(some, functions.subtracted(upper, lower))
        return functions.finished(states.where(failed > 0, FAILED))

    def move(self, elements: Elements, moves: RingMoves) -> None:
        for one in (self._rows, self._failed):
            one.move(elements, moves)
        some = np.flatnonzero((moves.old_size > 0) & (moves.new_size > 0))
        group = moves.group[some]
        spans = Spans(some, elements.first[group], elements.next[group] + 1)
        kept = self._states.take(places(spans, moves.old_offset, moves.old_size))
        states = self._functions.absent(moves.places) if moves.packed else self._states.grown_to(moves.places)
        self._states = states.put(places(spans, moves.new_offset, moves.new_size), kept)

    def written(self, elements: Elements, spans: Spans) -> Mapping[str, Array]:
        """Single elements are differences; how many values, and failures, each stands for is written beside."""
        each = single(spans)
        upper, lower = (self._states.take(_places(elements, each.group, at)) for at in (each.end, each.begin))
        rows, failed = (one.lookup(elements, each).values.astype(np.int64) for one in (self._rows, self._failed))
        states = self._functions.subtracted(upper, lower).where(rows == 0, ABSENT)
        return {**as_arrays(self._functions, states), "rows": rows, "failed": failed}

    def read(self, elements: Elements, arrivals: Arrivals, arrays: Mapping[str, Array]) -> None:
        self._add(elements, arrivals, from_arrays(self._functions, arrays), arrays["rows"], arrays["failed"])

    def _insert(self, elements: Elements, arrivals: Arrivals, states: States) -> None:
        failed = states.status == FAILED
        rows = (states.status != ABSENT) & ~failed
        self._add(elements, arrivals, states.where(failed, ABSENT), rows.astype(np.int64), failed.astype(np.int64))

    def _add(self, elements: Elements, arrivals: Arrivals, states: States, rows: Int64s, failed: Int64s) -> None:
        self._rows.insert(elements, arrivals, (Column(BIGINT, rows),))
        self._failed.insert(elements, arrivals, (Column(BIGINT, failed),))
        if not len(arrivals.group):
            return
        functions = self._functions
        order = np.argsort(arrivals.group, kind="stable")  # positions rise within a group
        group, position = arrivals.group[order], arrivals.position[order]
        states = states.take(order)
        starts = np.ones(len(group), np.bool_)
        starts[1:] = group[1:] != group[:-1]
        first = np.flatnonzero(starts)
        before = position[first] + np.where(arrivals.is_new[order][first], 0, 1)  # what the first one is put to
        held = self._states.take(_places(elements, group[first], before))
        states = states.put(first, functions.merged(held, states.take(first)))
        summed = running(functions, states, starts)
        last = np.ones(len(group), np.bool_)
        last[:-1] = (group[1:] != group[:-1]) | (position[1:] != position[:-1])
        places = _places(elements, group[last], position[last] + 1)
        self._states = self._states.put(places, summed.take(last))


def lifted(functions: UserFunctions, values: tuple[Column, ...]) -> States:
    """The states of rows; absent where an argument is null."""
    valid: Bools = np.ones(len(values[0]), np.bool_)
    for column in values:
        valid = valid & column.valid_mask()
    places = np.flatnonzero(valid)
    states = functions.lifted(tuple(column.take(places) for column in values))
    return functions.absent(len(valid)).put(places, states)


def as_arrays(functions: UserFunctions, states: States) -> dict[str, Array]:
    objects = np.array([column.dtype == object for column in states.columns], np.bool_)
    columns = {f"column {place}": packed(column, functions.packages) for place, column in enumerate(states.columns)}
    return {"status": states.status.copy(), "objects": objects, **columns}


def from_arrays(functions: UserFunctions, arrays: Mapping[str, Array]) -> States:
    packs = enumerate(arrays["objects"].tolist())
    columns = tuple(unpacked(arrays[f"column {place}"], is_packed, functions.packages) for place, is_packed in packs)
    return States(arrays["status"].copy(), columns)


def _reduced(functions: UserFunctions, rows: Int64s, states: States) -> tuple[Int64s, States]:
    order = np.argsort(rows, kind="stable")
    return reduced(functions, states.take(order), rows[order])


def _places(elements: Elements, group: Int64s, position: Int64s) -> Int64s:
    return places(Spans(group, position, position + 1), elements.offset, elements.size)


@compiled
def _covering(spans: Spans, offset: Int64s, size: Int64s) -> tuple[Int64s, Int64s]:
    """The rows of the intervals that spans are made of, and which span each is for."""
    group, begin, end = spans
    levels, indexes, total = np.empty(128, np.int64), np.empty(128, np.int64), 0
    for i in range(len(group)):
        total += base_intervals(begin[i], end[i], levels, indexes)
    rows, which, place = np.empty(total, np.int64), np.empty(total, np.int64), 0
    for i in range(len(group)):
        count = base_intervals(begin[i], end[i], levels, indexes)
        for n in range(count):
            rows[place], which[place] = node(offset[group[i]], size[group[i]], levels[n], indexes[n]), i
            place += 1
    return rows, which


@compiled
def _moved(moves: RingMoves, first: Int64s, next: Int64s) -> tuple[Int64s, Int64s]:
    """The rows that intervals had, and those that they get."""
    total = 0
    for g in moves.group:
        total += 2 * (next[g] - first[g])
    old, new, place = np.empty(total, np.int64), np.empty(total, np.int64), 0
    for i in range(len(moves.group)):
        g, old_size, new_size = moves.group[i], moves.old_size[i], moves.new_size[i]
        level = 0
        while (1 << level) <= min(old_size, new_size):
            for index in range((first[g] + (1 << level) - 1) >> level, next[g] >> level):
                old[place] = node(moves.old_offset[i], old_size, level, index)
                new[place] = node(moves.new_offset[i], new_size, level, index)
                place += 1
            level += 1
    return old[:place], new[:place]
