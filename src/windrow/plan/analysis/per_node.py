"""Remembering what an analysis found, on the node it is about: nodes never change, so neither does that."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from windrow.plan.nodes import Node

Finding = TypeVar("Finding")


def per_node(analysis: Callable[[Node], Finding]) -> Callable[[Node], Finding]:
    """Compute once a node. A plan of n nodes is then analysed in n steps however often it is asked."""
    key = f"{analysis.__module__}.{analysis.__qualname__}"

    @functools.wraps(analysis)
    def remembered(node: Node) -> Finding:
        findings = node.__dict__
        if key not in findings:
            findings[key] = analysis(node)
        finding: Finding = findings[key]
        return finding

    return remembered
