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
_VALUE, _NUMBER, _BEFORE, _AFTER, _FREE = range(5)  # fields of a candidate; the last one lists those that are free
_FRONT, _BACK, _CAME, _LEFT = range(4)  # fields of a group: its first and last candidate, rows that came and left


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
        self._groups, self._candidates = KeyedArrays(), KeyedArrays()
        self._groups["fields"] = np.zeros((0, 4), np.int64)
        self._candidates["fields"] = np.zeros((0, 5), np.int64)
        self._tally = KeyedArrays(count=np.int64)  # candidates ever made (candidate 0 among them), and those free
        self._tally.reserve(2)
        self._tally["count"][0] = 1

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        (argument,) = values
        self._groups.reserve(events.capacity)
        self._tally.reserve(2)
        self._candidates.reserve(int(self._tally["count"][0]) + len(events.group))
        changes = events._replace(change=events.change * argument.valid_mask())
        groups, candidates, tally = self._groups["fields"], self._candidates["fields"], self._tally["count"]
        value, ranks = in_order(argument)[0], ranks_of(argument)
        found, present = _sweep(changes, value, ranks, self._turned, groups, candidates, tally)
        return column_like(argument, [found], present)

    def parts(self) -> Mapping[str, Part]:
        return {"groups": self._groups, "candidates": self._candidates, "tally": self._tally}


@compiled
def _sweep(
    events: GroupEvents,
    value: Int64s,
    ranks: Int64s,
    turned: int,
    groups: Int64s,
    candidates: Int64s,
    tally: Int64s,
) -> tuple[Int64s, Bools]:
    group, change, is_last = events.group, events.change, events.is_last
    found, present = np.zeros(events.instants, np.int64), np.zeros(events.instants, np.bool_)
    place = 0
    for i in range(len(group)):
        g = group[i]
        if change[i] > 0:
            _append(g, value[i], ranks, turned, groups, candidates, tally)
        elif change[i] < 0:
            groups[g, _LEFT] += 1
        if is_last[i]:
            # Only now: within an instant rows may leave before they come.
            best = _remove_left(g, groups, candidates, tally)
            if best != _NONE:
                found[place], present[place] = candidates[best, _VALUE], True
            place += 1
    return found, present


@compiled
def _append(g: int, value: int, ranks: Int64s, turned: int, groups: Int64s, candidates: Int64s, tally: Int64s) -> None:
    """A value comes to the back of a group's queue, in the place of those that it beats."""
    ranked = len(ranks) > 0
    order = turned ^ (ranks[value, 0] if ranked else value)
    last = groups[g, _BACK]
    while last != _NONE:
        earlier = candidates[last, _VALUE]
        if turned ^ (ranks[earlier, 0] if ranked else earlier) > order:
            break
        candidates[tally[1], _FREE] = last
        tally[1] += 1
        last = candidates[last, _BEFORE]
    if tally[1] > 0:
        tally[1] -= 1
        new = candidates[tally[1], _FREE]
    else:
        new = tally[0]
        tally[0] += 1
    candidates[new, _VALUE], candidates[new, _NUMBER] = value, groups[g, _CAME]
    candidates[new, _BEFORE], candidates[new, _AFTER] = last, _NONE
    if last == _NONE:
        groups[g, _FRONT] = new
    else:
        candidates[last, _AFTER] = new
    groups[g, _BACK] = new
    groups[g, _CAME] += 1


@compiled
def _remove_left(g: int, groups: Int64s, candidates: Int64s, tally: Int64s) -> int:
    """Candidates whose rows have left go from the front of a group's queue; the best of the others."""
    first = groups[g, _FRONT]
    while first != _NONE and candidates[first, _NUMBER] < groups[g, _LEFT]:
        candidates[tally[1], _FREE] = first
        tally[1] += 1
        first = candidates[first, _AFTER]
    groups[g, _FRONT] = first
    if first == _NONE:
        groups[g, _BACK] = _NONE
        groups[g, _CAME] = groups[g, _LEFT] = 0
    else:
        candidates[first, _BEFORE] = _NONE
    return int(first)
