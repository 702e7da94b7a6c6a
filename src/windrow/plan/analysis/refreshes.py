"""Refreshes: which windows decide when a query is refreshed, and how often that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.plan.nodes import Node, OutputStream, Stream, Windowed
from windrow.plan.running_nodes import PeriodicLookup, Restored, SubWindows, below_exchange
from windrow.plan.windows import RowCount, Window


def windows_below(node: Node) -> Iterator[Window]:
    """The windows that decide when this query refreshes; those below another stream decide for that stream."""
    if isinstance(node, PeriodicLookup):
        yield node.question.window
    if isinstance(node, Windowed | SubWindows):
        yield node.window
        if not isinstance(node.input, Stream):
            return
    if isinstance(node, OutputStream):
        return
    for below in node.inputs:
        yield from windows_below(below)


def slides_below(node: Node) -> set[int | RowCount]:
    """How far the windows of a query move on; nothing when it is refreshed on every tuple."""
    inner = below_exchange(node.input) if isinstance(node, OutputStream) else node
    if isinstance(inner, Restored):
        return {inner.slide}
    return {window.slide for window in windows_below(inner) if window.slide is not None}


def refresh_interval(node: Node) -> int | None:
    """How far apart in time the refreshes of a periodic query are; None for a query without refreshes by the clock."""
    return next((slide for slide in slides_below(node) if not isinstance(slide, RowCount)), None)


def without_slides(node: Node) -> Node:
    """The same query, refreshed on every tuple; streams of results below it keep the refreshes they have."""
    if isinstance(node, OutputStream):
        return node
    if isinstance(node, Windowed):
        slides_in_time = isinstance(node.window.slide, int)
        return Windowed(node.input, replace(node.window, slide=None)) if slides_in_time else node
    return node.with_inputs(*(without_slides(below) for below in node.inputs))
