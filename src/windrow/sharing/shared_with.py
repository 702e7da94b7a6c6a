"""Who shares what with whom: what EXPLAIN says of the running plans of several queries."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.plan.explain.operators import describe_operator, operator_name
from windrow.plan.nodes import Node
from windrow.plan.running_nodes import GroupSynopsis, IndexedSelection, SharedSlices
from windrow.sharing.indexed_selections import others_in_index

_NAMED = 5  # others that are named, of those that share


def shares(plan: Node) -> bool:
    """Whether there is something in a plan that belongs to several queries."""
    return any(isinstance(node, GroupSynopsis | SharedSlices | IndexedSelection) for node in plan.walk())


def shared_with(query: str, running: Mapping[str, Node]) -> tuple[str, ...]:
    """A line for each thing that a query shares with others, by the plans that run."""
    found = []
    for node in running[query].walk():
        if isinstance(node, GroupSynopsis | SharedSlices):
            others = [name for name, plan in running.items() if name != query and node in plan.walk()]
            if others:
                found.append(f"shared with {_listed(others)}: {operator_name(node)} {describe_operator(node)}")
        elif isinstance(node, IndexedSelection):
            others = list(others_in_index(query, node, running))
            rows = f"{operator_name(node.input)} {describe_operator(node.input)}"
            found.append(f"shared with {_listed(others)}: index of {len(others) + 1} predicates over {rows}")
    return tuple(found)


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
