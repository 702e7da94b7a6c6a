"""Counts by group."""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.compiled import compiled
from windrow.numbers.group_events import GroupEvents


@compiled
def running_counts(events: GroupEvents, count: Int64s) -> Int64s:
    """The count of the group after each last event of an instant."""
    group, change, is_last = events.group, events.change, events.is_last
    emitted = np.empty(events.instants, np.int64)
    place = 0
    for i in range(len(group)):
        count[group[i]] += change[i]
        if is_last[i]:
            emitted[place] = count[group[i]]
            place += 1
    return emitted
