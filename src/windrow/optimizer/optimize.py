"""Optimizing a plan: rules in order, then the cheapest of the alternatives that are left to the cost model.

Each rewrite is verified to leave the columns of the plan as they were.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimizer.choose import Considered, chosen_among
from windrow.optimizer.drop_distinct import drop_distinct
from windrow.optimizer.explore import AlternativeRule, explore
from windrow.optimizer.look_up_before_window import look_up_before_window
from windrow.optimizer.prune_columns import prune_columns
from windrow.optimizer.pull_up_negation import pull_up_negation
from windrow.optimizer.push_down_distinct import push_down_distinct
from windrow.optimizer.push_down_negation import push_down_negation
from windrow.optimizer.push_down_selection import push_down_selection
from windrow.optimizer.push_down_table_join import push_down_table_join
from windrow.plan.analysis.rates import Rates, Statistics
from windrow.plan.nodes import Node, Table
from windrow.plan.rewrite import Rule, top_down

# Without these a plan has no meaning: they run even when the optimizer is set off.
REQUIRED: tuple[Rule, ...] = (push_down_table_join, look_up_before_window)

# Always good.
RULES: tuple[Rule, ...] = (
    push_down_selection,  # before the table join, which goes below the selections that are left
    *REQUIRED,
)

# Good or bad by the rates: every combination within a bound is costed.
ALTERNATIVES: tuple[AlternativeRule, ...] = (
    push_down_distinct,
    pull_up_negation,
    push_down_negation,
)

# Always good, once everything is where it will stay: a projection would stand in the way of what moves.
FINISHING: tuple[Rule, ...] = (
    drop_distinct,  # before pruning, which may drop the columns of the key
    prune_columns,
)

# A table is looked up at the time of the tuple that arrives there. Above a DISTINCT that is the tuple which is shown
# for a value, and these may choose another one.
_CHANGES_LOOKUPS = (push_down_distinct, drop_distinct)


@dataclass(frozen=True)
class Optimized:
    """The plan to run, and all that was considered, in the order in which it was found."""

    plan: Node
    considered: tuple[Considered, ...]


def optimize(
    plan: Node,
    statistics: Statistics,
    rules: tuple[Rule, ...] = RULES,
    alternatives: tuple[AlternativeRule, ...] = ALTERNATIVES,
    finishing: tuple[Rule, ...] = FINISHING,
) -> Optimized:
    if any(isinstance(node, Table) and not node.retroactive for node in plan.walk()):
        alternatives = tuple(rule for rule in alternatives if rule not in _CHANGES_LOOKUPS)
        finishing = tuple(rule for rule in finishing if rule not in _CHANGES_LOOKUPS)
    found: dict[Node, tuple[str, ...]] = {}
    for candidate in explore(applied(plan, rules), alternatives):
        found.setdefault(applied(candidate.plan, finishing), candidate.steps)
    considered = chosen_among(found, Rates(statistics))
    return Optimized(next(one.plan for one in considered if one.chosen), considered)


def applied(plan: Node, rules: tuple[Rule, ...]) -> Node:
    """The plan after each rule in turn, everywhere."""
    for rule in rules:
        plan = top_down(plan, rule)
    return plan
