"""Coverage: since when the windows of a query have their rows, and from when on that makes no difference any more.

`covered_from` of a window is the time from which on all rows of its stream are there; BEGINNING when it had them from
the first one. `complete_from` is the first instant from which answers are those of a query that was always there: when
a window has nothing left from before its `covered_from`; FOREVER when that is never known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.plan.analysis.relations import streams_of
from windrow.plan.by_kind import ByKind
from windrow.plan.nodes import Node, Windowed
from windrow.plan.printer.windows import window_text
from windrow.plan.windows import (
    Between,
    Latest,
    Now,
    Range,
    RangeAgo,
    RowCount,
    Rows,
    RowsAgo,
    Since,
    Unbounded,
    Window,
)
from windrow.units import BEGINNING, FOREVER, format_timestamp


class WindowCoverage(NamedTuple):
    """A window as it is written, and since when its rows are there."""

    window: str
    covered_from: int


class Coverage(NamedTuple):
    """Of a query."""

    windows: tuple[WindowCoverage, ...]
    complete_from: int

    @property
    def covered_from(self) -> int:
        """Since when the rows of all windows are there."""
        return max((window.covered_from for window in self.windows), default=int(BEGINNING))


def time_text(time: int) -> str:
    """A time of coverage, for people."""
    return "the first row" if time == BEGINNING else "never" if time == FOREVER else format_timestamp(time)


def coverage_lines(coverage: Coverage | None) -> tuple[str, ...]:
    """What EXPLAIN says of a query that has not had its rows from the first one on."""
    if coverage is None or coverage.complete_from == BEGINNING:
        return ()
    windows = (f"{window} has its rows since {time_text(since)}" for window, since in coverage.windows)
    complete = coverage.complete_from
    return (*windows, "never complete" if complete == FOREVER else f"complete from {time_text(complete)}")


@dataclass(frozen=True)
class Covered:
    """The same of a part of a plan, by its windows and the streams that have none."""

    windows: Mapping[Node, int] = field(default_factory=dict)
    complete_from: int = BEGINNING

    def coverage(self) -> Coverage:
        return Coverage(tuple(WindowCoverage(_text(node), since) for node, since in self.windows.items()),
                        self.complete_from)  # fmt: skip


def combined(parts: list[Covered]) -> Covered:
    """Of what is above several parts."""
    windows: dict[Node, int] = {}
    for part in parts:
        for node, since in part.windows.items():
            windows[node] = max(since, windows.get(node, since))
    return Covered(windows, max((part.complete_from for part in parts), default=int(BEGINNING)))


def staying(part: Covered) -> Covered:
    """Of results that stay, or are emitted once: those of rows that were not there are missing for ever."""
    return part if part.complete_from == BEGINNING else Covered(part.windows, FOREVER)


def windowed(plan: Windowed, below: Covered, covered_from: int) -> Covered:
    """Of a window that has its rows since some time: of a stream, or of a part that has its own coverage."""
    inner: dict[Node, int] = {node: since for node, since in below.windows.items() if isinstance(node, Windowed)}
    before = below.complete_from if inner else BEGINNING
    return Covered({**inner, plan: covered_from}, complete_from(plan.window, max(covered_from, before)))


def complete_from(window: Window, covered_from: int) -> int:
    """When a window has nothing left from before its rows were there."""
    if covered_from in (BEGINNING, FOREVER):
        return covered_from
    if isinstance(window.slide, RowCount):
        return FOREVER
    reached = _REACHED[window.extent](window.extent, covered_from)
    if window.slide is None or reached == FOREVER:
        return reached
    return -(-reached // window.slide) * window.slide


def first_to_come(window: Window, boundary: int) -> int:
    """The earliest time of rows that come into a window at a boundary or later, as far as time says it."""
    if boundary == BEGINNING or isinstance(window.slide, RowCount):
        return boundary
    ago = window.extent.end if isinstance(window.extent, RangeAgo) else 0
    return boundary - ago if window.slide is None else (boundary - 1) // window.slide * window.slide - ago


def _never(extent: object, covered_from: int) -> int:
    return FOREVER


def _range(extent: Range, covered_from: int) -> int:
    return covered_from + extent.length


def _ago(extent: RangeAgo, covered_from: int) -> int:
    return covered_from + extent.begin


def _since(extent: Since | Between, covered_from: int) -> int:
    return covered_from if covered_from <= extent.begin else FOREVER


_REACHED: ByKind[Callable[..., int]] = ByKind(
    {
        Range: _range,
        RangeAgo: _ago,
        Now: lambda extent, covered_from: covered_from + 1,
        (Since, Between): _since,
        (Rows, RowsAgo, Latest, Unbounded): _never,
    }
)


def _text(node: Node) -> str:
    names = ", ".join(sorted(streams_of(node)))
    return f"{names} {window_text(node.window)}" if isinstance(node, Windowed) else names
