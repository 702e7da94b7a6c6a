"""Declared windows: which rows of a stream they keep, and which windows of queries can be filled from them.

`CREATE WINDOW` keeps rows of one stream as they came, for as long as its window says; of a RANGE only those that
satisfy its condition, of a window counted in rows all. A window of a query over the same stream is covered when it
needs no other rows: it is not longer, and all conditions of the declared one are among those of the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from windrow.plan.expressions import Expression, columns_of, rename_columns
from windrow.plan.functions import conjuncts
from windrow.plan.nodes import Alias, Filter, Node, Project, Stream, Windowed
from windrow.plan.running_nodes import Exchange, SharedSlices, Stamped
from windrow.plan.schema import unqualified
from windrow.plan.windows import Latest, Now, Range, RangeAgo, RowCount, Rows, RowsAgo, Window

Conditions: TypeAlias = frozenset[Expression]  # over columns of a stream by their plain names
_PLAIN: Conditions = frozenset()


@dataclass(frozen=True)
class KeptWindow:
    """Rows of a stream; `length` is in time, `count` in rows, of each partition where there is one."""

    stream: Stream
    conditions: Conditions
    length: int | None
    count: int | None
    partition: tuple[str, ...] = ()

    def covers(self, plan: Windowed, conditions: Conditions) -> bool:
        """Whether a window over a stream, under conditions, needs rows that are kept."""
        stream, window = stream_below(plan), plan.window
        if stream is None or stream.name != self.stream.name or isinstance(window.slide, RowCount):
            return False
        if not self.conditions <= conditions:
            return False
        if self.length is not None:
            reach = reach_of(window)
            return isinstance(window.extent, Rows | RowsAgo | Latest) or (reach is not None and reach <= self.length)
        assert self.count is not None
        if not self.partition:
            return rows_of(window) is not None and not window.partition and (rows_of(window) or 0) <= self.count
        same = tuple(map(unqualified, window.partition)) == self.partition
        return same and (isinstance(window.extent, Latest) or (rows_of(window) or 0) <= self.count)


def reach_of(window: Window) -> int | None:
    """How far back a window of time goes; None for others."""
    extent = window.extent
    if isinstance(extent, Now):
        return 1
    return extent.length if isinstance(extent, Range) else extent.begin if isinstance(extent, RangeAgo) else None


def rows_of(window: Window) -> int | None:
    """How many rows a window goes back; None for those that are not counted."""
    extent = window.extent
    return extent.count if isinstance(extent, Rows) else extent.begin if isinstance(extent, RowsAgo) else None


def kept_window(plan: Node) -> KeptWindow | None:
    """What a declared window keeps; None for texts that are no selection or projection of one bounded window."""
    predicates: list[Expression] = []
    while isinstance(plan, Project | Filter | Alias):
        predicates += conjuncts(plan.predicate) if isinstance(plan, Filter) else ()
        plan = plan.input
    if not isinstance(plan, Windowed) or not isinstance(plan.input, Stream):
        return None
    return _kept(plan.input, plan.window, predicates)


def _kept(stream: Stream, window: Window, predicates: list[Expression]) -> KeptWindow | None:
    length, count = reach_of(window), rows_of(window)
    if isinstance(window.slide, RowCount) or (length is None and count is None):
        return None
    if length is None:
        return KeptWindow(stream, _PLAIN, None, count, tuple(map(unqualified, window.partition)))
    own = [part for part in predicates if columns_of(part) <= set(stream.schema.names)]
    return KeptWindow(stream, _plain(stream, own), length + (window.slide or 0), None)


def stream_below(plan: Windowed) -> Stream | None:
    """The stream that a window reads row by row; None when something is computed in between."""
    node = plan.input
    while isinstance(node, Filter | Project | Alias | Stamped | SharedSlices | Exchange):
        node = node.input
    return node if isinstance(node, Stream) else None


def own_conditions(window: Windowed) -> Conditions:
    """What is true of all rows that come to a window over a stream."""
    stream = stream_below(window)
    return _PLAIN if stream is None else _plain(stream, _below(window.input))


def conditions_of(plan: Node) -> dict[Windowed, Conditions]:
    """For every window over a stream what is true of all of its rows that a plan needs."""
    found: dict[Windowed, Conditions] = {}
    for window, above in _windows(plan, ()):
        stream = stream_below(window)
        if stream is not None:
            known = set(window.schema.names) & set(stream.schema.names)
            is_counted = reach_of(window.window) is None  # rows that are left out afterwards have been counted
            usable = [part for part in above if not is_counted and columns_of(part) <= known]
            own = _plain(stream, usable) | own_conditions(window)
            found[window] = own & found.get(window, own)
    return found


def _windows(plan: Node, above: tuple[Expression, ...]) -> Iterator[tuple[Windowed, tuple[Expression, ...]]]:
    """Windows with the conditions of the selections that stand directly on them."""
    if isinstance(plan, Windowed):
        yield plan, above
    inherited = (*above, *conjuncts(plan.predicate)) if isinstance(plan, Filter) else ()
    for below in plan.inputs:
        yield from _windows(below, inherited)


def _below(node: Node) -> list[Expression]:
    """The conditions of selections that stand directly on the stream."""
    found: list[Expression] = []
    while not isinstance(node, Stream):
        found = [*found, *conjuncts(node.predicate)] if isinstance(node, Filter) else []
        node = node.inputs[0]
    return found


def _plain(stream: Stream, parts: list[Expression]) -> Conditions:
    names = {name: unqualified(name) for name in stream.schema.names}
    return frozenset(rename_columns(part, names) for part in parts)
