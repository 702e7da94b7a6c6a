"""Lifetimes: when the results on an edge begin and end, and how their ends become known."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace

from windrow.plan.analysis.per_node import per_node
from windrow.plan.analysis.relations import is_non_retroactive
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.by_kind import ByKind
from windrow.plan.nodes import (
    Alias,
    AntiJoin,
    AppendOnly,
    Distinct,
    Except,
    Filter,
    GroupBy,
    Intersect,
    Join,
    Limit,
    Node,
    OutputKind,
    OutputStream,
    Project,
    SemiJoin,
    Sort,
    Stream,
    Table,
    Union,
    Windowed,
)
from windrow.plan.pattern import Pattern
from windrow.plan.running_nodes import (
    LOOKUPS,
    SYNOPSES,
    EndWithParts,
    Exchange,
    Grouping,
    IndexedSelection,
    LastSubWindows,
    MergeGroups,
    Numbered,
    RestoredAnswer,
    RestoredInserts,
    SharedSlices,
    SlicePartials,
    SliceSummaries,
    Stamped,
    SubWindows,
    WithEnd,
)
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
from windrow.units import format_duration, format_timestamp


class EndKind(enum.Enum):
    NEVER = "never"
    KNOWN = "at a moment that is known when a result begins"
    LATER_ROWS = "with rows that come later, so a negative tuple brings it"
    CHANGE = "with a change that nobody knows beforehand"


@dataclass(frozen=True)
class End:
    """How a result ends: the moment, or what brings it, in words; at `slide` as of the next refresh.

    `at_the_latest` is the row's own end, for one that later rows may bring forward.
    """

    kind: EndKind
    moment: str = ""
    at_the_latest: str | None = None
    slide: int | None = None

    def __str__(self) -> str:
        if self.kind is EndKind.NEVER:
            return "never"
        brought = ": negative tuple" if self.kind is EndKind.LATER_ROWS else ""
        latest = "" if self.at_the_latest is None else f", at the latest {self.at_the_latest}"
        return _refresh(f"{self.moment}{brought}{latest}", self.slide)


@dataclass(frozen=True)
class Lifetime:
    begin: str
    end: End


NEVER = End(EndKind.NEVER)


def _known(moment: str) -> End:
    return End(EndKind.KNOWN, moment)


@per_node
def lifetime(node: Node) -> Lifetime:
    return _LIFETIMES[node](node)


def _stream(node: Stream) -> Lifetime:
    return Lifetime("ts", NEVER if node.lifetime is None else _known(f"ts + {node.lifetime}"))


def _table(node: Table) -> Lifetime:
    change = End(EndKind.CHANGE, "a later change of the table")
    return Lifetime("effect time", change if node.retroactive else NEVER)


def _as_below(node: Node) -> Lifetime:
    return lifetime(node.inputs[0])


def _output(node: OutputStream) -> Lifetime:
    if node.kind is not OutputKind.RSTREAM:
        return Lifetime("when it is emitted", NEVER)
    return lifetime(node.input) if not node.restore else _restored(node)


def _restored(node: OutputStream | RestoredAnswer) -> Lifetime:
    return Lifetime("when it is emitted", _known(f"{lifetime(node.inputs[0]).end}, or the next refresh"))


def _restored_inserts(node: RestoredInserts) -> Lifetime:
    return Lifetime(f"the next multiple of {format_duration(node.slide)}", NEVER)


def _join(node: Join) -> Lifetime:
    return lifetime(node.left) if is_non_retroactive(node.right) else _of_parts(node)


def _union(node: Union) -> Lifetime:
    stays = update_pattern(node) is Pattern.MONOTONIC
    return Lifetime("as in its input", NEVER if stays else _known("as in its input"))


def _grouped(node: Grouping) -> Lifetime:
    return Lifetime("a change of the group", End(EndKind.CHANGE, "the next change of the group replaces it"))


def _limited(node: Limit) -> Lifetime:
    return Lifetime("when it is among the first", End(EndKind.CHANGE, "a row that goes before it, or its own end"))


def _distinct(node: Distinct) -> Lifetime:
    if update_pattern(node) is not Pattern.WK:
        return _of_parts(node)
    return Lifetime("the first of equal rows", _known("exp of that row; the youngest equal row follows it"))


def _of_parts(node: Node) -> Lifetime:
    """Of a result that other rows have a say in."""
    pattern = update_pattern(node)
    if pattern is Pattern.MONOTONIC:
        return Lifetime("the later of its parts", NEVER)
    if pattern is Pattern.STR:
        end = End(EndKind.CHANGE, "least(exp of its parts), or a negative tuple before that")
        return Lifetime("when the condition holds", end)
    return Lifetime("greatest(ts of its parts)", _known("least(exp of its parts)"))


def _append_only(node: AppendOnly | EndWithParts) -> Lifetime:
    stays = update_pattern(node) is Pattern.MONOTONIC
    return Lifetime(lifetime(node.input).begin, NEVER if stays else _known("least(exp of its external parts)"))


def _windowed(node: Windowed | SubWindows) -> Lifetime:
    below = lifetime(node.input)
    if isinstance(node.input, Stream) and node.input.lifetime is not None:
        return _cut(node.window, below.end.moment)
    own = _window_lifetime(node.window)
    return own if own.end != NEVER or below.end == NEVER else Lifetime(own.begin, below.end)


def _cut(window: Window, own_end: str) -> Lifetime:
    """Over rows that end by themselves: while both say so, and with SLIDE as of the refreshes."""
    slide = window.slide if isinstance(window.slide, int) else None
    continuous = _window_lifetime(window if slide is None else replace(window, slide=None))
    end = continuous.end
    if end.kind is EndKind.NEVER:
        end = _known(own_end)
    elif end.kind is EndKind.LATER_ROWS:
        end = replace(end, at_the_latest=own_end)
    else:
        end = _known(f"least({end}, {own_end})")
    return Lifetime(_refresh(continuous.begin, slide), replace(end, slide=slide))


def _window_lifetime(window: Window) -> Lifetime:
    if not isinstance(window.slide, RowCount):
        return _EXTENTS[window.extent](window.extent, window.slide)
    end = End(EndKind.LATER_ROWS, "a later one of them")
    return Lifetime(f"the next of every {window.slide.count} rows{_same(window.partition)}", end)


def _refresh(moment: str, slide: int | None) -> str:
    return moment if slide is None else f"the first multiple of {format_duration(slide)} after {moment}"


def _range(extent: Range, slide: int | None) -> Lifetime:
    return Lifetime(_refresh("ts", slide), End(EndKind.KNOWN, f"ts + {format_duration(extent.length)}", slide=slide))


def _range_ago(extent: RangeAgo, slide: int | None) -> Lifetime:
    begin = "ts" if extent.end == 0 else f"ts + {format_duration(extent.end)}"
    end = End(EndKind.KNOWN, f"ts + {format_duration(extent.begin)}", slide=slide)
    return Lifetime(_refresh(begin, slide), end)


def _now(extent: Now, slide: int | None) -> Lifetime:
    return Lifetime("ts", _known("ts + 1 MICROSECOND"))


def _between(extent: Between, slide: int | None) -> Lifetime:
    return Lifetime(f"ts, until {format_timestamp(extent.end)}", NEVER)


def _since(extent: Since, slide: int | None) -> Lifetime:
    return Lifetime(_refresh(f"ts, from {format_timestamp(extent.begin)} on", slide), NEVER)


def _unbounded(extent: Unbounded, slide: int | None) -> Lifetime:
    return Lifetime(_refresh("ts", slide), NEVER)


def _rows(extent: Rows, slide: int | None) -> Lifetime:
    last = f"the {_ordinal(extent.count)} row{_same(extent.partition)} after it"
    return Lifetime(_refresh("ts", slide), End(EndKind.LATER_ROWS, last))


def _rows_ago(extent: RowsAgo, slide: int | None) -> Lifetime:
    first = "ts" if extent.end == 0 else f"the {_ordinal(extent.end)} row after it"
    return Lifetime(_refresh(first, slide), End(EndKind.LATER_ROWS, f"the {_ordinal(extent.begin)} row after it"))


def _latest(extent: Latest, slide: int | None) -> Lifetime:
    return Lifetime(_refresh("ts", slide), End(EndKind.LATER_ROWS, f"the next row{_same(extent.partition)}"))


def _same(partition: tuple[str, ...]) -> str:
    return f" with the same {', '.join(partition)}" if partition else ""


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


_EXTENTS: ByKind[Callable[..., Lifetime]] = ByKind(
    {
        Range: _range,
        RangeAgo: _range_ago,
        Now: _now,
        Rows: _rows,
        RowsAgo: _rows_ago,
        Latest: _latest,
        Since: _since,
        Between: _between,
        Unbounded: _unbounded,
    }
)

_LIFETIMES: ByKind[Callable[..., Lifetime]] = ByKind(
    {
        Stream: _stream,
        Table: _table,
        (Windowed, SubWindows): _windowed,
        (Filter, Project, Alias, Sort): _as_below,
        Join: _join,
        (SemiJoin, AntiJoin, Except, Intersect): _of_parts,
        Union: _union,
        Distinct: _distinct,
        (GroupBy, MergeGroups, *LOOKUPS): _grouped,
        Limit: _limited,
        (AppendOnly, EndWithParts): _append_only,
        OutputStream: _output,
        RestoredInserts: _restored_inserts,
        RestoredAnswer: _restored,
        (Exchange, IndexedSelection, Stamped, WithEnd): _as_below,
        (SlicePartials, SharedSlices, SliceSummaries, *SYNOPSES): _as_below,
        (Numbered, LastSubWindows): _of_parts,
    }
)
