"""The sweep: begins and ends of lifetimes in the order of time, the common first half of every strict operator.

Inside a segment a tuple gives up to two events: at its begin the count of its key changes by its sign, at its end by
the opposite. Ends that lie beyond the segment are filed in a structure until their segment comes; ends that are not
known are never filed, a negative tuple will bring the event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Int8s, Int64s
from windrow.batch.batch import Batch, Segment, concat
from windrow.batch.column import Column
from windrow.state.structure import Structure
from windrow.units import FOREVER


class Events(NamedTuple):
    """Changes of counts, in the order of time, and the columns of the rows that cause them."""

    time: Int64s
    key: Int64s
    change: Int8s
    columns: tuple[Column, ...]


def events_of(keys: Int64s, rows: Batch, ends: Structure, segment: Segment) -> Events:
    """The events of the segment, given its new rows; `ends` holds the ends that are to come."""
    filed = rows.exp != FOREVER
    if filed.all():
        return events_of_all(keys, rows, ends, segment)
    if filed.any():
        ends.insert(keys[filed], rows.take(filed))
    return _events(keys, rows, ends, segment)


def events_of_all(keys: Int64s, rows: Batch, kept: Structure, segment: Segment) -> Events:
    """The same, with all rows kept until they end or are taken back."""
    kept.insert(keys, rows)
    return _events(keys, rows, kept, segment)


def _events(keys: Int64s, rows: Batch, ends: Structure, segment: Segment) -> Events:
    ended_keys, ended = ends.expire_until(segment.end - 1)
    if len(ended) and bool((ended.exp >= segment.end).any()):
        due = ended.exp < segment.end  # the others have cancelled each other
        ended_keys, ended = ended_keys[due], ended.take(due)
    if not len(ended):
        return Events(rows.ts, keys, rows.sign, rows.columns)
    time = np.concatenate([rows.ts, ended.exp])
    order = np.argsort(time, kind="stable")
    key = np.concatenate([keys, ended_keys])[order]
    change = np.concatenate([rows.sign, -ended.sign])[order]
    columns = tuple(column.take(order) for column in concat([rows, ended]).columns)
    return Events(time[order], key, change, columns)
