"""Choosing among plans: the cheapest; of those that cost about the same, the one with the simpler update patterns.

The strict pattern is worth avoiding beyond what the model counts: it keeps δ* and table joins from going where they are
best (thesis 3.5.3), and nobody knows exactly how many results will be taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.optimizer.cost import Cost, cost_of
from windrow.plan.analysis.rates import Rates
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import Node
from windrow.plan.pattern import Pattern

_UNMEASURED = "nothing was measured to choose by"  # costs are guesses until a stream has run, or has a rate
# Costs within this factor are about the same: for plans that ran within a tenth or two of each other the model was off
# by as much (docs/design/2026-11-15-optimizer.md).
CLOSE = 1.1


@dataclass(frozen=True)
class Considered:
    """A plan that was looked at: the steps that lead to it, its cost, and why it was chosen or not."""

    plan: Node
    steps: tuple[str, ...]
    cost: Cost
    chosen: bool
    why: str


def chosen_among(plans: Mapping[Node, tuple[str, ...]], rates: Rates) -> tuple[Considered, ...]:
    """All plans with their costs, the one as written first; exactly one is chosen, the first of equals."""
    if len(plans) == 1:
        return tuple(
            Considered(plan, steps, cost_of(plan, rates), True, "the only one") for plan, steps in plans.items()
        )
    costs = {plan: cost_of(plan, rates) for plan in plans}
    measured = not any(rates.of(plan).assumed for plan in plans)
    best = _best(costs) if measured else next(iter(plans))
    reasons = _reasons(costs, best) if measured else dict.fromkeys(plans, "a guess") | {best: _UNMEASURED}
    return tuple(Considered(plan, steps, costs[plan], plan is best, reasons[plan]) for plan, steps in plans.items())


def _best(costs: Mapping[Node, Cost]) -> Node:
    least = min(cost.total for cost in costs.values())
    close = [plan for plan, cost in costs.items() if cost.total <= CLOSE * least]
    return min(close, key=lambda plan: (*_complexity(plan), costs[plan].total))


def _complexity(plan: Node) -> tuple[int, int]:
    """How many edges are strict, and how many are weak."""
    patterns = [update_pattern(node) for node in plan.walk()]
    return patterns.count(Pattern.STR), patterns.count(Pattern.WK)


def _reasons(costs: Mapping[Node, Cost], best: Node) -> dict[Node, str]:
    cheapest = costs[best].total <= min(cost.total for cost in costs.values())
    reasons = {plan: _disadvantage(cost, costs[best]) for plan, cost in costs.items()}
    reasons[best] = "the cheapest" if cheapest else "about as cheap as the cheapest, with simpler patterns"
    return reasons


def _disadvantage(cost: Cost, best: Cost) -> str:
    if cost.total <= CLOSE * best.total:
        return "about as cheap, without simpler patterns"
    more = {
        "tuples to look at": cost.tuples - best.tuples,
        "state to keep up": cost.state - best.state,
        "negative tuples": cost.negatives - best.negatives,
    }
    return f"{cost.total / best.total:.3g} times the cost, most of it more {max(more, key=lambda part: more[part])}"
