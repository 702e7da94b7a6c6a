"""Negation push-down: what a negation removes is removed before the join, where the rows it is about come from.

    AntiJoin(Join(A, B), C on columns of A)  →  Join(AntiJoin(A, C), B)

The join has fewer rows to work on, but its input becomes strict (thesis 3.5.3), so it is an alternative. Only
anti-joins move: EXCEPT [ALL] compares whole rows. A table that is looked up when a tuple arrives stays below.
"""

from __future__ import annotations

from collections.abc import Iterator

from windrow.optimizer.prune_columns import condition_columns
from windrow.plan.analysis.relations import is_non_retroactive, is_relation
from windrow.plan.explain.operators import describe_operator
from windrow.plan.nodes import AntiJoin, Join, JoinKind, Node


def push_down_negation(node: Node) -> Iterator[tuple[str, Node]]:
    if not isinstance(node, AntiJoin) or not isinstance(node.left, Join):
        return
    join = node.left
    if any(is_non_retroactive(part) for part in (node.right, join.left, join.right)):
        return
    step = f"negation ({describe_operator(node)}) below the join ({describe_operator(join)})"
    used = condition_columns(node) - set(node.right.schema.names)
    if join.kind in (JoinKind.INNER, JoinKind.LEFT) and _holds(join.left, used):
        yield step, join.with_inputs(node.with_inputs(join.left, node.right), join.right)
    elif join.kind in (JoinKind.INNER, JoinKind.RIGHT) and _holds(join.right, used):
        yield step, join.with_inputs(join.left, node.with_inputs(join.right, node.right))


def _holds(side: Node, used: frozenset[str]) -> bool:
    return not is_relation(side) and all(name in side.schema for name in used)
