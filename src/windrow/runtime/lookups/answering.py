"""Answers on demand: groups are looked up in synopses, and the rest of the query is computed from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from windrow.batch import Batch, Dictionary, Segment, concat, rows_to_arrow
from windrow.errors import WindrowError
from windrow.operators import State
from windrow.physical.lower import Lowering
from windrow.physical.physical_node import PhysicalNode
from windrow.plan.nodes import Limit, Node, Sort
from windrow.plan.running_nodes import JoinLookup, OnDemandLookup
from windrow.runtime.bounds import with_bounds
from windrow.runtime.lookups.join_lookups import JoinReader
from windrow.runtime.lookups.maintained import MaintainedSynopsis
from windrow.runtime.lookups.window_lookups import WindowReader
from windrow.runtime.shown_order import in_shown_order
from windrow.runtime.stepping import SegmentPass
from windrow.units import FOREVER, format_timestamp


class LookedUp:
    """A query over a synopsis."""

    def __init__(self, plan: Node, dictionary: Dictionary) -> None:
        self.plan = plan
        lookup = next(node for node in plan.walk() if isinstance(node, OnDemandLookup))
        self.synopsis = lookup.input
        self._reader = JoinReader(lookup) if isinstance(lookup, JoinLookup) else WindowReader(lookup)
        self.order = plan.keys if isinstance(plan, Sort | Limit) else ()
        self._dictionary = dictionary
        self._root = Lowering(dictionary).lower(plan)

    def at(self, instant: int, final: int, synopses: Iterable[MaintainedSynopsis]) -> Batch:
        """The answer at an instant; the rows before `final` are there."""
        question = self._reader.question(instant, final)
        groups = concat([self._coded(one.answer(question)) for one in synopses])
        only = Segment(instant, instant + 1)
        answer = SegmentPass(lambda node: only, lambda source, segment: groups, _fresh_state).changes(self._root)
        assert answer is not None, self.plan
        return answer

    def _coded(self, rows: Batch) -> Batch:
        """Under the dictionary that the rest of the query knows; every shard has one of its own."""
        columns = (c.recoded(self._dictionary) if c.is_coded else c for c in rows.columns)
        return rows.with_columns(tuple(columns))

    def earliest(self, synopses: Iterable[MaintainedSynopsis], final: int) -> int:
        """The first instant that can still be asked for."""
        known_since = max((one.state.known_since for one in synopses), default=-FOREVER)
        return self._reader.earliest(known_since, final)


def answer_at(found: LookedUp, synopses: Sequence[MaintainedSynopsis], final: int, instant: int | None) -> pa.Table:
    """The answer at an instant, by default the latest final one, in no order but that of ORDER BY.

    Rows before `final` are there.
    """
    earliest = found.earliest(synopses, final)
    instant = final - 1 if instant is None else instant
    if instant < earliest:
        hint = f"ask for {format_timestamp(earliest)} or later"
        raise WindrowError(f"the answer at {format_timestamp(instant)} is not kept any more", hint)
    rows = found.at(instant, final, synopses)
    return _as_arrow(in_shown_order(rows, found.plan.schema, found.order) if found.order else rows, found.plan)


def newest_answer(found: LookedUp, synopses: Sequence[MaintainedSynopsis], final: int, last_row: int) -> pa.Table:
    """The newest answer that has not expired, always in the same order; `last_row` is the time of the last row."""
    instant = max(min(final - 1, last_row), found.earliest(synopses, final))
    return _as_arrow(in_shown_order(found.at(instant, final, synopses), found.plan.schema, found.order), found.plan)


def _as_arrow(rows: Batch, plan: Node) -> pa.Table:
    return with_bounds(rows_to_arrow(rows, plan.schema.names), plan)


def _fresh_state(node: PhysicalNode) -> State:
    """An answer is computed all at once, and nothing is kept from one to the next."""
    assert node.operator is not None, node
    state: State = node.operator.fresh_state()
    return state
