"""Rewriting plans: every rewrite is checked to give a plan of the same schema."""

from __future__ import annotations

from collections.abc import Callable

from windrow.errors import PlanError
from windrow.plan.nodes import Node
from windrow.plan.running_nodes import Exchange

Rule = Callable[[Node], Node | None]


def bottom_up(node: Node, rule: Rule) -> Node:
    """Apply the rule to every node, inputs first; None means nothing to change here."""
    node = with_new_inputs(node, *(bottom_up(below, rule) for below in node.inputs))
    changed = rule(node)
    return node if changed is None else verified(node, changed)


def top_down(node: Node, rule: Rule) -> Node:
    """Apply the rule to every node, consumers first, until it has nothing to change there."""
    while (changed := rule(node)) is not None:
        node = verified(node, changed)
    return with_new_inputs(node, *(top_down(below, rule) for below in node.inputs))


def with_new_inputs(node: Node, *inputs: Node) -> Node:
    """The node over other inputs; itself where all are the same, so that what is known of it stays known."""
    is_same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    return node if is_same else node.with_inputs(*inputs)


def without_exchanges(plan: Node) -> Node:
    """What a plan is apart from where it is computed."""
    return bottom_up(plan, lambda node: node.input if isinstance(node, Exchange) else None)


def verified(before: Node, after: Node) -> Node:
    """The plan after a rewrite, which must give the same columns as before."""
    if before.schema != after.schema:
        raise PlanError(
            f"a rewrite of {type(before).__name__} changed its columns from "
            f"{', '.join(before.schema.names)} to {', '.join(after.schema.names)}"
        )
    return after
