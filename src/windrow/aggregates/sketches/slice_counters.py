"""Counters of the values of slices, and what a cut leaves of them: the summary of a slice that is complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from windrow.batch.arrays import Int64s


@dataclass(frozen=True, eq=False)
class SliceCounters:
    """Counters of different values of slices, in the order of slices and values."""

    slice: Int64s
    count: Int64s
    firsts: Int64s  # the first counter of each slice


class CutCounters(NamedTuple):
    """The counters that stay of slices: which, the counts that they stand for, and the floors of their slices.

    The floor of a slice is what a value that does not stay may have at most; `floors` has it for every slice, also for
    one of which nothing stays; None where no value is asked for its count.
    """

    places: Int64s
    counts: Int64s
    floor: Int64s
    floors: Int64s | None


class Cut(Protocol):
    def __call__(self, counters: SliceCounters) -> CutCounters: ...
