"""Duplicate elimination is dropped where a key shows that there are no duplicates."""

from __future__ import annotations

from windrow.plan.analysis.keys import keys
from windrow.plan.nodes import Distinct, Node


def drop_distinct(node: Node) -> Node | None:
    return node.input if isinstance(node, Distinct) and keys(node.input) else None
