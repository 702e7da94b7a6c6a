"""One stage of a shard taken through a segment, and what its operators did."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from windrow.batch import Batch, Dictionary, Segment, empty
from windrow.batch.shards import ONLY_SHARD, Shard
from windrow.physical.closings import closings_of
from windrow.physical.physical_node import PhysicalNode
from windrow.plan.explain.operators import describe_operator
from windrow.plan.nodes import Node, Stream, Table
from windrow.runtime.shards.graph import Output
from windrow.runtime.stepping import SegmentPass
from windrow.sharing.exchanges import is_on_one_shard
from windrow.types import Type


class Metric(NamedTuple):
    """What an operator did in a batch on a shard."""

    stage: int
    shard: int
    operator: str
    detail: str
    rows_in: int
    rows_out: int
    state_rows: int
    state_bytes: int  # as written
    seconds: float


class StageRun:
    """One stage taken through a segment; parts that outputs share are computed once."""

    def __init__(
        self, inputs: Mapping[str, Batch], dictionary: Dictionary, segment: Segment, shard: Shard = ONLY_SHARD
    ) -> None:
        self._inputs = inputs
        self._shard = shard
        self._dictionary = dictionary
        self._segment = segment
        self._passes: dict[int, SegmentPass] = {}  # by the start of queries

    def of(self, output: Output) -> Batch:
        """What an output gives; a query that has not started yet, or that is another shard's, gives nothing."""
        begin = max(self._segment.begin, output.start)
        if begin >= self._segment.end or (self._shard.number and is_on_one_shard(output.root.plan)):
            return empty(output.root.plan.schema.types, self._dictionary)
        if output.start not in self._passes:
            received = partial(self._received, output.start)
            self._passes[output.start] = SegmentPass(self._segment._replace(begin=begin), received)
        return self._passes[output.start].changes(output.root)

    def metrics(self, stage: int, sizes: Mapping[int, int]) -> list[Metric]:
        """What every operator did; sizes of states, by the ids of their nodes."""
        return [
            Metric(
                stage,
                self._shard.number,
                type(node.operator).__name__,
                describe_operator(node.plan),
                rows_in,
                rows_out,
                0 if node.state is None else len(node.state),
                sizes.get(id(node), 0),
                seconds,
            )
            for through in self._passes.values()
            for node, rows_in, rows_out, seconds in through.steps
        ]

    def _received(self, start: int, node: PhysicalNode) -> Batch:
        """Rows of an exchange are kept apart by start, those of sources are for all."""
        assert node.source is not None
        for name in (f"{start}.{node.source}", node.source):
            if name in self._inputs:
                return _not_before(self._inputs[name], start, node.plan)
        return empty(_types(node), self._dictionary)


def _types(node: PhysicalNode) -> tuple[Type, ...]:
    """Of the rows of a source; closings have the columns that are closed."""
    if isinstance(node.plan, Stream) and node.source == closings_of(node.plan.name):
        by_name = {field.name: field.type for field in node.plan.columns}
        return tuple(by_name[name] for name in node.plan.punctuated)
    return node.plan.schema.types


def _not_before(rows: Batch, start: int, plan: Node) -> Batch:
    """A table's changes before a query started are there from its start on."""
    if not isinstance(plan, Table) or not len(rows) or rows.ts[0] >= start:
        return rows
    return rows.with_lifetimes(np.maximum(rows.ts, start if plan.retroactive else start - 1), rows.exp)
