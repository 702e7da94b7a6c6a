"""From the closings of a plan to the nodes that carry them beside the changes, as batches of key columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from windrow.batch.batch import Batch
from windrow.batch.column import Column
from windrow.operators import Projection
from windrow.operators.punctuated import ClosedOnBoth
from windrow.plan.analysis.closings import Closed, closed, closes_side
from windrow.plan.nodes import Join, Node, Stream
from windrow.plan.strategy import Strategy

if TYPE_CHECKING:
    from windrow.physical.physical_node import PhysicalNode


def closings_of(stream: str) -> str:
    """The source that gives the keys which punctuations of a stream close in a segment."""
    return f"{stream} closings"


class ClosingsLowering:
    """Finds the node that gives the closings of a plan; `make` builds nodes, and equal plans get the same one."""

    def __init__(self, strategy: Strategy, make: Callable[..., PhysicalNode]) -> None:
        self._strategy = strategy
        self._make = make
        self._known: dict[Node, PhysicalNode] = {}

    def usable(self, found: Closed | None) -> bool:
        """Ends that are told by negative tuples are changes that still come."""
        return found is not None and (found.final or self._strategy is not Strategy.NT)

    def node(self, plan: Node) -> PhysicalNode:
        """The closings of a plan that has some, in the order of `closed(plan).columns`."""
        if plan not in self._known:
            self._known[plan] = self._lower(plan)
        return self._known[plan]

    def forget(self, nodes: Iterable[PhysicalNode]) -> None:
        """Nobody reads these any more."""
        if self._known:
            gone = set(map(id, nodes))
            self._known = {plan: node for plan, node in self._known.items() if id(node) not in gone}

    def of_side(self, plan: Join, side: int) -> PhysicalNode | None:
        """Closings of an input of a join (0 is the left), in the order of its keys; None when they free nothing."""
        below = plan.inputs[side]
        keys, found = closes_side(plan, side), closed(below)
        if keys is None or found is None or not self.usable(found):
            return None
        return self._make(plan, Projection(tuple(_at(found.columns.index(key)) for key in keys)), (self.node(below),))

    def _lower(self, plan: Node) -> PhysicalNode:
        if isinstance(plan, Stream):
            return self._make(plan, None, source=closings_of(plan.name))
        if not isinstance(plan, Join) or closes_side(plan, 0) is None:
            return self.node(plan.inputs[0])
        return self._make(plan, ClosedOnBoth(), (self.of_side(plan, 0), self.of_side(plan, 1)))


def _at(place: int) -> Callable[[Batch], Column]:
    return lambda batch: batch.columns[place]
