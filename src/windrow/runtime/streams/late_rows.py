"""Whether late rows have become many: a share that jumps means that a time was wrong, or that SLACK is too short."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from windrow.clock import Clock
from windrow.runtime.progress import IntakeReport, Progress

FEWEST = 20  # late rows
RECENT = 1_000  # rows after which a share is an old one
_SHARE, _TIMES = 0.1, 5.0  # a tenth of the rows, and five times the share of all before


class _Counts(NamedTuple):
    arrived: int = 0
    late: int = 0

    def minus(self, other: _Counts) -> _Counts:
        return _Counts(self.arrived - other.arrived, self.late - other.late)

    @property
    def share(self) -> float:
        return self.late / self.arrived if self.arrived else 0.0


class LateRows:
    """By stream: what there was before the last `RECENT` rows or so."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._before: dict[str, _Counts] = {}
        self._many: dict[str, int] = {}  # since when

    def observe(self, progress: Progress) -> None:
        for name, stream in progress.streams.items():
            now, before = _counts(stream.intake), self._before.setdefault(name, _Counts())
            recent = now.minus(before)
            if recent.late >= FEWEST and recent.share >= max(_SHARE, _TIMES * before.share):
                self._many.setdefault(name, self._clock.now())
            elif recent.arrived >= RECENT:
                self._many.pop(name, None)
                self._before[name] = now

    def forget(self, stream: str) -> None:
        """A stream has been dropped."""
        self._before.pop(stream, None)
        self._many.pop(stream, None)

    def warnings(self, stream: str, intake: IntakeReport) -> Iterator[tuple[str, int, int]]:
        """What there is to be warned of: what, how many rows, since when."""
        if stream in self._many:
            late = _counts(intake).minus(self._before[stream]).late
            yield "many rows are late: a time was far ahead (AHEAD), or SLACK is too short", late, self._many[stream]


def _counts(intake: IntakeReport) -> _Counts:
    return _Counts(intake.rows + intake.late, intake.late)
