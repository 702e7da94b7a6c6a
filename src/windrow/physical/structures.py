"""The structure that holds the results of a node under a strategy."""

from __future__ import annotations

from windrow.plan.analysis.state import StateForm, structure_for
from windrow.plan.nodes import Node
from windrow.plan.strategy import Strategy
from windrow.state import StructureKind

_KINDS = {
    StateForm.FIFO: StructureKind.FIFO,
    StateForm.CALENDAR_QUEUE: StructureKind.CALENDAR,
    StateForm.ROW_HASH: StructureKind.HASH,
}


def structure_kind(node: Node, strategy: Strategy) -> StructureKind:
    """Where the results of a node are stored under a strategy."""
    if strategy is Strategy.NT:
        return StructureKind.HASH
    if strategy is Strategy.DIRECT:
        return StructureKind.LIST
    # What never ends, tables and grouped rows are found by row as well as by anything else.
    return _KINDS.get(structure_for(node), StructureKind.HASH)
