"""Depth: analyses and rewrites walk a plan by recursion, so it has a bound."""

from __future__ import annotations

from sqlglot import exp

from windrow.cql.syntax import span_of
from windrow.errors import CqlMeaningError
from windrow.plan.nodes import Node

MAX_DEPTH = 120  # of a plan; more is refused before Python's own limit is reached


def check_depth(plan: Node, tree: exp.Expr) -> None:
    """Refuse a plan that could not be walked down to its leaves."""
    waiting = [(plan, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            hint = "join or unite fewer relations in one query"
            raise CqlMeaningError(f"more than {MAX_DEPTH} operators stand above each other", span_of(tree), hint)
        waiting.extend((below, depth + 1) for below in node.inputs)
