"""Windows: which tuples of a stream are in view, when the view moves on, and whether results leave with them.

A window is an extent (what is in view), an optional slide (when it moves on; on every tuple when none is
written) and INTERNAL (thesis 3.3.2: tuples leave the window, results stay).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from windrow.plan.expressions import Expression
from windrow.units import Duration, Timestamp


@dataclass(frozen=True)
class Range:
    """The last `length` of time."""

    length: Duration


@dataclass(frozen=True)
class RangeAgo:
    """From `begin` ago up to `end` ago."""

    begin: Duration
    end: Duration


@dataclass(frozen=True)
class Rows:
    """The last `count` rows, of each value of the partition columns where there are any."""

    count: int
    partition: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowsAgo:
    """The rows from the `begin`-th last up to the `end`-th last."""

    begin: int
    end: int


@dataclass(frozen=True)
class Latest:
    """A predicate window: the newest row of each partition, while it satisfies the predicate."""

    partition: tuple[str, ...]
    predicate: Expression


@dataclass(frozen=True)
class Since:
    """A landmark window: everything from `begin` on."""

    begin: Timestamp


@dataclass(frozen=True)
class Between:
    """A fixed window: everything from `begin` up to, not including, `end`."""

    begin: Timestamp
    end: Timestamp


@dataclass(frozen=True)
class Now:
    """This instant."""


@dataclass(frozen=True)
class Unbounded:
    """Everything so far."""


Extent = Range | RangeAgo | Rows | RowsAgo | Latest | Since | Between | Now | Unbounded
TimeExtent = Range | RangeAgo | Now
OpenExtent = Since | Between | Unbounded


@dataclass(frozen=True)
class RowCount:
    """A slide counted in rows."""

    count: int


@dataclass(frozen=True)
class Window:
    extent: Extent
    slide: int | RowCount | None = field(default=None)  # an int is a Duration
    internal: bool = False

    @property
    def is_time_based(self) -> bool:
        """Ends of lifetimes are known when the tuple arrives."""
        return isinstance(self.extent, TimeExtent) and not isinstance(self.slide, RowCount)

    @property
    def is_open(self) -> bool:
        """Lifetimes never end."""
        return isinstance(self.extent, OpenExtent) and not isinstance(self.slide, RowCount)

    @property
    def partition(self) -> tuple[str, ...]:
        return self.extent.partition if isinstance(self.extent, Rows | Latest) else ()
