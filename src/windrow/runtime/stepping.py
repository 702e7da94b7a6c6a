"""The loop that takes a segment of time through operators; every engine and every lookup runs it."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from windrow.batch import Batch, Segment
from windrow.clock import monotonic
from windrow.operators import State
from windrow.physical.physical_node import PhysicalNode


class Step(NamedTuple):
    """What an operator did in a segment."""

    node: PhysicalNode
    rows_in: int
    rows_out: int
    seconds: float


class SegmentPass:
    """Operators taken through a segment, inputs first, each of them once however many read it.

    `received` gives the rows of a source in the order of time, `state_of` the state that an operator works on.
    """

    def __init__(
        self,
        segment: Segment,
        received: Callable[[PhysicalNode], Batch],
        state_of: Callable[[PhysicalNode], State | None] = attrgetter("state"),
    ) -> None:
        self.steps: list[Step] = []
        self._segment = segment
        self._received = received
        self._state_of = state_of
        self._changes: dict[int, Batch] = {}

    def changes(self, node: PhysicalNode) -> Batch:
        """What comes out of a node, in the order of time."""
        if id(node) not in self._changes:
            self._changes[id(node)] = self._received(node) if node.operator is None else self._step(node)
        return self._changes[id(node)]

    def _step(self, node: PhysicalNode) -> Batch:
        assert node.operator is not None, node
        below = [self.changes(child) for child in node.inputs]
        began = monotonic()
        changes = node.operator.step(self._state_of(node), below, self._segment)
        if not any(changes.ts is rows.ts for rows in below):  # else they are in order, as they came
            changes = changes.sorted_by_time()
        self.steps.append(Step(node, sum(map(len, below)), len(changes), monotonic() - began))
        return changes
