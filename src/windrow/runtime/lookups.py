"""Answers on demand: the groups of a window are looked up in synopses, and the rest of the query is computed from them.

A window that does not slide ends at the instant that is asked for, one that slides at its last refresh before that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from windrow.batch import Batch, Dictionary, Segment, concat, rows_to_arrow
from windrow.errors import WindrowError
from windrow.operators.keep_synopsis import KeepSynopsis, Question, Summaries
from windrow.physical.lower import LOOKED_UP, Lowering, PhysicalNode
from windrow.plan.analysis.synopses import Synopsis
from windrow.plan.nodes import KeptSynopsis, Limit, Node, Sort, WindowLookup
from windrow.plan.windows import Now, Range, RangeAgo, Rows, Unbounded
from windrow.runtime.bounds import with_bounds
from windrow.runtime.local.shown_order import in_shown_order
from windrow.units import BEGINNING, FOREVER, format_timestamp

Held = tuple[KeepSynopsis, Summaries]  # a synopsis, and what it has come to


def held_by(node: PhysicalNode) -> Held:
    """What the operator of a synopsis holds."""
    assert isinstance(node.operator, KeepSynopsis) and isinstance(node.state, Summaries), node
    return node.operator, node.state


class LookedUp:
    """A query over a synopsis."""

    def __init__(self, plan: Node, dictionary: Dictionary) -> None:
        self.plan = plan
        self.lookup = next(node for node in plan.walk() if isinstance(node, WindowLookup))
        self._dictionary = dictionary
        self._root = Lowering(dictionary).lower(plan)

    @property
    def synopsis(self) -> KeptSynopsis:
        return self.lookup.synopsis

    def at(self, instant: int, final: int, held: Iterable[Held]) -> Batch:
        """The answer at an instant; the rows before `final` are there."""
        question = self._question(instant, final)
        found = [self._coded(operator.answer(state, question)) for operator, state in held]
        return _computed(self._root, concat(found), Segment(instant, instant + 1))

    def _coded(self, rows: Batch) -> Batch:
        """Under the dictionary that the rest of the query knows; every shard has one of its own."""
        columns = (c.recoded(self._dictionary) if c.is_coded else c for c in rows.columns)
        return rows.with_columns(tuple(columns))

    def earliest(self, held: Iterable[Held], final: int) -> int:
        """The first instant that can still be asked for."""
        if self._is_of_now:
            return -FOREVER if final == FOREVER else final - 1
        return (
            max((state.synopsis.elements.kept_since for _, state in held), default=-FOREVER) + self.synopsis.reach - 1
        )

    @property
    def _is_of_now(self) -> bool:
        """Whether only the present can be asked for."""
        return self.synopsis.by_rows or any(kind in _OF_NOW for kind in self.synopsis.kinds)

    def _question(self, instant: int, final: int) -> Question:
        places = {named.call: place for place, named in enumerate(self.synopsis.aggregates)}
        asked = tuple(places[named.call] for named in self.lookup.aggregates)
        begin, end = self._edges(instant)
        if end >= final or self._is_of_now:
            end = FOREVER
        extent, threshold = self.lookup.window.extent, None
        if self.lookup.threshold is not None:
            calls = {named.name: named.call for named in self.lookup.aggregates}
            one = self.lookup.threshold
            threshold = places[calls[one.aggregate]], one.above, one.bound
        return Question(asked, begin, end, instant, extent.count if isinstance(extent, Rows) else 0, threshold)

    def _edges(self, instant: int) -> tuple[int, int]:
        extent, slide = self.lookup.window.extent, self.lookup.window.slide
        last = instant if not isinstance(slide, int) else instant // slide * slide - 1
        if isinstance(extent, Range | Now):
            return last + 1 - (extent.length if isinstance(extent, Range) else 1), last + 1
        if isinstance(extent, RangeAgo):
            return last + 1 - extent.begin, last + 1 - extent.end
        assert isinstance(extent, Rows | Unbounded), extent
        return BEGINNING, instant + 1


_OF_NOW = (Synopsis.HISTOGRAM.value, Synopsis.FADED.value)


def answered(
    found: LookedUp, held: Sequence[Held], final: int, last_row: int, instant: int | None, ordered: bool = False
) -> pa.Table:
    """The answer at an instant, as people get it; None asks for the newest that has not expired.

    Rows before `final` are there, and `last_row` is the time of the last.
    """
    earliest = found.earliest(held, final)
    if instant is None:
        instant = max(min(final - 1, last_row), earliest)
    if instant < earliest:
        hint = f"ask for {format_timestamp(earliest)} or later"
        raise WindrowError(f"the answer at {format_timestamp(instant)} is not kept any more", hint)
    return shown(found, found.at(instant, final, held), ordered)


def shown(found: LookedUp, rows: Batch, ordered: bool = False) -> pa.Table:
    """Rows of an answer as people get them: in the order of ORDER BY; if `ordered`, always in the same one."""
    keys = found.plan.keys if isinstance(found.plan, Sort | Limit) else ()
    if keys or ordered:
        rows = in_shown_order(rows, found.plan.schema, keys)
    return with_bounds(rows_to_arrow(rows, found.plan.schema.names), found.plan)


def _computed(node: PhysicalNode, groups: Batch, segment: Segment) -> Batch:
    """What the operators above the lookup make of its groups, all at once."""
    if node.operator is None:
        assert node.source == LOOKED_UP, node
        return groups
    below = [_computed(one, groups, segment) for one in node.inputs]
    return node.operator.step(node.operator.fresh_state(), below, segment).sorted_by_time()
