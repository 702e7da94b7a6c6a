"""Which streams a plan reads, which parts of it are relations without one, and whether their changes reach back."""

from __future__ import annotations

from windrow.plan.analysis.per_node import per_node
from windrow.plan.nodes import Node, Stream, Table


@per_node
def streams_of(node: Node) -> frozenset[str]:
    """The streams that a plan reads, in lower case."""
    if isinstance(node, Stream):
        return frozenset((node.name.lower(),))
    return frozenset().union(*map(streams_of, node.inputs))


@per_node
def tables_of(node: Node) -> frozenset[str]:
    """The tables that a plan reads, in lower case."""
    if isinstance(node, Table):
        return frozenset((node.name.lower(),))
    return frozenset().union(*map(tables_of, node.inputs))


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
