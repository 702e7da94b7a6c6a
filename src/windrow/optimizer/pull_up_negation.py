"""Negation pull-up: the join is computed below the negation, where nothing is taken back.

    Join(AntiJoin(A, C), B)  →  AntiJoin(Join(A, B), C on columns of A)

Update-pattern simplification (thesis 3.5.3): the strict pattern moves towards the answer, and the larger part of the
plan works without negative tuples. The join has more rows to work on, so it is an alternative.
"""

from __future__ import annotations

from collections.abc import Iterator

from windrow.plan.analysis.relations import is_non_retroactive
from windrow.plan.explain.operators import describe_operator
from windrow.plan.nodes import AntiJoin, Join, JoinKind, Node


def pull_up_negation(node: Node) -> Iterator[tuple[str, Node]]:
    if not isinstance(node, Join):
        return
    left, right = node.left, node.right
    if node.kind in (JoinKind.INNER, JoinKind.LEFT) and _can_leave(left, node):
        yield _step(left, node), left.with_inputs(node.with_inputs(left.inputs[0], right), left.inputs[1])
    if node.kind in (JoinKind.INNER, JoinKind.RIGHT) and _can_leave(right, node):
        yield _step(right, node), right.with_inputs(node.with_inputs(left, right.inputs[0]), right.inputs[1])


def _can_leave(side: Node, join: Join) -> bool:
    """Above the join the names of what is looked for must still be its own."""
    if not isinstance(side, AntiJoin) or is_non_retroactive(side.right):
        return False
    return not any(name in join.schema for name in side.right.schema.names)


def _step(negation: Node, join: Join) -> str:
    return f"negation ({describe_operator(negation)}) above the join ({describe_operator(join)})"
