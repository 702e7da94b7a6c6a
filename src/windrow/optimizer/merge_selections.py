"""Two selections in a row are one."""

from __future__ import annotations

from windrow.plan.functions import conjunction
from windrow.plan.nodes import Filter, Node


def merge_selections(node: Node) -> Node | None:
    if isinstance(node, Filter) and isinstance(node.input, Filter):
        predicate = conjunction([node.input.predicate, node.predicate])
        assert predicate is not None
        return Filter(node.input.input, predicate)
    return None
