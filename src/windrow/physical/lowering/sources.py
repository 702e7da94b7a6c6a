"""Lowering where rows come from: streams, tables, exchanges, and what a window reads of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from windrow.batch.batch import Batch
from windrow.batch.column import Column
from windrow.batch.shards import OwnShare
from windrow.operators import ColumnLifetime, Projection, Selection, TimeWindow
from windrow.operators.joins.table_input import TableInput
from windrow.physical.lowering.context import LoweringContext
from windrow.physical.lowering.outputs import result_rows
from windrow.physical.lowering.selections import over_rows
from windrow.physical.physical_node import PhysicalNode, contents_of, pace_digest, plan_digest
from windrow.physical.windows import lifetime_ordinal
from windrow.plan.analysis.relations import is_relation, streams_of
from windrow.plan.nodes import Node, Stream, Table
from windrow.plan.running_nodes import Exchange, IndexedSelection, Stamped
from windrow.types import TIMESTAMP


def stream(plan: Stream, context: LoweringContext) -> PhysicalNode:
    """A stream without a window: its rows live for ever, or as long as they say."""
    return _with_own_lifetimes(plan, plan, _arrivals(plan, context))


def table(plan: Table, context: LoweringContext) -> PhysicalNode:
    feeds = (PhysicalNode(plan, None, source=name) for name in (plan.name, contents_of(plan.name)))
    return PhysicalNode(plan, TableInput(early=0 if plan.retroactive else 1), tuple(feeds))


def exchange(plan: Exchange, context: LoweringContext) -> PhysicalNode:
    """What is on every shard already is not sent: each shard takes its own share."""
    if is_everywhere(plan.input):
        compiler = context.compiler(plan.input.schema)
        keys = tuple(compiler.column(key) for key in plan.keys)
        return context.over_inputs(plan, Selection(OwnShare(keys, context.shard)))
    received = _received(plan, context)
    return _with_own_lifetimes(plan, plan.input, received) if isinstance(plan.input, Stream) else received


def stamped(plan: Stamped, context: LoweringContext) -> PhysicalNode:
    return _stamped(plan, context.lower(plan.input), context)


def sent(plan: Node, context: LoweringContext) -> PhysicalNode:
    """What an exchange sends: rows of a stream as they came, without the lifetimes they may have of their own."""
    return _arrivals(plan, context) if isinstance(plan, Stream) else context.lower(plan)


def rows_below(plan: Node, context: LoweringContext) -> PhysicalNode:
    """What a window reads: rows of a stream as they come, or of a sub-query."""
    if isinstance(plan, Stream):
        return _arrivals(plan, context)
    if type(plan) in _OF_STREAM and isinstance(plan.inputs[0], Stream):
        return _OF_STREAM[type(plan)](plan, context)
    if isinstance(plan, IndexedSelection):
        return over_rows(plan, rows_below(plan.input, context), context)
    if context.is_nt:  # rows whose own lifetimes are not hidden behind negative tuples
        return rows_below(plan, context.direct)
    return result_rows(plan, context)


def _stamped_arrivals(plan: Stamped, context: LoweringContext) -> PhysicalNode:
    assert isinstance(plan.input, Stream), plan
    return _stamped(plan, _arrivals(plan.input, context), context)


def is_everywhere(plan: Node) -> bool:
    """Only tables below, which every shard holds."""
    return is_relation(plan) and not any(isinstance(node, Exchange) for node in plan.walk())


def _arrivals(plan: Stream, context: LoweringContext) -> PhysicalNode:
    return context.source(replace(plan, lifetime=None), plan.name)


def _received(plan: Exchange, context: LoweringContext) -> PhysicalNode:
    pace = context.paces.of(plan)
    own = "" if pace == streams_of(plan) else f".{pace_digest(pace)}"
    return context.source(plan, f"{context.strategy.value}.{plan_digest(plan)}{own}")


def _with_own_lifetimes(plan: Node, rows: Stream, below: PhysicalNode) -> PhysicalNode:
    if rows.lifetime is None:
        return below
    return PhysicalNode(plan, TimeWindow(ColumnLifetime(lifetime_ordinal(rows))), (below,))


def _stamped(plan: Stamped, below: PhysicalNode, context: LoweringContext) -> PhysicalNode:
    own = context.compiler(plan.input.schema)
    columns = [own.column(column) for column in plan.input.schema.columns]
    return PhysicalNode(plan, Projection((*columns, _time_of_rows)), (below,))


def _time_of_rows(rows: Batch) -> Column:
    return Column(TIMESTAMP, rows.ts)


# What windows read that is directly over a stream: its rows as they come.
_OF_STREAM: dict[type[Node], Callable[..., PhysicalNode]] = {Stamped: _stamped_arrivals, Exchange: _received}
