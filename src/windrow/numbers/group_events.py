"""What happens to groups, in the order of time: rows come (+1) or go (-1).

Where several events of a group fall on one instant, only what is there after the last of them is emitted: a kernel that
goes through events gives a value for each *last* one. A change of 0 changes nothing and may be the last.
"""

from __future__ import annotations

from typing import NamedTuple

from windrow.batch.arrays import Bools, Int8s, Int64s


class GroupEvents(NamedTuple):
    """Events in the order of time; all groups are below `capacity`."""

    group: Int64s
    change: Int8s
    is_last: Bools  # of its group and instant
    instants: int  # how many are
    capacity: int
