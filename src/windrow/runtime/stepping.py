"""The loop that takes operators through time; every engine and every lookup runs it.

Each node has a segment of its own: what has become final for the streams that it moves with. An input that moves with
fewer streams is never behind; what comes from it and is later than the node's segment is held back until its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import NamedTuple

from windrow.batch import Batch, Segment, concat
from windrow.clock import monotonic
from windrow.operators import State
from windrow.operators.selections.indexed_selection import IndexedSelection
from windrow.physical.physical_node import PhysicalNode

SegmentOf = Callable[[frozenset[str], int], Segment | None]  # of streams, from a start on


class Step(NamedTuple):
    """What an operator did in a segment."""

    node: PhysicalNode
    rows_in: int
    rows_out: int
    seconds: float


class SegmentPass:
    """Operators taken through their segments, inputs first, each of them once however many read it.

    `segment_of` gives the segment of a node, or None when its time has not moved; `received` the rows of a source in
    it, in the order of time, or no rows when there is no segment; `state_of` the state that an operator works on.
    """

    def __init__(
        self,
        segment_of: Callable[[PhysicalNode], Segment | None],
        received: Callable[[PhysicalNode, Segment | None], Batch],
        state_of: Callable[[PhysicalNode], State | None] = attrgetter("state"),
    ) -> None:
        self.steps: list[Step] = []
        self._segment_of = segment_of
        self._received = received
        self._state_of = state_of
        self._changes: dict[int, Batch | None] = {}
        self._errors: dict[int, Exception] = {}  # of operators that have raised

    def changes(self, node: PhysicalNode) -> Batch | None:
        """What comes out of a node, in the order of time; None when its time has not moved.

        An operator that raises is not stepped again: it raises the same for everybody who reads it.
        """
        if id(node) in self._errors:
            raise self._errors[id(node)]
        if id(node) not in self._changes:
            self._changes[id(node)] = self._stepped(node)
        return self._changes[id(node)]

    def _stepped(self, node: PhysicalNode) -> Batch | None:
        segment = self._segment_of(node)
        if node.operator is None:
            return None if segment is None else self._received(node, segment)
        if segment is None:
            self._hold_back(node)
            return None
        below = [self._arrived(node, place, segment) for place in range(len(node.inputs))]
        _match_once(node, below)
        began = monotonic()
        try:
            changes = node.operator.step(self._state_of(node), below, segment)
        except Exception as error:
            error.__dict__.setdefault("__notes__", []).append(f"in the operator {type(node.operator).__name__}")
            self._errors[id(node)] = error
            raise
        if not any(changes.ts is rows.ts for rows in below):  # else they are in order, as they came
            changes = changes.sorted_by_time()
        self.steps.append(Step(node, sum(map(len, below)), len(changes), monotonic() - began))
        return changes

    def _hold_back(self, node: PhysicalNode) -> None:
        """What inputs bring that are ahead of a node whose time has not moved."""
        for place, below in enumerate(node.inputs):
            changes = self.changes(below)
            if changes is not None:
                node.held[place].put(changes)

    def _arrived(self, node: PhysicalNode, place: int, segment: Segment) -> Batch:
        """What an input brings for the segment of a node."""
        below = node.inputs[place]
        changes, held = self.changes(below), node.held.get(place)
        if held is None:
            return no_rows(below, self._of_source) if changes is None else changes
        if changes is not None:
            held.put(changes)
        due = held.pop_before(segment.end)
        return concat(due) if due else no_rows(below, self._of_source)

    def _of_source(self, source: PhysicalNode) -> Batch:
        return self._received(source, None)


def no_rows(node: PhysicalNode, of_source: Callable[[PhysicalNode], Batch]) -> Batch:
    """No rows, with the columns that a node gives; `of_source` gives those of a source."""
    if node.nothing is None:
        if node.operator is None:
            given = of_source(node)
        else:
            below = [no_rows(child, of_source) for child in node.inputs]
            given = node.operator.step(node.operator.fresh_state(), below, Segment(0, 1))
        node.nothing = given.slice(0, 0) if len(given) else given
    return node.nothing


def _match_once(node: PhysicalNode, below: Sequence[Batch]) -> None:
    """Have an index match rows for all that select from them; where they are held back, each has rows of its own."""
    if isinstance(node.operator, IndexedSelection) and not node.held:
        node.operator.index.match(below[0])


class Passes:
    """Nodes of queries that started at different times, taken through the same advance of time.

    `segment_of` gives what has become final for streams from a start on.
    """

    def __init__(
        self,
        segment_of: SegmentOf,
        received: Callable[[int, PhysicalNode, Segment | None], Batch],
    ) -> None:
        self._segment_of, self._received = cache(segment_of), received  # once for all nodes of the same streams
        self._by_start: dict[int, SegmentPass] = {}

    def changes(self, root: PhysicalNode, start: int) -> Batch | None:
        """What comes out of a node of queries that started together; None when its time has not moved."""
        if start not in self._by_start:
            segment_of = partial(_segment, self._segment_of, start)
            self._by_start[start] = SegmentPass(segment_of, partial(self._received, start))
        return self._by_start[start].changes(root)

    def steps(self) -> Iterator[Step]:
        for through in self._by_start.values():
            yield from through.steps


def _segment(segment_of: SegmentOf, start: int, node: PhysicalNode) -> Segment | None:
    """No method: a pass that knew its owner would keep all that it has computed until Python looks for cycles."""
    assert node.streams is not None, node
    return segment_of(node.streams, start)
