"""Times that are too far ahead are not believed: one row of the year 2099 would make every row after it late.

Ahead of arrival, which is logged with the batch, so that a replay decides the same; or, where that is declared, ahead
of the newest time that the stream has shown. Without a declaration a year is allowed where arrival means something: for
rows that come as they happen, by a clock that has been set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Bools, Int64s
from windrow.catalog import StreamEntry
from windrow.units import BEGINNING, DAY, HOUR, MAX_DURATION, MINUTE, SECOND, format_duration

MAX_TIMESTAMP = 2**61  # later ones could overflow when a window's length is added
USUAL = 366 * DAY
_CLOCK_IS_SET = 10_957 * DAY  # a clock before the year 2000 tells when a machine was started
_LIVE = (None, "dataframe", "socket", "rate")  # pushed rows have no connector
_UNITS = ((365 * DAY, "years"), (DAY, "days"), (HOUR, "hours"), (MINUTE, "minutes"), (SECOND, "seconds"))


class _Limit(NamedTuple):
    of: str
    since: int
    most: int


def too_far(stream: StreamEntry, ts: Int64s, arrival: int, newest: int) -> Iterator[tuple[str, Bools]]:
    """Why rows are not believed, and which."""
    believed = np.ones(len(ts), np.bool_)
    for limit in _limits(stream, arrival, newest):
        wrong = believed & (ts > limit.since + limit.most)
        if wrong.any():
            believed &= ~wrong
            yield from _reasons(stream.timestamp or "", limit, ts, wrong)


def may_be_too_far(stream: StreamEntry, ts: Int64s, arrival: int, newest: int) -> bool:
    """Whether there is a time that is not believed, or so far away that no arithmetic could be done with it."""
    if not len(ts):
        return False
    earliest, latest = int(ts.min()), int(ts.max())
    too_large = earliest < -MAX_TIMESTAMP or latest > MAX_TIMESTAMP
    return too_large or any(latest > limit.since + limit.most for limit in _limits(stream, arrival, newest))


def _limits(stream: StreamEntry, arrival: int, newest: int) -> Iterator[_Limit]:
    kind = None if stream.connector is None else stream.connector.name
    most: int | None = stream.ahead
    if most is None and kind in _LIVE and arrival >= _CLOCK_IS_SET:
        most = USUAL
    if most is not None and most != MAX_DURATION:
        yield _Limit("its arrival", arrival, most)
    if stream.ahead_of_newest is not None and newest > BEGINNING:
        yield _Limit("the newest row before it", newest, stream.ahead_of_newest)


def _reasons(column: str, limit: _Limit, ts: Int64s, wrong: Bools) -> Iterator[tuple[str, Bools]]:
    """In whole units, so that there are few."""
    far = ts - limit.since
    for unit, name in _UNITS:
        of_unit = wrong & (far >= unit) if unit != SECOND else wrong
        wrong = wrong & ~of_unit
        for count in np.unique(far[of_unit] // unit):
            told = f"{count} {name if count != 1 else name[:-1]}"
            reason = f"{column} is {told} ahead of {limit.of}, more than AHEAD {format_duration(limit.most)}"
            yield reason, of_unit & (far // unit == count)
