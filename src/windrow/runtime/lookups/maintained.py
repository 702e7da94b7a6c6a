"""What a synopsis of the running plan has come to, for whoever looks something up in it."""

from __future__ import annotations

from typing import TypeAlias

from windrow.operators.synopses.maintain_join import JoinSummaries, MaintainJoinSynopsis
from windrow.operators.synopses.maintain_synopsis import MaintainSynopsis, Summaries
from windrow.physical.physical_node import PhysicalNode

MaintainedSynopsis: TypeAlias = tuple[MaintainSynopsis, Summaries] | tuple[MaintainJoinSynopsis, JoinSummaries]


def maintained_by(node: PhysicalNode) -> MaintainedSynopsis:
    """The operator of a synopsis, and what it has summarised."""
    if isinstance(node.operator, MaintainJoinSynopsis):
        assert isinstance(node.state, JoinSummaries), node
        return node.operator, node.state
    assert isinstance(node.operator, MaintainSynopsis) and isinstance(node.state, Summaries), node
    return node.operator, node.state


def maintains_synopsis(node: PhysicalNode) -> bool:
    return isinstance(node.operator, MaintainSynopsis | MaintainJoinSynopsis)
