"""Groups of each level by time, the newest first: heaps in which the time of a group is changed in place.

All heaps lie in arrays of the same shape, a row for each level; `place` says where a group is in the heap of a level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.compiled import compiled

ABSENT = -1


class LevelHeaps(NamedTuple):
    """For a compiled loop."""

    group: Int64s  # by level and place in its heap
    time: Int64s  # theirs, in the same order
    place: Int64s  # by level and group
    used: Int64s  # places of each heap


@compiled
def set_time(level: int, g: int, when: int, heaps: LevelHeaps) -> None:
    """A later time of a group."""
    at = heaps.place[level, g]
    if at == ABSENT:
        at = heaps.used[level]
        heaps.used[level] += 1
        heaps.group[level, at] = g
    heaps.time[level, at] = when
    _sift_up(level, at, heaps)


@compiled
def newer(level: int, begin: int, heaps: LevelHeaps, result: Int64s) -> int:
    """The groups of a level that are not older, from the top of its heap down; how many there are."""
    group, time, used = heaps.group, heaps.time, heaps.used
    waiting = np.empty(128, np.int64)
    count, depth = 0, 0
    if used[level] > 0:
        waiting[0] = 0
        depth = 1
    while depth > 0:
        depth -= 1
        place = waiting[depth]
        while place < used[level] and time[level, place] >= begin:
            result[count] = group[level, place]
            count += 1
            waiting[depth] = 2 * place + 2
            depth += 1
            place = 2 * place + 1
    return count


@compiled
def forget(group: Int64s, heaps: LevelHeaps) -> None:
    for g in group:
        for level in range(len(heaps.used)):
            at = heaps.place[level, g]
            if at == ABSENT:
                continue
            heaps.place[level, g] = ABSENT
            heaps.used[level] -= 1
            last = heaps.used[level]
            if at < last:
                moved = heaps.group[level, last]
                heaps.group[level, at], heaps.time[level, at] = moved, heaps.time[level, last]
                heaps.place[level, moved] = at
                _sift_up(level, at, heaps)
                _sift_down(level, heaps.place[level, moved], heaps)


@compiled
def _sift_up(level: int, place: int, heaps: LevelHeaps) -> None:
    groups, time, places, _ = heaps
    group, when = groups[level, place], time[level, place]
    while place > 0:
        parent = (place - 1) >> 1
        if time[level, parent] >= when:
            break
        groups[level, place], time[level, place] = groups[level, parent], time[level, parent]
        places[level, groups[level, place]] = place
        place = parent
    groups[level, place], time[level, place] = group, when
    places[level, group] = place


@compiled
def _sift_down(level: int, place: int, heaps: LevelHeaps) -> None:
    groups, time, places, used = heaps
    group, when = groups[level, place], time[level, place]
    while 2 * place + 1 < used[level]:
        child = 2 * place + 1
        if child + 1 < used[level] and time[level, child + 1] > time[level, child]:
            child += 1
        if time[level, child] <= when:
            break
        groups[level, place], time[level, place] = groups[level, child], time[level, child]
        places[level, groups[level, place]] = place
        place = child
    groups[level, place], time[level, place] = group, when
    places[level, group] = place
