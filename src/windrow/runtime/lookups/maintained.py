"""What a synopsis of the running plan has come to, for whoever looks something up in it."""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.batch import Batch
from windrow.operators.synopses.maintain_join import MaintainJoinSynopsis
from windrow.operators.synopses.maintain_synopsis import MaintainSynopsis
from windrow.operators.synopses.maintained import SynopsisOperator, SynopsisState
from windrow.physical.physical_node import PhysicalNode


class MaintainedSynopsis(NamedTuple):
    """An operator, and the state that it has come to: which kind of questions they take is the reader's to know."""

    operator: SynopsisOperator[Any, Any]
    state: SynopsisState

    def answer(self, question: object) -> Batch:
        return self.operator.answer(self.state, question)


def maintained_by(node: PhysicalNode) -> MaintainedSynopsis:
    """What the operator of a synopsis has summarised."""
    assert maintains_synopsis(node), node
    operator: Any = node.operator
    state: Any = node.state
    return MaintainedSynopsis(operator, state)


def maintains_synopsis(node: PhysicalNode) -> bool:
    return isinstance(node.operator, MaintainSynopsis | MaintainJoinSynopsis)
