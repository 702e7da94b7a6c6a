"""Filling: a new part of the running plan gets the state that it would have if it had always been there.

A query that comes later is put on nodes that run, where its plan and theirs are equal. Each new node is stepped once,
inputs first, over what the nodes below remember: rows that are alive are one more batch, with their lifetimes. What
comes out is what is alive of the new node, and goes to new nodes above it; there are no others. Nodes that run are
asked, and never changed. Costs what there is to fill.

Every node is at its own *boundary*: everything before it has been stepped through. What an input that is ahead has
given for later is held back, as always.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from windrow.batch import Batch, Segment, concat
from windrow.batch.consolidation import past_consolidated, standing
from windrow.operators.operator import Remembering, Remembers
from windrow.physical.physical_node import PhysicalNode
from windrow.plan.coverage import Covered, combined, complete_from, first_to_come, staying, windowed
from windrow.plan.kept_windows import Conditions, own_conditions
from windrow.plan.nodes import AppendOnly, Node, OutputKind, OutputStream, Stream, Windowed
from windrow.plan.running_nodes import Exchange
from windrow.plan.strategy import Strategy
from windrow.plan.windows import Range, Unbounded, Window
from windrow.runtime.kept_rows import FoundRows, completed
from windrow.runtime.progress import Progress
from windrow.runtime.stepping import no_rows
from windrow.state.snapshot import NoState
from windrow.units import BEGINNING, FOREVER


class Filling:
    """Queries that are taken up together; `progress` is as of the last step that nodes have made.

    `of_source` gives what a source has at an instant, or no rows for none: the contents of tables, nothing of streams.
    `kept` gives rows that a declared window has for another one, under conditions. `start` is that of nodes which have
    rows from then on only.
    """

    def __init__(
        self,
        progress: Progress,
        of_source: Callable[[PhysicalNode, int | None], Batch],
        kept: Callable[[Windowed, Conditions], FoundRows | None] = lambda window, conditions: None,
        conditions: Mapping[Windowed, Conditions] | None = None,
        start: int = BEGINNING,
    ) -> None:
        self._progress, self._of_source, self._start = progress, of_source, start
        self._kept, self._conditions = kept, conditions or {}
        self._alive: dict[int, Batch] = {}
        self._found: dict[int, FoundRows | None] = {}

    def can_attach(self, node: PhysicalNode) -> bool:
        """Whether a query can be put on a node: what runs and has to be asked can say what is alive."""
        if node.operator is None:
            return True
        remembers = node.operator.remembers
        if remembers is Remembers.UNKNOWN and self._boundary(node) != BEGINNING:
            return False
        if node.covered is not None and remembers is not Remembers.THROUGH:
            return True
        return all(map(self.can_attach, node.inputs))

    def fill(self, node: PhysicalNode) -> Covered:
        """Take up a node with all that is new below it; since when it has its rows."""
        if node.covered is not None:
            return self._covered_above(node)
        below = [self.fill(one) for one in node.inputs]
        covered = self._covered(node, below, self._since(node))
        node.covered = self._without_more(node, below, covered)
        at = self._boundary(node)
        if node.operator is None or at == FOREVER:
            return covered
        rows = [self._arriving(node, place, at) for place in range(len(node.inputs))]
        if any(map(len, rows)):
            changes = node.operator.step(node.state, rows, self._segment(node, rows, at))
            if node.operator.remembers is not Remembers.NOTHING:
                self._alive[id(node)] = standing(changes, at)
        return covered

    def alive(self, node: PhysicalNode) -> Batch:
        """What a node has given before its boundary and is alive there."""
        if id(node) not in self._alive:
            self._alive[id(node)] = self._remembered(node)
        return self._alive[id(node)]

    def _remembered(self, node: PhysicalNode) -> Batch:
        at = self._boundary(node)
        if at in (BEGINNING, FOREVER):
            return self._nothing(node)
        if node.operator is None:
            return self._of_source(node, at)
        remembers, operator = node.operator.remembers, cast(Remembering[Any], node.operator)
        if remembers is Remembers.RESULTS:
            return operator.alive(node.state, [self._nothing(below) for below in node.inputs], at)
        if remembers is not Remembers.THROUGH:
            return self._nothing(node)
        below = [self._had(node, place, at) for place in range(len(node.inputs))]
        if isinstance(node.state, NoState):
            return operator.step(node.state, below, Segment(at - 1, at))
        return operator.alive(node.state, below, at)

    def _rows_below(self, node: PhysicalNode, place: int) -> Batch:
        """What is alive of an input; windows begin with rows that are kept, or else with those that come."""
        below = node.inputs[place]
        if not _reads_rows(node):
            return self.alive(below)
        found = self._found_for(node)
        return self._nothing(below) if found is None else self._through(below, found.rows)

    def _through(self, node: PhysicalNode, rows: Batch) -> Batch:
        """What becomes of rows of a stream on their way to a window."""
        if node.operator is None:
            return rows
        below = [self._through(one, rows) for one in node.inputs]
        return node.operator.step(node.state, below, Segment(BEGINNING, self._boundary(node))).sorted_by_time()

    def _found_for(self, node: PhysicalNode) -> FoundRows | None:
        """Rows that are kept for a window. A new one that remembers rows gets only what is right for all readers."""
        if id(node) not in self._found:
            plan = node.plan
            known = isinstance(plan, Windowed) and self._start == BEGINNING != self._boundary(node) != FOREVER
            found = None
            if known and isinstance(plan, Windowed):
                own = own_conditions(plan)
                needed = own if node.covered is None and _has_memory(node) else self._conditions.get(plan, own)
                found = self._kept(plan, needed)
            self._found[id(node)] = found
        return self._found[id(node)]

    def _arriving(self, node: PhysicalNode, place: int, at: int) -> Batch:
        """What a new node gets of an input; what is later than its boundary is held back."""
        rows = self._rows_below(node, place).sorted_by_time()
        if place in node.held:
            cut = int(np.searchsorted(rows.ts, at))
            node.held[place].put(rows.slice(cut, len(rows)))
            rows = rows.slice(0, cut)
        return rows if _reads_rows(node) else rows.with_lifetimes(np.full(len(rows), at - 1, np.int64), rows.exp)

    def _had(self, node: PhysicalNode, place: int, at: int) -> Batch:
        """What a node that runs has got of an input: what is alive there, without the changes that it holds back."""
        rows = self._rows_below(node, place)
        if place not in node.held or not len(node.held[place]):
            return rows
        ahead = self._boundary(node.inputs[place])
        later = concat(past_consolidated([node.held[place].rows(rows)])).negated()
        ended = (later.sign < 0) & (later.exp <= ahead)  # these are not among the alive any more
        return standing(concat([rows, later.take(~ended)]), at)

    def _segment(self, node: PhysicalNode, rows: Sequence[Batch], at: int) -> Segment:
        if not _reads_rows(node):
            return Segment(at - 1, at)
        return Segment(min(int(batch.ts.min(initial=at - 1)) for batch in rows), at)

    def _nothing(self, node: PhysicalNode) -> Batch:
        return no_rows(node, lambda source: self._of_source(source, None))

    def _boundary(self, node: PhysicalNode) -> int:
        assert node.streams is not None, node
        return max(self._progress.watermark_of(node.streams), self._start)

    def _since(self, node: PhysicalNode) -> int:
        """From when on all rows of its streams come to a node."""
        at = self._boundary(node)
        return at if at != FOREVER else self._progress.last_row_of(node.streams or frozenset()) + 1

    def _covered_above(self, node: PhysicalNode) -> Covered:
        """Of a new node above one that runs: it has what is remembered."""
        assert node.covered is not None, node
        if node.operator is not None and node.operator.remembers is Remembers.NOTHING:
            return staying(Covered(node.covered.windows, self._boundary(node)))  # what it gave before is gone
        if node.operator is None or node.operator.remembers is not Remembers.THROUGH:
            if node.operator is not None or isinstance(node.plan, Exchange):
                return node.covered
            return self._covered(node, [], self._since(node))
        if _keeps_window(node):
            return node.covered
        since = self._since(node)
        if _reads_rows(node) and isinstance(node.plan, Windowed):
            since = max(node.covered.windows[node.plan], first_to_come(node.plan.window, since))
            if self._found_for(node) is None and since == node.covered.windows[node.plan]:
                return node.covered
        return self._covered(node, [self._covered_above(below) for below in node.inputs], since)

    def _covered(self, node: PhysicalNode, below: list[Covered], since: int) -> Covered:
        if node.operator is None and isinstance(node.plan, Stream):
            return Covered({node.plan: since}, complete_from(_WHOLE, since))
        if _stays(node.plan):
            return staying(combined(below))
        if not isinstance(node.plan, Windowed) or not _reads_rows(node):
            return combined(below)
        found = self._found_for(node)
        if found is None:
            return windowed(node.plan, combined(below), since)
        count = len(self._rows_below(node, 0))
        return Covered(
            {node.plan: found.covered_from}, completed(node.plan, found.covered_from, self._boundary(node), count)
        )

    def _without_more(self, node: PhysicalNode, below: list[Covered], covered: Covered) -> Covered:
        """For who comes later: rows that were found under the conditions of one query are not all rows of a window."""
        if not _reads_rows(node) or not isinstance(node.plan, Windowed) or _has_memory(node):
            return covered
        return windowed(node.plan, combined(below), self._since(node))


_WHOLE = Window(Unbounded())


def _stays(plan: Node) -> bool:
    """Whether results are not withdrawn with the rows that they are made of."""
    return isinstance(plan, AppendOnly) or (isinstance(plan, OutputStream) and plan.kind is not OutputKind.RSTREAM)


def _reads_rows(node: PhysicalNode) -> bool:
    """The operators of a window that rows come to as they are; those above it get what it makes of them."""
    return isinstance(node.plan, Windowed) and all(below.plan is not node.plan for below in node.inputs)


def _keeps_window(node: PhysicalNode) -> bool:
    """Negative tuples above a window, which take all of it back."""
    if not isinstance(node.plan, Windowed) or _reads_rows(node) or isinstance(node.state, NoState):
        return False
    return not node.plan.window.is_open


def _has_memory(node: PhysicalNode) -> bool:
    """Whether rows stay with the operators of a window: those that wait, and all when they are counted or told."""
    assert isinstance(node.plan, Windowed), node
    window = node.plan.window
    return node.lowered_for == Strategy.NT.value or window.slide is not None or not isinstance(window.extent, Range)
