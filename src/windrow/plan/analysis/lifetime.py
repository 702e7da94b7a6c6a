"""Lifetimes: when the results on an edge begin and end, and how their ends become known."""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.plan.analysis.per_node import per_node
from windrow.plan.analysis.relations import is_non_retroactive
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import (
    Alias,
    AppendOnly,
    Distinct,
    Filter,
    Join,
    Limit,
    Node,
    OutputKind,
    OutputStream,
    Project,
    Sort,
    Stream,
    Table,
    Union,
    Windowed,
)
from windrow.plan.pattern import Pattern
from windrow.plan.running_nodes import (
    Exchange,
    Grouping,
    GroupSynopsis,
    SlicePartials,
    SliceSummaries,
    Stamped,
    SubWindows,
)
from windrow.plan.windows import Between, Extent, Latest, Now, Range, RangeAgo, RowCount, Rows, RowsAgo, Since, Window
from windrow.units import format_duration, format_timestamp


@dataclass(frozen=True)
class Lifetime:
    """`end` is an expression when it is known at the beginning, else what brings the negative tuple."""

    begin: str
    end: str


NEVER = "never"
_NEGATIVE = ": negative tuple"  # ends that nobody knows beforehand


@per_node
def lifetime(node: Node) -> Lifetime:
    if isinstance(node, Stream):
        return Lifetime("ts", NEVER if node.lifetime is None else f"ts + {node.lifetime}")
    if isinstance(node, Table):
        return Lifetime("effect time", "a later change of the table" if node.retroactive else NEVER)
    if isinstance(node, Windowed | SubWindows):
        return _windowed(node)
    if isinstance(node, Filter | Project | Alias | Sort | Exchange | SlicePartials | SliceSummaries | Stamped):
        return lifetime(node.input)
    if isinstance(node, GroupSynopsis):
        return lifetime(node.input)
    if isinstance(node, AppendOnly):
        return _append_only(node)
    if isinstance(node, OutputStream):
        return _output(node)
    return _combined(node)


def _output(node: OutputStream) -> Lifetime:
    if node.kind is not OutputKind.RSTREAM:
        return Lifetime("when it is reported", NEVER)
    below = lifetime(node.input)
    return below if not node.restore else Lifetime("when it is reported", f"{below.end}, or the next refresh")


def _combined(node: Node) -> Lifetime:
    pattern = update_pattern(node)
    if isinstance(node, Join) and is_non_retroactive(node.right):
        return lifetime(node.left)
    if isinstance(node, Union):
        return Lifetime("as in its input", NEVER if pattern is Pattern.MONOTONIC else "as in its input")
    if isinstance(node, Grouping):
        return Lifetime("a change of the group", "the next change of the group replaces it")
    if isinstance(node, Limit):
        return Lifetime("when it is among the first", "a row that goes before it, or its own end")
    if pattern is Pattern.MONOTONIC:
        return Lifetime("the later of its parts", NEVER)
    if pattern is Pattern.STR:
        return Lifetime("when the condition holds", "least(exp of its parts), or a negative tuple before that")
    if isinstance(node, Distinct):
        return Lifetime("the first of equal rows", "exp of that row; the youngest equal row follows it")
    return Lifetime("greatest(ts of its parts)", "least(exp of its parts)")


def _append_only(node: AppendOnly) -> Lifetime:
    end = NEVER if update_pattern(node) is Pattern.MONOTONIC else "least(exp of its external parts)"
    return Lifetime(lifetime(node.input).begin, end)


def _windowed(node: Windowed | SubWindows) -> Lifetime:
    below = lifetime(node.input)
    if isinstance(node.input, Stream) and node.input.lifetime is not None:
        return _cut(node.window, below.end)
    own = _window_lifetime(node.window)
    return own if own.end != NEVER or below.end == NEVER else Lifetime(own.begin, below.end)


def _cut(window: Window, own_end: str) -> Lifetime:
    """Over rows that end by themselves: while both say so, and with SLIDE as of the refreshes."""
    slide = window.slide if isinstance(window.slide, int) else None
    found = _window_lifetime(window if slide is None else replace(window, slide=None))
    if found.end == NEVER:
        end = own_end
    elif _NEGATIVE in found.end:
        end = f"{found.end}, at the latest {own_end}"
    else:
        end = f"least({found.end}, {own_end})"
    return Lifetime(_refresh(found.begin, slide), _refresh(end, slide))


def _window_lifetime(window: Window) -> Lifetime:
    extent, slide = window.extent, window.slide
    if isinstance(slide, RowCount):
        which = _same(window.partition)
        return Lifetime(f"the next of every {slide.count} rows{which}", f"a later one of them{_NEGATIVE}")
    if isinstance(extent, Range):
        return Lifetime(_refresh("ts", slide), _refresh(f"ts + {format_duration(extent.length)}", slide))
    if isinstance(extent, RangeAgo):
        begin = "ts" if extent.end == 0 else f"ts + {format_duration(extent.end)}"
        return Lifetime(_refresh(begin, slide), _refresh(f"ts + {format_duration(extent.begin)}", slide))
    if isinstance(extent, Now):
        return Lifetime("ts", "ts + 1 MICROSECOND")
    if isinstance(extent, Between):
        return Lifetime(f"ts, until {format_timestamp(extent.end)}", NEVER)
    if isinstance(extent, Since):
        return Lifetime(_refresh(f"ts, from {format_timestamp(extent.begin)} on", slide), NEVER)
    return _count_lifetime(extent, slide)


def _refresh(moment: str, slide: int | None) -> str:
    return moment if slide is None else f"the first multiple of {format_duration(slide)} after {moment}"


def _count_lifetime(extent: Extent, slide: int | None) -> Lifetime:
    begin = _refresh("ts", slide)
    if isinstance(extent, Rows):
        return Lifetime(begin, f"the {_ordinal(extent.count)} row{_same(extent.partition)} after it{_NEGATIVE}")
    if isinstance(extent, RowsAgo):
        first = begin if extent.end == 0 else _refresh(f"the {_ordinal(extent.end)} row after it", slide)
        return Lifetime(first, f"the {_ordinal(extent.begin)} row after it{_NEGATIVE}")
    if isinstance(extent, Latest):
        return Lifetime(begin, f"the next row{_same(extent.partition)}{_NEGATIVE}")
    return Lifetime(begin, NEVER)


def _same(partition: tuple[str, ...]) -> str:
    return f" with the same {', '.join(partition)}" if partition else ""


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
