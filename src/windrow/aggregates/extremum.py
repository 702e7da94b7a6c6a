"""MIN and MAX over rows that leave a group in the order in which they came.

A value is of no interest once a later one is as good: it will leave first. So for each group only a falling (for MIN,
rising) row of candidates is kept, as a queue: a new value drives out those at the back that it beats, and the front
is the answer (thesis 2.2.2 remarks that such tuples need not be stored). Rows are numbered as they come; a candidate
leaves with its number. Costs a constant a row.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

import numpy as np

from windrow.aggregates.aggregate import GroupEvents
from windrow.batch.arrays import Bools, Int8s, Int64s
from windrow.batch.column import Column
from windrow.batch.compiled import compiled
from windrow.numbers.in_order import column_like, in_order, ranks_of
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Piece, Snapshot, restore_parts, snapshot_parts

_NONE = 0  # candidate 0 is none
_VALUE, _NUMBER, _BEFORE, _AFTER = range(4)  # fields of a candidate


class QueuedExtremes:
    """The best value of each group; `largest` is 1 for MAX and -1 for MIN. Not for wide decimals."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._groups = KeyedArrays(front=np.int64, back=np.int64, came=np.int64, left=np.int64)
        self._candidates = KeyedArrays(free=np.int64)
        self._candidates["fields"] = np.zeros((0, 4), np.int64)
        self._tally = KeyedArrays(count=np.int64)  # candidates ever made (candidate 0 among them), and those free
        self._tally.reserve(2)
        self._tally["count"][0] = 1

    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        (argument,) = values
        self._groups.reserve(events.capacity)
        self._tally.reserve(2)
        self._candidates.reserve(int(self._tally["count"][0]) + len(events.group))
        found, present = _sweep(
            events.group, events.change * argument.valid_mask(), in_order(argument)[0], ranks_of(argument),
            self._largest, events.telling, events.tellings,
            self._groups["front"], self._groups["back"], self._groups["came"], self._groups["left"],
            self._candidates["fields"], self._candidates["free"], self._tally["count"],
        )  # fmt: skip
        return column_like(argument, [found], present)

    def snapshot(self, known: Container[str]) -> Snapshot:
        return snapshot_parts(self._parts(), known)

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        restore_parts(self._parts(), pieces)

    def _parts(self) -> Mapping[str, KeyedArrays]:
        return {"groups": self._groups, "candidates": self._candidates, "tally": self._tally}


@compiled
def _sweep(
    group: Int64s, change: Int8s, value: Int64s, ranks: Int64s, largest: int, telling: Bools, tellings: int,
    front: Int64s, back: Int64s, came: Int64s, left: Int64s, fields: Int64s, free: Int64s, tally: Int64s,
) -> tuple[Int64s, Bools]:  # fmt: skip
    found, present = np.zeros(tellings, np.int64), np.zeros(tellings, np.bool_)
    place = 0
    for i in range(len(group)):
        g = group[i]
        if change[i] > 0:
            _append(g, value[i], ranks, largest, front, back, came, fields, free, tally)
        elif change[i] < 0:
            left[g] += 1
        if telling[i]:
            # Only now: within an instant rows may leave before they come.
            best = _remove_left(g, front, back, came, left, fields, free, tally)
            if best != _NONE:
                found[place], present[place] = fields[best, _VALUE], True
            place += 1
    return found, present


@compiled
def _append(
    g: int, value: int, ranks: Int64s, largest: int,
    front: Int64s, back: Int64s, came: Int64s, fields: Int64s, free: Int64s, tally: Int64s,
) -> None:  # fmt: skip
    """A value comes to the back of a group's queue, in the place of those that it beats."""
    ranked = len(ranks) > 0
    order = largest * (ranks[value, 0] if ranked else value)
    last = back[g]
    while last != _NONE:
        kept = fields[last, _VALUE]
        if largest * (ranks[kept, 0] if ranked else kept) > order:
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
def _remove_left(
    g: int, front: Int64s, back: Int64s, came: Int64s, left: Int64s, fields: Int64s, free: Int64s, tally: Int64s
) -> int:
    """Candidates whose rows have left go from the front of a group's queue; the best of the others."""
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
