"""Strategies: how expired tuples are found, and in which structures state is kept (thesis 2.3.3 and 3.5.2).

All three give the same answers from the same kernels:
    NT      every end is announced by a negative tuple, state is hashed on the row;
    DIRECT  ends are columns, state is a list that is scanned from end to end;
    UPA     ends are columns, the structure follows the update pattern of what is stored.
"""

from __future__ import annotations

import enum

from windrow.plan.analysis.state import Structure, structure_for
from windrow.plan.nodes import Node
from windrow.state import StructureKind


class Strategy(enum.Enum):
    UPA = "upa"
    DIRECT = "direct"
    NT = "nt"


_KINDS = {
    Structure.FIFO: StructureKind.FIFO,
    Structure.CALENDAR_QUEUE: StructureKind.CALENDAR,
    Structure.ROW_HASH: StructureKind.HASH,
}


def structure_kind(node: Node, strategy: Strategy) -> StructureKind:
    """Where the results of a node are stored under a strategy."""
    if strategy is Strategy.NT:
        return StructureKind.HASH
    if strategy is Strategy.DIRECT:
        return StructureKind.LIST
    # What never ends, tables and grouped rows are found by row as well as by anything else.
    return _KINDS.get(structure_for(node), StructureKind.HASH)
