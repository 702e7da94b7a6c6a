"""INTERNAL windows (thesis 3.3.2): where they are, and how the external parts of a result beside them end."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.plan.analysis.per_node import per_node
from windrow.plan.nodes import (
    AntiJoin,
    AppendOnly,
    Distinct,
    Except,
    Intersect,
    Join,
    JoinKind,
    Limit,
    Node,
    OutputStream,
    SemiJoin,
    Stream,
    Windowed,
)
from windrow.plan.running_nodes import Grouping, SubWindows


def block(node: Node) -> Iterator[Node]:
    """The node and what is below it, down to other streams of results."""
    yield node
    if isinstance(node, AppendOnly | OutputStream):
        return
    for below in node.inputs:
        yield from block(below)


@per_node
def has_internal(node: Node) -> bool:
    return any(isinstance(part, Windowed) and part.window.internal for part in block(node))


@per_node
def has_external_window(node: Node) -> bool:
    """Whether rows of a stream below can end, apart from those of INTERNAL windows."""
    if isinstance(node, AppendOnly | OutputStream):
        return False
    if isinstance(node, Windowed | SubWindows):
        return not node.window.internal and (not node.window.is_open or has_external_window(node.input))
    return (isinstance(node, Stream) and node.lifetime is not None) or any(map(has_external_window, node.inputs))


@per_node
def joins_and_unites(node: Node) -> bool:
    """Only selections, projections, joins and unions of windows: a result ends with the first of its parts.

    Where values are compared or counted a result may go on when the rows that brought it have ended.
    """
    if isinstance(node, Windowed | SubWindows | Stream | AppendOnly | OutputStream):
        return True
    counted = isinstance(node, Distinct | SemiJoin | AntiJoin | Intersect | Except | Grouping | Limit)
    padded = isinstance(node, Join) and node.kind is not JoinKind.INNER
    return not counted and not padded and all(map(joins_and_unites, node.inputs))
