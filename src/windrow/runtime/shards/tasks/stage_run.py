"""One stage of a shard taken through a segment, and what its operators did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from windrow.batch import Batch, Dictionary, Segment, empty
from windrow.batch.shards import ONLY_SHARD, Shard
from windrow.physical.physical_node import PhysicalNode, source_types
from windrow.plan.explain.operators import describe_operator
from windrow.plan.nodes import Table
from windrow.runtime.shards.graph import Output
from windrow.runtime.stepping import SegmentPass
from windrow.runtime.tables import TableStore, table_rows
from windrow.sharing.exchanges import is_on_one_shard


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
    """One stage taken through what has become final; parts that outputs share are computed once.

    `inputs` has the rows that were received, `tables` the tables of the shard.
    """

    def __init__(
        self,
        inputs: Mapping[str, Batch],
        dictionary: Dictionary,
        segment_of: Callable[[frozenset[str]], Segment | None],
        tables: Mapping[str, TableStore] = MappingProxyType({}),
        shard: Shard = ONLY_SHARD,
    ) -> None:
        self._inputs = inputs
        self._shard = shard
        self._dictionary = dictionary
        self._tables = tables
        self._segment_of = segment_of
        self._pass = SegmentPass(self._segment, self._received)

    def of(self, output: Output) -> Batch:
        """What an output gives; a query whose time has not moved, or that is another shard's, gives nothing."""
        rows = None
        if not self._shard.number or not is_on_one_shard(output.root.plan):
            rows = self._pass.changes(output.root)
        return empty(output.root.plan.schema.types, self._dictionary) if rows is None else rows

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
            for node, rows_in, rows_out, seconds in self._pass.steps
        ]

    def _segment(self, node: PhysicalNode) -> Segment | None:
        assert node.streams is not None, node
        return self._segment_of(node.streams)

    def _received(self, node: PhysicalNode, segment: Segment | None) -> Batch:
        assert node.source is not None
        if segment is not None and isinstance(node.plan, Table):
            return table_rows(self._tables[node.plan.name.lower()], node.source, segment)
        rows = None if segment is None else self._inputs.get(node.source)
        return empty(source_types(node), self._dictionary) if rows is None else rows
