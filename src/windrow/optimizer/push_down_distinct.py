"""Duplicate elimination push-down: equal rows are dropped before a join or a union multiplies or carries them.

Which distinct rows leave a join depends only on the distinct rows that enter it, so each input can lose its duplicates
first; what is left of them is lost above, as before. Whether it pays depends on how often rows repeat, so it is an
alternative. Below a negation it also brings duplicate elimination from a strict input to a simpler one, where δ* can
be used (thesis 3.5.2, 3.5.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from windrow.optimizer.prune_columns import condition_columns, narrowed, used_columns
from windrow.plan.analysis.keys import keys
from windrow.plan.analysis.relations import is_relation
from windrow.plan.explain.operators import describe_operator, operator_name
from windrow.plan.nodes import AntiJoin, Distinct, Join, Node, Project, SemiJoin, Union


def push_down_distinct(node: Node) -> Iterator[tuple[str, Node]]:
    """The plans with duplicates eliminated at one more input."""
    if not isinstance(node, Distinct):
        return
    if isinstance(node.input, Project):
        for step, changed in _one_input_distinct(node.input.input, used_columns(node.input)):
            yield step, Distinct(node.input.with_inputs(changed))
    else:
        for step, changed in _one_input_distinct(node.input, frozenset(node.schema.names)):
            yield step, Distinct(changed)


def _one_input_distinct(node: Node, used: frozenset[str]) -> Iterator[tuple[str, Node]]:
    if isinstance(node, Join | SemiJoin | AntiJoin):
        used |= condition_columns(node)
        sides = 2 if isinstance(node, Join) else 1  # a match is looked for, however often it is there
    elif isinstance(node, Union) and used >= set(node.schema.names):
        used |= set(node.right.schema.names)
        sides = 2
    else:
        return
    for place, side in enumerate(node.inputs[:sides]):
        narrow = narrowed(side, used)
        if not is_relation(side) and not keys(narrow):
            step = f"DISTINCT below {operator_name(node)} ({describe_operator(node)}), {('left', 'right')[place]} input"
            yield step, node.with_inputs(*node.inputs[:place], Distinct(narrow), *node.inputs[place + 1 :])
