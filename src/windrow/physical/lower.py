"""Lowering: from a logical plan to operators over batches, columns by position.

Equal sub-plans become one operator, so that queries that share a part of their plans share its work and its state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from windrow.batch.batch import Batch
from windrow.batch.column import Column as BatchColumn
from windrow.batch.dictionary import Dictionary
from windrow.batch.shards import ONLY_SHARD, OwnShare, Shard
from windrow.operators import (
    AppendOnly,
    ColumnLifetime,
    DeleteStream,
    InsertStream,
    Limit,
    MergeUnion,
    Multiplicity,
    MultiplicityOperator,
    NegativeTuples,
    OpenLifetime,
    Operator,
    Projection,
    RangeLifetime,
    RelationStream,
    Selection,
    SortColumn,
    TimeWindow,
)
from windrow.operators.joins.table_input import TableInput
from windrow.operators.outputs.external_parts import Numbered, WithEnd
from windrow.operators.outputs.row_order import InRowOrder
from windrow.operators.punctuated import PunctuatedPartitions
from windrow.operators.synopses.refreshed_synopsis import TakeAnswer
from windrow.operators.windows.partition_window import PartitionWindow, PredicateWindow
from windrow.operators.windows.sampling import Refreshed
from windrow.operators.windows.sub_windows import SubWindows
from windrow.physical.lower_groups import GroupLowering, counted
from windrow.physical.lower_joins import JoinLowering
from windrow.physical.lower_under_strategy import LoweringUnderStrategy
from windrow.physical.physical_node import LOOKED_UP, PhysicalNode, contents_of, plan_digest
from windrow.physical.structures import structure_kind
from windrow.physical.windows import lifetime_ordinal, window_operators
from windrow.plan import nodes, running_nodes
from windrow.plan.analysis.closings import closes_partitions
from windrow.plan.analysis.internal import has_internal
from windrow.plan.analysis.refreshes import refresh_interval, without_slides
from windrow.plan.analysis.relations import is_non_retroactive, is_relation
from windrow.plan.analysis.state import is_grouped
from windrow.plan.nodes import Node, OutputKind
from windrow.plan.strategy import Strategy
from windrow.state import StructureKind
from windrow.types import TIMESTAMP


class Lowering(GroupLowering, JoinLowering):
    """Lowers plans under one strategy; `known` remembers what has been lowered, for sharing."""

    def __init__(
        self,
        dictionary: Dictionary,
        strategy: Strategy = Strategy.UPA,
        direct: LoweringUnderStrategy | None = None,
        shard: Shard = ONLY_SHARD,
    ) -> None:
        is_nt = strategy is Strategy.NT
        super().__init__(dictionary, strategy, (direct or Lowering(dictionary, shard=shard)) if is_nt else None)
        self._shard = shard
        self._known: dict[Node, PhysicalNode] = {}
        self._received_nodes: dict[running_nodes.Exchange, PhysicalNode] = {}

    def lower(self, plan: Node) -> PhysicalNode:
        if plan not in self._known:
            self._known[plan] = self._lower(plan)
            self._sign(self._known[plan])
        return self._known[plan]

    def _sign(self, node: PhysicalNode) -> None:
        """Say for which strategy operators were made; what is below others has been signed before."""
        if not node.lowered_for:
            node.lowered_for = self._strategy.value
            for below in node.inputs:
                self._sign(below)

    def _lower(self, plan: Node) -> PhysicalNode:
        if isinstance(plan, nodes.Stream):
            return self._unbounded(plan)
        if isinstance(plan, nodes.Table):
            feeds = (PhysicalNode(plan, None, source=name) for name in (plan.name, contents_of(plan.name)))
            return PhysicalNode(plan, TableInput(early=0 if plan.retroactive else 1), tuple(feeds))
        if isinstance(plan, nodes.Alias | nodes.Sort):
            return self.lower(plan.input)  # names and the order of showing are not the matter of kernels
        if isinstance(plan, running_nodes.SubWindows):
            return PhysicalNode(plan, SubWindows(*counted(plan)), (self._rows_below(plan.input),))
        if isinstance(plan, nodes.Windowed):
            return self._windowed(plan)
        if isinstance(plan, running_nodes.Stamped):
            return self._stamped(plan, self.lower(plan.input))
        if isinstance(plan, nodes.Filter):
            predicate = self._compiler(plan.input.schema).predicate(plan.predicate)
            return self._node(plan, Selection(predicate))
        if isinstance(plan, nodes.Project):
            compiler = self._compiler(plan.input.schema)
            return self._node(plan, Projection(tuple(compiler.column(c.expression) for c in plan.columns)))
        if isinstance(plan, running_nodes.PeriodicSynopsis):
            return self._refreshed(plan)
        if isinstance(plan, running_nodes.PeriodicLookup):
            assert isinstance(plan.input, running_nodes.PeriodicSynopsis), plan
            places = {named.name: place for place, named in enumerate(plan.input.aggregates)}
            own = tuple(places[name] for name in plan.question.aggregates)
            return self._node(plan, TakeAnswer(plan.input.questions.index(plan.question), len(plan.keys), own))
        if isinstance(plan, running_nodes.WindowSynopsis):
            return self._synopsis(plan)
        if isinstance(plan, running_nodes.JoinSynopsis):
            return self._kept_join(plan)
        if isinstance(plan, running_nodes.OnDemandLookup):  # what is looked up is handed in when somebody asks
            return PhysicalNode(plan, None, source=LOOKED_UP)
        if isinstance(plan, running_nodes.SlicePartials):
            return self._slices(plan)
        if isinstance(plan, running_nodes.SharedSlices):
            return self._shared_slices(plan)
        if isinstance(plan, running_nodes.SliceSummaries | running_nodes.LastSubWindows):
            return self._summarised(plan)
        if isinstance(plan, running_nodes.MergeGroups):
            return self._node(plan, self._merge(plan))
        if isinstance(plan, nodes.GroupBy):
            return self._group_by(plan)
        if isinstance(plan, running_nodes.Exchange):
            return self._exchange(plan)
        return self._binary_or_set(plan)

    def _exchange(self, plan: running_nodes.Exchange) -> PhysicalNode:
        """What is on every shard already is not sent: each shard takes its own share."""
        if is_everywhere(plan.input):
            compiler = self._compiler(plan.input.schema)
            keys = tuple(compiler.column(key) for key in plan.keys)
            return self._node(plan, Selection(OwnShare(keys, self._shard)))
        received = self._received(plan)
        if not isinstance(plan.input, nodes.Stream) or plan.input.lifetime is None:
            return received
        return PhysicalNode(plan, TimeWindow(ColumnLifetime(lifetime_ordinal(plan.input))), (received,))

    def _received(self, plan: running_nodes.Exchange) -> PhysicalNode:
        """Rows as they are sent; those of a stream as they came, without the lifetimes they may have of their own."""
        if plan not in self._received_nodes:
            name = f"{self._strategy.value}.{plan_digest(plan)}"
            self._received_nodes[plan] = PhysicalNode(plan, None, source=name, lowered_for=self._strategy.value)
        return self._received_nodes[plan]

    def sent(self, plan: Node) -> PhysicalNode:
        """What an exchange sends."""
        return self._source(plan) if isinstance(plan, nodes.Stream) else self.lower(plan)

    def _binary_or_set(self, plan: Node) -> PhysicalNode:
        if isinstance(plan, nodes.Join):
            return self._join(plan)
        if isinstance(plan, nodes.SemiJoin | nodes.AntiJoin) and is_non_retroactive(plan.right):
            return self._presence(plan)
        if isinstance(plan, nodes.SemiJoin):
            return self._node(plan, self._semi_join(plan, plan.condition))
        if isinstance(plan, nodes.AntiJoin):
            return self._node(plan, self._negation(plan))
        if isinstance(plan, nodes.Union):
            return self._node(plan, MergeUnion())
        if isinstance(plan, nodes.Distinct):
            return self._node(plan, self._distinct(plan))
        if isinstance(plan, nodes.Intersect) and not plan.all and not any(map(self._takes_back, plan.inputs)):
            return self._weak_intersection(plan)
        if isinstance(plan, nodes.Except | nodes.Intersect):
            return self._node(plan, self._multiplicity(plan))
        return self._output(plan)

    def _output(self, plan: Node) -> PhysicalNode:
        if isinstance(plan, nodes.Limit):
            return self._limit(plan)
        if isinstance(plan, nodes.AppendOnly):
            return PhysicalNode(plan, InRowOrder(), (self._lasting(plan.input, refresh_interval(plan)),))
        if isinstance(plan, running_nodes.WithEnd | running_nodes.Numbered):
            return self._part(plan)
        kind = structure_kind(plan.inputs[0], self._strategy)
        if isinstance(plan, nodes.OutputStream) and plan.restore:
            return self._restored(plan, kind)
        if isinstance(plan, nodes.OutputStream) and plan.kind is OutputKind.RSTREAM:
            return self.lower(plan.input)  # names the answer; the runtime tells it at each refresh
        if isinstance(plan, nodes.OutputStream):
            difference = InsertStream(kind) if plan.kind is OutputKind.ISTREAM else DeleteStream(kind)
            return self._stream(plan, self._sampled(plan.input, refresh_interval(plan)), difference)
        raise AssertionError(f"there is no operator for {plan}")

    def _limit(self, plan: nodes.Limit) -> PhysicalNode:
        """The kernel sorts by columns: keys that are expressions are computed first and dropped afterwards."""
        compiler, width = self._compiler(plan.input.schema), len(plan.input.schema)
        own = [compiler.column(column) for column in plan.input.schema.columns]
        computed = [compiler.column(key.expression) for key in plan.keys]
        sorted_by = tuple(
            SortColumn(width + place, key.descending, key.nulls_first) for place, key in enumerate(plan.keys)
        )
        wide = PhysicalNode(plan, Projection((*own, *computed)), (self.lower(plan.input),))
        kind = structure_kind(plan.input, self._strategy)
        limited = PhysicalNode(plan, Limit(sorted_by, plan.count, plan.offset, kind), (wide,))
        return PhysicalNode(plan, Projection(tuple(own)), (limited,))

    def _lasting(self, plan: Node, slide: int | None) -> PhysicalNode:
        """The results of a query over INTERNAL windows, which end with their external parts."""
        if isinstance(plan, nodes.Sort):
            return self._lasting(plan.input, slide)
        if not has_internal(plan):
            return self._sampled(plan, slide)
        if isinstance(plan, nodes.Union):
            return PhysicalNode(plan, MergeUnion(), tuple(self._lasting(side, slide) for side in plan.inputs))
        return self._ending(plan, slide) if isinstance(plan, running_nodes.EndWithParts) else self._told(plan, slide)

    def _ending(self, plan: running_nodes.EndWithParts, slide: int | None) -> PhysicalNode:
        places = {name: place for place, name in enumerate(plan.input.schema.names)}
        ends = tuple(places[name] for name in plan.ends)
        numbers = tuple(places[name] for name, _ in plan.numbers)
        operator = AppendOnly(ends, numbers, structure_kind(plan.input, self._strategy))
        watched = (self.lower(part) for part in plan.parts)
        return PhysicalNode(plan, operator, (self._sampled(plan.input, slide), *watched))

    def _told(self, plan: Node, slide: int | None) -> PhysicalNode:
        """All that a query tells, branch by branch: what is new, and of a periodic aggregate each of its values."""
        if isinstance(plan, nodes.Sort):
            return self._told(plan.input, slide)
        if isinstance(plan, nodes.Union):
            return PhysicalNode(plan, MergeUnion(), tuple(self._told(side, slide) for side in plan.inputs))
        kind, below = structure_kind(plan, self._strategy), self._sampled(plan, slide)
        if slide is not None and is_grouped(plan):
            return PhysicalNode(plan, RelationStream(slide, kind), (below,))
        return PhysicalNode(plan, InsertStream(kind), (below,))

    def _part(self, plan: running_nodes.WithEnd | running_nodes.Numbered) -> PhysicalNode:
        """A part that results end with, as it is at refreshes; under NT its end is noted before it is hidden."""
        if isinstance(plan, running_nodes.Numbered):
            operator = Numbered(structure_kind(plan.input, self._strategy))
            return PhysicalNode(plan, operator, (self._sampled(plan.input, plan.slide),))
        if self._strategy is Strategy.NT:
            return self._taken_back_afterwards(plan)
        return PhysicalNode(plan, WithEnd(), (self._sampled(plan.input, plan.slide),))

    def _sampled(self, plan: Node, slide: int | None) -> PhysicalNode:
        """An answer; a periodic one only as it is when it is refreshed."""
        below = self.lower(plan)
        return below if slide is None else PhysicalNode(plan, Refreshed(slide), (below,))

    def _restored(self, plan: nodes.OutputStream, kind: StructureKind) -> PhysicalNode:
        """RESTORE: what the same query tells when it is refreshed on every tuple waits for the next refresh."""
        slide = refresh_interval(plan)
        assert slide is not None, plan
        born = PhysicalNode(plan, InsertStream(kind), (self.lower(without_slides(plan.input)),))
        if plan.kind is OutputKind.ISTREAM:
            return self._stream(plan, born, TimeWindow(OpenLifetime(slide=slide)))
        lately = PhysicalNode(plan, TimeWindow(RangeLifetime(slide, slide=slide)), (born,))
        answer = self._sampled(plan.input, slide)
        beyond = PhysicalNode(
            plan, MultiplicityOperator(Multiplicity.EXCEPT_ALL, (StructureKind.FIFO, kind)), (lately, answer)
        )
        missed = PhysicalNode(plan, RelationStream(slide), (beyond,))
        till_the_next = PhysicalNode(plan, TimeWindow(RangeLifetime(slide)), (missed,))
        return PhysicalNode(plan, MergeUnion(), (answer, till_the_next))

    def _stream(self, plan: Node, below: PhysicalNode, operator: Operator[Any]) -> PhysicalNode:
        """Results in the order that a window on them needs."""
        return PhysicalNode(plan, InRowOrder(), (PhysicalNode(plan, operator, (below,)),))

    def _source(self, plan: nodes.Stream) -> PhysicalNode:
        """The rows of a stream as they come; every window on the stream reads this one."""
        key = replace(plan, lifetime=None)
        if key not in self._known:
            self._known[key] = PhysicalNode(key, None, source=plan.name)
        return self._known[key]

    def _unbounded(self, plan: nodes.Stream) -> PhysicalNode:
        """A stream without a window: its rows live for ever, or as long as they say."""
        source = self._source(plan)
        if plan.lifetime is None:
            return source
        return PhysicalNode(plan, TimeWindow(ColumnLifetime(lifetime_ordinal(plan))), (source,))

    def _windowed(self, plan: nodes.Windowed) -> PhysicalNode:
        current = self._rows_below(plan.input)
        for operator in window_operators(plan, self._compiler(plan.input.schema)):
            current = self._window(plan, operator, current)
        if self._strategy is Strategy.NT:
            kind = structure_kind(plan, Strategy.UPA)
            current = PhysicalNode(plan, NegativeTuples(kind), (current,))
        return current

    def _rows_below(self, plan: Node) -> PhysicalNode:
        """What a window reads: rows of a stream as they come, or of a sub-query."""
        if isinstance(plan, nodes.Stream):
            return self._source(plan)
        if isinstance(plan, running_nodes.Stamped) and isinstance(plan.input, nodes.Stream):
            return self._stamped(plan, self._source(plan.input))
        if isinstance(plan, running_nodes.Exchange) and isinstance(plan.input, nodes.Stream):
            return self._received(plan)
        return self._append_only(plan)

    def _stamped(self, plan: running_nodes.Stamped, below: PhysicalNode) -> PhysicalNode:
        own = self._compiler(plan.input.schema)
        columns = [own.column(column) for column in plan.input.schema.columns]
        return PhysicalNode(plan, Projection((*columns, _time_of_rows)), (below,))

    def _window(self, plan: nodes.Windowed, operator: Operator[Any], below: PhysicalNode) -> PhysicalNode:
        found = closes_partitions(plan)
        if found is None or not isinstance(operator, PartitionWindow | PredicateWindow):
            return PhysicalNode(plan, operator, (below,))
        places = tuple(plan.window.partition.index(name) for name in found.columns)
        return PhysicalNode(plan, PunctuatedPartitions(operator, places), (below, self._closings.node(plan.input)))

    def _append_only(self, plan: Node) -> PhysicalNode:
        """What a window on a sub-query reads: rows whose own lifetimes are not hidden behind negative tuples."""
        if self._strategy is Strategy.NT:
            return self._direct._rows_below(plan)
        if isinstance(plan, nodes.AppendOnly):  # WSTREAM: whatever results end with
            return PhysicalNode(plan, InRowOrder(), (self._told(plan.input, refresh_interval(plan)),))
        output = plan.input if isinstance(plan, nodes.Alias) else plan
        if isinstance(output, nodes.OutputStream) and output.kind is OutputKind.RSTREAM:
            return self._answers(output)
        return self.lower(plan)

    def _answers(self, plan: nodes.OutputStream) -> PhysicalNode:
        """RSTREAM as a stream: a copy of the answer at each refresh."""
        slide = refresh_interval(plan)
        assert slide is not None, plan
        answer = self.lower(plan) if plan.restore else self._sampled(plan.input, slide)
        return self._stream(plan, answer, RelationStream(slide, structure_kind(plan, self._strategy)))


def is_everywhere(plan: Node) -> bool:
    """Only tables below, which every shard holds."""
    return is_relation(plan) and not any(isinstance(node, running_nodes.Exchange) for node in plan.walk())


def _time_of_rows(rows: Batch) -> BatchColumn:
    return BatchColumn(TIMESTAMP, rows.ts)
