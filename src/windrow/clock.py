"""The clock: nothing else in Windrow asks what time it is or how long something took; tests hand in their own clock."""

from __future__ import annotations

import time
from typing import Protocol

from windrow.units import SECOND, Timestamp

_LONGEST_PAUSE = 60 * SECOND


class Clock(Protocol):
    def now(self) -> Timestamp: ...


class SystemClock:
    def now(self) -> Timestamp:
        return Timestamp(time.time_ns() // 1_000)


def monotonic() -> float:
    """Seconds that only grow, for measuring and waiting; they say nothing about the time of day."""
    return time.monotonic()


def pause_after(tries: int) -> int:
    """Microseconds to wait after so many tries in a row that failed: they double, up to a minute."""
    return min(SECOND << min(tries - 1, 10), _LONGEST_PAUSE)


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: int = 0) -> None:
        self._now = start

    def now(self) -> Timestamp:
        return Timestamp(self._now)

    def advance(self, microseconds: int) -> None:
        self._now += microseconds
