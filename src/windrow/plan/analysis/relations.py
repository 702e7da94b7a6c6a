"""Which parts of a plan are relations without a stream, and whether their changes reach back."""

from __future__ import annotations

from windrow.plan.analysis.per_node import per_node
from windrow.plan.nodes import Node, Stream, Table


@per_node
def is_relation(node: Node) -> bool:
    """Only tables below: the contents change by statements, not by time."""
    if isinstance(node, Stream | Table):
        return isinstance(node, Table)
    return all(is_relation(below) for below in node.inputs)


@per_node
def is_non_retroactive(node: Node) -> bool:
    """Only non-retroactive tables below: what it holds is looked up when a stream tuple arrives (thesis 3.3.1)."""
    if isinstance(node, Stream | Table):
        return isinstance(node, Table) and not node.retroactive
    return all(is_non_retroactive(below) for below in node.inputs)
