"""Rows are sent once, whatever windows they are in: a window of time stands above the exchange of its rows.

A window says how long a row lives, and nothing of what it looks at depends on that before rows meet. So selections and
projections above the window are done where rows are read, the rows go to the shards without lifetimes, and every window
over the same rows gives them its own where they arrive.
"""

from __future__ import annotations

from typing import NamedTuple

from windrow.plan.nodes import Alias, Filter, Node, Project, Stream, Union, Windowed
from windrow.plan.running_nodes import Exchange, IndexedSelection, Stamped
from windrow.plan.windows import Window


class RowsOfWindow(NamedTuple):
    """The rows of a plan as they are read, selected and projected, and the window that they are in."""

    node: Node
    window: Window


def rows_of_window(node: Node) -> RowsOfWindow | None:
    """The rows of one window of time and the window; None where there is anything else."""
    if isinstance(node, Filter | Project | Alias):
        below = rows_of_window(node.input)
        return None if below is None else RowsOfWindow(node.with_inputs(below.node), below.window)
    if not isinstance(node, Windowed) or not (node.window.is_time_based or node.window.is_open):
        return None
    rows = _as_read(node.input)
    return None if rows is None else RowsOfWindow(rows, node.window)


def _as_read(node: Node) -> Node | None:
    """Rows that can be sent from where they are read, also where they have been sent by the whole row before."""
    if isinstance(node, Exchange) and node.keys == node.schema.columns:
        node = node.input
    return node if _is_read(node) else None


def _is_read(node: Node) -> bool:
    """Lifetimes of their own are worked out at the stream, below what windows make of them."""
    if isinstance(node, Filter | IndexedSelection | Project | Alias | Stamped | Union):
        return all(map(_is_read, node.inputs))
    return isinstance(node, Stream) and node.lifetime is None and not node.punctuated
