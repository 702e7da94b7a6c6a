"""Optimizing a plan: rules in order, each verified to leave the columns of the plan as they were."""

from __future__ import annotations

from windrow.optimizer.merge_selections import merge_selections
from windrow.optimizer.push_down_selection import push_down_selection
from windrow.optimizer.push_down_table_join import push_down_table_join
from windrow.plan.nodes import Node
from windrow.plan.rewrite import Rule, top_down

RULES: tuple[Rule, ...] = (
    merge_selections,
    push_down_selection,  # before the table join, which goes below the selections that are left
    push_down_table_join,
)


def optimize(plan: Node) -> Node:
    for rule in RULES:
        plan = top_down(plan, rule)
    return plan
