"""Exploring alternatives: the plans that a few steps of rewriting reach, near ones first, up to a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from windrow.plan.analysis.relations import is_relation
from windrow.plan.nodes import Node
from windrow.plan.rewrite import verified

Step = tuple[str, Node]  # what moved, in words, and the plan after it
AlternativeRule = Callable[[Node], Iterable[Step]]

# Plans that are looked at. Set by hand: all combinations of four independent moves (16) fit, and planning stays linear
# in the size of the plan however many operators could move.
BOUND = 24


@dataclass(frozen=True)
class Candidate:
    """A plan and the steps that lead to it from the plan as written."""

    plan: Node
    steps: tuple[str, ...] = ()


def explore(plan: Node, rules: tuple[AlternativeRule, ...]) -> list[Candidate]:
    """The plan itself first, then all that the rules make of it, each once."""
    found = {plan: Candidate(plan)}
    waiting = [found[plan]]
    while waiting and len(found) < BOUND:
        current = waiting.pop(0)
        for rule in rules:
            for step, changed in _changed(current.plan, rule):
                if changed not in found and len(found) < BOUND:
                    found[changed] = Candidate(changed, (*current.steps, step))
                    waiting.append(found[changed])
    return list(found.values())


def _changed(node: Node, rule: AlternativeRule) -> Iterator[Step]:
    """The plans in which one operator has moved."""
    for step, changed in rule(node):
        yield step, verified(node, changed)
    for place, below in enumerate(node.inputs):
        for step, changed in _changed(below, rule) if not is_relation(below) else ():
            yield step, node.with_inputs(*node.inputs[:place], changed, *node.inputs[place + 1 :])
