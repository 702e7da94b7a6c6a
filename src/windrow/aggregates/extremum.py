"""MIN and MAX over rows that leave a group in the order in which they came.

A value is of no interest once a later one is as good: it will leave first. So for each group only a falling (for MIN,
rising) row of candidates is kept, as a queue: a new value drives out those at the back that it beats, and the front
is the answer (thesis 2.2.2 remarks that such tuples need not be stored). Rows are numbered as they come; a candidate
leaves with its number. Costs a constant a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from windrow.aggregates.quantile import Quantile
from windrow.batch.arrays import Bools, Int64s
from windrow.batch.column import Column
from windrow.batch.compiled import compiled
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.in_order import column_like, in_order, ranks_of
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts

_NONE = 0  # candidate 0 is none
_VALUE, _NUMBER, _BEFORE, _AFTER = range(4)  # fields of a candidate


class _Queues(NamedTuple):
    """By group the first and the last candidate, and how many rows came and left; candidates, and places for others."""

    front: Int64s
    back: Int64s
    came: Int64s
    left: Int64s
    fields: Int64s
    free: Int64s
    tally: Int64s  # candidates ever made (candidate 0 among them), and those free


@dataclass(frozen=True)
class Extremum(Quantile):
    """MIN(x) and MAX(x), not of wide decimals; cheaper where rows leave in the order in which they came."""

    def fresh_in_order(self) -> QueuedExtremes:
        return QueuedExtremes(largest=self.fraction == 1)


def minimum(column: int) -> Extremum:
    return Extremum(column, Fraction(0))


def maximum(column: int) -> Extremum:
    return Extremum(column, Fraction(1))


class QueuedExtremes(Parts):
    """The best value of each group. Not for wide decimals."""

    def __init__(self, largest: bool) -> None:
        self._turned = 0 if largest else -1  # turns all bits of a value over: the smallest becomes the largest
        self._groups = KeyedArrays(front=np.int64, back=np.int64, came=np.int64, left=np.int64)
        self._candidates = KeyedArrays(free=np.int64)
        self._candidates["fields"] = np.zeros((0, 4), np.int64)
        self._tally = KeyedArrays(count=np.int64)
        self._tally.reserve(2)
        self._tally["count"][0] = 1

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        (argument,) = values
        self._groups.reserve(events.capacity)
        self._tally.reserve(2)
        self._candidates.reserve(int(self._tally["count"][0]) + len(events.group))
        groups, candidates = self._groups, self._candidates
        ends = groups["front"], groups["back"]
        passed = groups["came"], groups["left"]
        queues = _Queues(*ends, *passed, candidates["fields"], candidates["free"], self._tally["count"])
        changes = events._replace(change=events.change * argument.valid_mask())
        found, present = _sweep(changes, in_order(argument)[0], ranks_of(argument), self._turned, queues)
        return column_like(argument, [found], present)

    def parts(self) -> Mapping[str, Part]:
        return {"groups": self._groups, "candidates": self._candidates, "tally": self._tally}


@compiled
def _sweep(events: GroupEvents, value: Int64s, ranks: Int64s, turned: int, queues: _Queues) -> tuple[Int64s, Bools]:
    group, change, is_last = events.group, events.change, events.is_last
    found, present = np.zeros(events.instants, np.int64), np.zeros(events.instants, np.bool_)
    place = 0
    for i in range(len(group)):
        g = group[i]
        if change[i] > 0:
            _append(g, value[i], ranks, turned, queues)
        elif change[i] < 0:
            queues.left[g] += 1
        if is_last[i]:
            # Only now: within an instant rows may leave before they come.
            best = _remove_left(g, queues)
            if best != _NONE:
                found[place], present[place] = queues.fields[best, _VALUE], True
            place += 1
    return found, present


@compiled
def _append(g: int, value: int, ranks: Int64s, turned: int, queues: _Queues) -> None:
    """A value comes to the back of a group's queue, in the place of those that it beats."""
    front, back, came = queues.front, queues.back, queues.came
    fields, free, tally = queues.fields, queues.free, queues.tally
    ranked = len(ranks) > 0
    order = turned ^ (ranks[value, 0] if ranked else value)
    last = back[g]
    while last != _NONE:
        earlier = fields[last, _VALUE]
        if turned ^ (ranks[earlier, 0] if ranked else earlier) > order:
            break
        free[tally[1]] = last
        tally[1] += 1
        last = fields[last, _BEFORE]
    if tally[1] > 0:
        tally[1] -= 1
        new = free[tally[1]]
    else:
        new = tally[0]
        tally[0] += 1
    fields[new, _VALUE], fields[new, _NUMBER] = value, came[g]
    fields[new, _BEFORE], fields[new, _AFTER] = last, _NONE
    if last == _NONE:
        front[g] = new
    else:
        fields[last, _AFTER] = new
    back[g] = new
    came[g] += 1


@compiled
def _remove_left(g: int, queues: _Queues) -> int:
    """Candidates whose rows have left go from the front of a group's queue; the best of the others."""
    front, back, came, left = queues.front, queues.back, queues.came, queues.left
    fields, free, tally = queues.fields, queues.free, queues.tally
    first = front[g]
    while first != _NONE and fields[first, _NUMBER] < left[g]:
        free[tally[1]] = first
        tally[1] += 1
        first = fields[first, _AFTER]
    front[g] = first
    if first == _NONE:
        back[g] = _NONE
        came[g] = left[g] = 0
    else:
        fields[first, _BEFORE] = _NONE
    return int(first)
