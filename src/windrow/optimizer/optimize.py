"""Optimizing a plan: rules in order, each verified to leave the columns of the plan as they were."""

from __future__ import annotations

from windrow.optimizer.merge_selections import merge_selections
from windrow.optimizer.push_down_selection import push_down_selection
from windrow.optimizer.push_down_table_join import push_down_table_join
from windrow.plan.nodes import Node
from windrow.plan.rewrite import Rule, top_down

# Without these a plan has no meaning: they run even when the optimizer is set off.
REQUIRED: tuple[Rule, ...] = (push_down_table_join,)

RULES: tuple[Rule, ...] = (
    merge_selections,
    push_down_selection,  # before the table join, which goes below the selections that are left
    *REQUIRED,
)


def optimize(plan: Node, rules: tuple[Rule, ...] = RULES) -> Node:
    for rule in rules:
        plan = top_down(plan, rule)
    return plan
