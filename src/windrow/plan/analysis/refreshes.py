"""Refreshes: which windows decide when a query is refreshed, and how often that is."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.plan.nodes import Node, OutputStream, Stream, Windowed
from windrow.plan.windows import RowCount


def windows_below(node: Node) -> Iterator[Windowed]:
    """The windows that decide when this query refreshes; those below another stream decide for that stream."""
    if isinstance(node, Windowed):
        yield node
        if not isinstance(node.input, Stream):
            return
    if isinstance(node, OutputStream):
        return
    for below in node.inputs:
        yield from windows_below(below)


def slides_below(node: Node) -> set[int | RowCount]:
    """How far the windows of a query move on; nothing when it is refreshed on every tuple."""
    inner = node.input if isinstance(node, OutputStream) else node
    return {found.window.slide for found in windows_below(inner) if found.window.slide is not None}
