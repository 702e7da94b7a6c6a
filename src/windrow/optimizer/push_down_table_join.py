"""A join with a non-retroactive table goes below what takes results back.

The table is looked up once, when the stream tuple arrives. Above a negation the same tuple could come again later, and
would meet another state of the table; below it, it meets the one of its own time (thesis 3.5.3).
"""

from __future__ import annotations

from windrow.plan.analysis.relations import is_non_retroactive
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import AntiJoin, Filter, Join, JoinKind, Node, SemiJoin, Sort
from windrow.plan.pattern import Pattern


def push_down_table_join(node: Node) -> Node | None:
    if not isinstance(node, Join | SemiJoin | AntiJoin):
        return None
    if is_non_retroactive(node.left) == is_non_retroactive(node.right):
        return None
    table_first = is_non_retroactive(node.left)
    stream = node.right if table_first else node.left
    if update_pattern(stream) is not Pattern.STR or (isinstance(node, Join) and node.kind is JoinKind.FULL):
        return None

    def joined(below: Node) -> Node:
        return node.with_inputs(node.left, below) if table_first else node.with_inputs(below, node.right)

    if isinstance(stream, Filter | Sort):
        return stream.with_inputs(joined(stream.input))
    if isinstance(stream, SemiJoin | AntiJoin):
        return stream.with_inputs(joined(stream.left), stream.right)
    return None
