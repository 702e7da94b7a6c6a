"""Lowering: from a logical plan to operators over batches, columns by position.

Equal sub-plans become one operator, so that queries that share a part of their plans share its work and its state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from windrow.batch.batch import Batch
from windrow.batch.column import Column as BatchColumn
from windrow.batch.dictionary import Dictionary
from windrow.batch.shards import ONLY_SHARD, OwnShare, Shard
from windrow.operators import (
    AntiJoin,
    AppendOnly,
    ColumnLifetime,
    DeleteStream,
    DistinctNaive,
    DistinctStar,
    GroupBy,
    InsertStream,
    Join,
    Limit,
    Lookup,
    MergeUnion,
    Multiplicity,
    MultiplicityOperator,
    NegativeTuples,
    NonRetroactiveJoin,
    NotIn,
    OpenLifetime,
    Operator,
    OuterJoin,
    Projection,
    RangeLifetime,
    RelationStream,
    Selection,
    SemiJoin,
    SortColumn,
    State,
    TimeWindow,
    distinct_strict,
)
from windrow.operators.external_parts import Numbered, WithEnd
from windrow.operators.keep_join import KeepJoin
from windrow.operators.keep_synopsis import KeepSynopsis
from windrow.operators.operator import Expression as CompiledExpression
from windrow.operators.operator import Predicate
from windrow.operators.partition_window import PartitionWindow, PredicateWindow
from windrow.operators.punctuated import PunctuatedGroupBy, PunctuatedJoin, PunctuatedPartitions
from windrow.operators.refreshed_synopsis import Periodic, RefreshSynopsis, TakeAnswer
from windrow.operators.row_order import InRowOrder
from windrow.operators.sampling import Refreshed
from windrow.operators.slice_partials import SlicePartials
from windrow.operators.slice_summaries import SliceSummaries
from windrow.operators.sub_windows import LastSubWindows, SubWindows
from windrow.operators.table_input import TableInput
from windrow.physical.aggregates import accumulator, cut_of, merged, partial_of, times_of, values_of
from windrow.physical.closings import ClosingsLowering
from windrow.physical.expressions import ExpressionCompiler
from windrow.physical.internal import followed
from windrow.physical.join_keys import JoinKeys, join_keys
from windrow.physical.slices import slice_columns
from windrow.physical.strategy import Strategy, structure_kind
from windrow.physical.synopses import join_column, kept_column
from windrow.physical.windows import lifetime_ordinal, window_operators
from windrow.plan import nodes
from windrow.plan.analysis.closings import closes_groups, closes_partitions
from windrow.plan.analysis.internal import has_internal
from windrow.plan.analysis.refreshes import refresh_interval, without_slides
from windrow.plan.analysis.relations import is_non_retroactive, is_relation
from windrow.plan.analysis.slices import counted_sub_windows
from windrow.plan.analysis.state import is_grouped
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.expressions import Call, Column, Expression
from windrow.plan.functions import call, conjunction
from windrow.plan.nodes import JoinKind, Node, OutputKind
from windrow.plan.pattern import Pattern
from windrow.plan.row_time import with_row_times
from windrow.plan.schema import Schema
from windrow.plan.windows import Range
from windrow.state import StructureKind
from windrow.synopses.distinct_registers import codes_of
from windrow.types import BOOLEAN, TIMESTAMP

LOOKED_UP = "looked up"  # the source of groups that a synopsis gives


def contents_of(table: str) -> str:
    """The source that gives what a table holds at the beginning of a segment."""
    return f"{table} contents"


@dataclass(eq=False)
class PhysicalNode:
    """An operator over inputs; a source has no operator and is fed by name."""

    plan: Node
    operator: Operator[Any] | None
    inputs: tuple[PhysicalNode, ...] = ()
    source: str | None = None
    state: State | None = field(default=None)
    lowered_for: str = ""  # the strategy

    def __post_init__(self) -> None:
        if self.operator is not None:
            self.state = self.operator.fresh_state()


class Lowering:
    """Lowers plans under one strategy; `known` remembers what has been lowered, for sharing."""

    def __init__(
        self,
        dictionary: Dictionary,
        strategy: Strategy = Strategy.UPA,
        direct: Lowering | None = None,
        shard: Shard = ONLY_SHARD,
    ) -> None:
        self._dictionary = dictionary
        self._strategy = strategy
        # For what must not be told by negative tuples.
        self._direct = self if strategy is not Strategy.NT else direct or Lowering(dictionary, shard=shard)
        self._shard = shard
        self._known: dict[Node, PhysicalNode] = {}
        self._closings = ClosingsLowering(strategy, PhysicalNode)
        self._received_nodes: dict[nodes.Exchange, PhysicalNode] = {}

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
        if isinstance(plan, nodes.SubWindowed):
            return PhysicalNode(plan, SubWindows(*_counted(plan)), (self._rows_below(plan.input),))
        if isinstance(plan, nodes.Windowed):
            return self._windowed(plan)
        if isinstance(plan, nodes.Stamped):
            return self._stamped(plan, self.lower(plan.input))
        if isinstance(plan, nodes.Filter):
            predicate = self._compiler(plan.input.schema).predicate(plan.predicate)
            return self._node(plan, Selection(predicate))
        if isinstance(plan, nodes.Project):
            compiler = self._compiler(plan.input.schema)
            return self._node(plan, Projection(tuple(compiler.column(c.expression) for c in plan.columns)))
        if isinstance(plan, nodes.RefreshedSynopsis):
            return self._refreshed(plan)
        if isinstance(plan, nodes.RefreshedLookup):
            assert isinstance(plan.input, nodes.RefreshedSynopsis), plan
            places = {named.name: place for place, named in enumerate(plan.input.aggregates)}
            own = tuple(places[name] for name in plan.question.aggregates)
            return self._node(plan, TakeAnswer(plan.input.questions.index(plan.question), len(plan.keys), own))
        if isinstance(plan, nodes.KeptSynopsis):
            return self._synopsis(plan)
        if isinstance(plan, nodes.KeptJoin):
            return self._kept_join(plan)
        if isinstance(plan, nodes.GroupsLookup):  # what is looked up is handed in when somebody asks
            return PhysicalNode(plan, None, source=LOOKED_UP)
        if isinstance(plan, nodes.SlicePartials):
            return self._slices(plan)
        if isinstance(plan, nodes.SharedSlices):
            return self._shared_slices(plan)
        if isinstance(plan, nodes.SliceSummaries | nodes.LastSubWindows):
            return self._summarised(plan)
        if isinstance(plan, nodes.MergeGroups):
            return self._node(plan, self._merge(plan))
        if isinstance(plan, nodes.GroupBy):
            timed = with_row_times(plan)
            return self._group_by(plan) if timed is plan else self.lower(timed)
        if isinstance(plan, nodes.Exchange):
            return self._exchange(plan)
        return self._binary_or_set(plan)

    def _exchange(self, plan: nodes.Exchange) -> PhysicalNode:
        """What is on every shard already is not sent: each shard takes its own share."""
        if is_everywhere(plan.input):
            compiler = self._compiler(plan.input.schema)
            keys = tuple(compiler.column(key) for key in plan.keys)
            return self._node(plan, Selection(OwnShare(keys, self._shard)))
        received = self._received(plan)
        if not isinstance(plan.input, nodes.Stream) or plan.input.lifetime is None:
            return received
        return PhysicalNode(plan, TimeWindow(ColumnLifetime(lifetime_ordinal(plan.input))), (received,))

    def _received(self, plan: nodes.Exchange) -> PhysicalNode:
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
        if isinstance(plan, nodes.WithEnd | nodes.Numbered):
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
        marked = followed(plan, slide)
        if not marked.carried:
            return self._told(plan, slide)
        places = {name: place for place, name in enumerate(marked.plan.schema.names)}
        ends, numbers = tuple(places[name] for name in marked.ends), tuple(places[name] for name in marked.parts)
        operator = AppendOnly(ends, numbers, structure_kind(marked.plan, self._strategy))
        watched = (self.lower(part) for part in marked.parts.values())
        return PhysicalNode(plan, operator, (self._sampled(marked.plan, slide), *watched))

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

    def _part(self, plan: nodes.WithEnd | nodes.Numbered) -> PhysicalNode:
        """A part that results end with, as it is at refreshes; under NT its end is noted before it is hidden."""
        if isinstance(plan, nodes.Numbered):
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

    def _node(self, plan: Node, operator: Operator[Any]) -> PhysicalNode:
        return PhysicalNode(plan, operator, tuple(self.lower(below) for below in plan.inputs))

    def _compiler(self, schema: Schema) -> ExpressionCompiler:
        return ExpressionCompiler({name: place for place, name in enumerate(schema.names)}, self._dictionary)

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
        if isinstance(plan, nodes.Stamped) and isinstance(plan.input, nodes.Stream):
            return self._stamped(plan, self._source(plan.input))
        if isinstance(plan, nodes.Exchange) and isinstance(plan.input, nodes.Stream):
            return self._received(plan)
        return self._append_only(plan)

    def _stamped(self, plan: nodes.Stamped, below: PhysicalNode) -> PhysicalNode:
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
            return self._direct._append_only(plan)
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

    def _keys(self, plan: nodes.SemiJoin | nodes.AntiJoin, condition: Expression | None) -> JoinKeys:
        return join_keys(condition, plan.left.schema, plan.right.schema)

    def _residual(self, plan: nodes.SemiJoin | nodes.AntiJoin, residual: Expression | None) -> Predicate | None:
        if residual is None:
            return None
        return self._compiler(plan.left.schema + plan.right.schema).predicate(residual)

    def _join(self, plan: nodes.Join) -> PhysicalNode:
        if is_non_retroactive(plan.left) != is_non_retroactive(plan.right):
            return self._lookup(plan)
        operator = self._joining(plan, plan.left.schema, plan.right.schema)
        left, right = (self._closings.of_side(plan, side) for side in (0, 1))
        if isinstance(operator, OuterJoin) or left is right is None:
            return self._node(plan, operator)
        inputs = (self.lower(plan.left), self.lower(plan.right), left, right)
        punctuated = PunctuatedJoin(operator, left is not None, right is not None)
        return PhysicalNode(plan, punctuated, tuple(node for node in inputs if node is not None))

    def _lookup(self, plan: nodes.Join) -> PhysicalNode:
        """With a non-retroactive table; the kernel takes the stream first, so columns may have to change places."""
        if self._strategy is Strategy.NT:  # what is taken back would meet another table: looked up before that
            return self._taken_back_afterwards(plan)
        stream_first = is_non_retroactive(plan.right)
        stream, table = (plan.left, plan.right) if stream_first else (plan.right, plan.left)
        keys = join_keys(plan.condition, stream.schema, table.schema)
        both = self._compiler(stream.schema + table.schema)
        residual = None if keys.residual is None else both.predicate(keys.residual)
        gives = Lookup.PAIRS if plan.kind is JoinKind.INNER else Lookup.PADDED
        operator = NonRetroactiveJoin(keys.left, keys.right, residual, gives)
        found = PhysicalNode(plan, operator, (self.lower(stream), self.lower(table)))
        if stream_first:
            return found
        return PhysicalNode(plan, Projection(tuple(both.column(column) for column in plan.schema.columns)), (found,))

    def _presence(self, plan: nodes.SemiJoin | nodes.AntiJoin) -> PhysicalNode:
        """EXISTS, IN and their negations with a non-retroactive table."""
        if self._strategy is Strategy.NT:
            return self._taken_back_afterwards(plan)
        condition, gives = plan.condition, Lookup.PRESENT
        if isinstance(plan, nodes.AntiJoin):
            condition, gives = _or_unknown(plan), Lookup.ABSENT
        keys = self._keys(plan, condition)
        return self._node(plan, NonRetroactiveJoin(keys.left, keys.right, self._residual(plan, keys.residual), gives))

    def _taken_back_afterwards(self, plan: Node) -> PhysicalNode:
        """Under NT, what cannot take negative tuples: computed without them, and its ends are told after that."""
        return PhysicalNode(plan, NegativeTuples(structure_kind(plan, Strategy.UPA)), (self._direct.lower(plan),))

    def _joining(self, plan: nodes.Join, left: Schema, right: Schema) -> Join | OuterJoin:
        keys = join_keys(plan.condition, left, right)
        residual = None if keys.residual is None else self._compiler(left + right).predicate(keys.residual)
        structures = structure_kind(plan.left, self._strategy), structure_kind(plan.right, self._strategy)
        inner = Join(keys.left, keys.right, residual, left_structure=structures[0], right_structure=structures[1])
        if plan.kind is JoinKind.INNER:
            return inner
        keep_left, keep_right = (
            plan.kind in (JoinKind.LEFT, JoinKind.FULL),
            plan.kind in (JoinKind.RIGHT, JoinKind.FULL),
        )
        return OuterJoin(inner, len(left), len(right), keep_left=keep_left, keep_right=keep_right)

    def _semi_join(self, plan: nodes.SemiJoin | nodes.AntiJoin, condition: Expression | None) -> SemiJoin:
        keys = self._keys(plan, condition)
        matched = (plan.right,) if keys.residual is None else (plan.left, plan.right)
        return SemiJoin(
            len(plan.left.schema),
            keys.left,
            keys.right,
            self._residual(plan, keys.residual),
            structure_kind(plan.left, self._strategy),
            structure_kind(plan.right, self._strategy),
            weak=isinstance(plan, nodes.SemiJoin) and not any(map(self._takes_back, matched)),
        )

    def _takes_back(self, plan: Node) -> bool:
        """Whether negative tuples come from a plan."""
        return self._strategy is Strategy.NT or update_pattern(plan) is Pattern.STR

    def _negation(self, plan: nodes.AntiJoin) -> Operator[Any]:
        if plan.not_in is None:
            return AntiJoin(self._semi_join(plan, plan.condition))
        keys = self._keys(plan, plan.condition)
        value, member = plan.not_in
        plain = isinstance(value, Column) and isinstance(member, Column) and value.type == member.type
        if keys.residual is None and plain and isinstance(value, Column) and isinstance(member, Column):
            return NotIn(
                len(plan.left.schema),
                plan.left.schema.names.index(value.name),
                plan.right.schema.names.index(member.name),
                keys.left,
                keys.right,
                structure_kind(plan.left, self._strategy),
                structure_kind(plan.right, self._strategy),
            )
        return AntiJoin(self._semi_join(plan, _or_unknown(plan)))

    def _distinct(self, plan: nodes.Distinct) -> Operator[Any]:
        if self._takes_back(plan.input):
            return distinct_strict(structure_kind(plan.input, self._strategy))
        return DistinctNaive() if self._strategy is Strategy.DIRECT else DistinctStar()

    def _weak_intersection(self, plan: nodes.Intersect) -> PhysicalNode:
        """The values that are present on both sides, with their ends: both come from δ*, and nothing is taken back."""
        by_row = tuple(range(len(plan.schema)))
        kind = StructureKind.LIST if self._strategy is Strategy.DIRECT else StructureKind.CALENDAR
        sides = tuple(PhysicalNode(plan, DistinctStar(kind), (self.lower(side),)) for side in plan.inputs)
        both = Join(by_row, by_row, nulls_match=True, left_structure=kind, right_structure=kind)
        compiler = self._compiler(plan.schema)
        left = Projection(tuple(compiler.column(column) for column in plan.schema.columns))
        return PhysicalNode(plan, left, (PhysicalNode(plan, both, sides),))

    def _multiplicity(self, plan: nodes.Except | nodes.Intersect) -> Operator[Any]:
        if isinstance(plan, nodes.Except):
            which = Multiplicity.EXCEPT_ALL if plan.all else Multiplicity.EXCEPT
        else:
            which = Multiplicity.INTERSECT_ALL if plan.all else Multiplicity.INTERSECT
        kinds = (structure_kind(plan.left, self._strategy), structure_kind(plan.right, self._strategy))
        return MultiplicityOperator(which, kinds)

    def _group_by(self, plan: nodes.GroupBy) -> PhysicalNode:
        """Keys and arguments are computed first; the kernel groups columns."""
        compiler = self._compiler(plan.input.schema)
        columns: list[CompiledExpression] = [compiler.column(key.expression) for key in plan.keys]
        aggregates = []
        for named in plan.aggregates:
            arguments = _appended(values_of(named.call), compiler, columns)
            times = _appended(times_of(named.call), compiler, columns)
            time = times[0] if times else None
            aggregates.append(accumulator(named.call, arguments, time, self._dictionary))
        below = PhysicalNode(plan, Projection(tuple(columns)), (self.lower(plan.input),))
        kind = structure_kind(plan.input, self._strategy)
        operator = GroupBy(tuple(range(len(plan.keys))), tuple(aggregates), kind)
        found = closes_groups(plan)
        if found is None:
            return PhysicalNode(plan, operator, (below,))
        places = tuple([key.name for key in plan.keys].index(name) for name in found.columns)
        return PhysicalNode(plan, PunctuatedGroupBy(operator, places), (below, self._closings.node(plan.input)))

    def _synopsis(self, plan: nodes.KeptSynopsis) -> PhysicalNode:
        compiler = self._compiler(plan.input.schema)
        columns: list[CompiledExpression] = [compiler.column(key.expression) for key in plan.keys]
        kept = []
        for named, kind in zip(plan.aggregates, plan.kinds, strict=True):
            arguments = _appended(values_of(named.call), compiler, columns)
            kept.append(kept_column(named.call, arguments, kind, named.name in plan.indexed, self._dictionary))
        below = PhysicalNode(plan, Projection(tuple(columns)), (self._rows_below(plan.input),))
        operator = KeepSynopsis(
            tuple(range(len(plan.keys))), tuple(kept), plan.schema.types, plan.reach, self._dictionary,
            plan.by_rows, plan.slice,
        )  # fmt: skip
        return PhysicalNode(plan, operator, (below,))

    def _kept_join(self, plan: nodes.KeptJoin) -> PhysicalNode:
        """Pairs are computed without negative tuples: what has ended leaves the synopsis with its slice."""
        wanted: list[Expression] = [*(key.expression for key in plan.keys), *plan.times]
        kept = []
        for named, kind in zip(plan.aggregates, plan.kinds, strict=True):
            values = values_of(named.call)
            arguments = tuple(range(len(wanted), len(wanted) + len(values)))
            wanted.extend(values)
            kept.append(join_column(named.call, arguments, kind, plan, self._dictionary))
        compiler, types = self._compiler(plan.input.schema), tuple(one.type for one in wanted)
        columns = Projection(tuple(compiler.column(one) for one in wanted))
        operator = KeepJoin(len(plan.keys), tuple(kept), types, plan.schema.types, plan.slide, self._dictionary)
        return PhysicalNode(plan, operator, (PhysicalNode(plan, columns, (self._direct.lower(plan.input),)),))

    def _refreshed(self, plan: nodes.RefreshedSynopsis) -> PhysicalNode:
        """Asked at refreshes; each query takes its answer from what comes out."""
        kept = self._synopsis(plan)
        assert isinstance(kept.operator, KeepSynopsis), kept
        places = {named.name: place for place, named in enumerate(plan.aggregates)}
        questions = tuple(_periodic(question, places) for question in plan.questions)
        return PhysicalNode(plan, RefreshSynopsis(kept.operator, questions), kept.inputs)

    def _slices(self, plan: nodes.SlicePartials) -> PhysicalNode:
        compiler, found = self._compiler(plan.input.schema), slice_columns(plan.aggregates)
        columns: list[CompiledExpression] = [compiler.column(key.expression) for key in plan.keys]
        partials = []
        for named in found.partials:
            arguments = _appended(values_of(named.call), compiler, columns)
            partials.append(partial_of(named.call, arguments[0] if arguments else None))
        counted = tuple(range(len(columns), len(columns) + len(found.counted)))
        columns.extend(_coded(compiler.column(one.value), one.registers) for one in found.counted)
        summarised = _appended([values_of(named.call)[0] for named in found.summaries], compiler, columns)
        below = PhysicalNode(plan, Projection(tuple(columns)), (self.lower(plan.input),))
        merges = self._strategy is not Strategy.NT
        operator = SlicePartials(tuple(range(len(plan.keys))), tuple(partials), merges, counted, summarised)
        return PhysicalNode(plan, operator, (below,))

    def _shared_slices(self, plan: nodes.SharedSlices) -> PhysicalNode:
        if not isinstance(nodes.below_exchange(plan.input), nodes.SharedSlices):
            rows = self._slices(nodes.SlicePartials(plan.input, plan.keys, plan.aggregates, plan.partials))
            assert isinstance(rows.operator, SlicePartials), rows
            return PhysicalNode(plan, replace(rows.operator, width=plan.width), rows.inputs)
        first = len(plan.keys)
        partials = tuple(
            partial_of(named.call, 0 if named.call.arguments else None).of_partials(first + places[0])
            for named, places in zip(plan.aggregates, slice_columns(plan.aggregates).places, strict=True)
        )
        return self._node(plan, SlicePartials(tuple(range(first)), partials, width=plan.width))

    def _summarised(self, plan: nodes.SliceSummaries | nodes.LastSubWindows) -> PhysicalNode:
        """Slices are cut before anything of them is taken back."""
        if self._strategy is Strategy.NT:
            return self._taken_back_afterwards(plan)
        if isinstance(plan, nodes.LastSubWindows):
            return self._node(plan, LastSubWindows(_counted(plan.window)[1]))
        cuts = tuple(cut_of(named.call) for named in slice_columns(plan.aggregates).summaries)
        return self._node(plan, SliceSummaries(tuple(range(len(plan.keys))), cuts))

    def _merge(self, plan: nodes.MergeGroups) -> GroupBy:
        first, found = len(plan.keys), slice_columns(plan.aggregates)
        aggregates = tuple(
            merged(named.call, [first + place for place in places], self._dictionary)
            for named, places in zip(plan.aggregates, found.places, strict=True)
        )
        return GroupBy(tuple(range(first)), aggregates, structure_kind(plan.input, self._strategy))


def _periodic(question: nodes.PeriodicQuestion, places: Mapping[str, int]) -> Periodic:
    extent, slide, threshold = question.window.extent, question.window.slide, question.threshold
    assert isinstance(extent, Range) and isinstance(slide, int), question
    asked = places[threshold.aggregate], threshold.above, threshold.bound
    return Periodic(tuple(places[name] for name in question.aggregates), extent.length, slide, asked)


def _coded(values: CompiledExpression, registers: int | None) -> CompiledExpression:
    return values if registers is None else lambda rows: codes_of(values(rows), registers)


def _counted(plan: nodes.SubWindowed) -> tuple[int, int]:
    """Rows in a sub-window, and sub-windows in the window."""
    found = counted_sub_windows(plan)
    assert found is not None, plan
    return found


def is_everywhere(plan: Node) -> bool:
    """Only tables below, which every shard holds."""
    return is_relation(plan) and not any(isinstance(node, nodes.Exchange) for node in plan.walk())


def plan_digest(plan: Node) -> str:
    """A name for a plan that is the same in every process."""
    return hashlib.sha1(repr(plan).encode(), usedforsecurity=False).hexdigest()[:16]


def _appended(
    values: Sequence[Expression], compiler: ExpressionCompiler, columns: list[CompiledExpression]
) -> tuple[int, ...]:
    """The ordinals of arguments, computed as further columns."""
    first = len(columns)
    columns.extend(compiler.column(value) for value in values)
    return tuple(range(first, len(columns)))


def _time_of_rows(rows: Batch) -> BatchColumn:
    return BatchColumn(TIMESTAMP, rows.ts)


def _or_unknown(plan: nodes.AntiJoin) -> Expression | None:
    """What keeps a row from the answer of a negation.

    For NOT IN a null on either side is a possible match: the pair is one unless the values are known to differ.
    """
    if plan.not_in is None:
        return plan.condition
    value, member = plan.not_in
    possible = Call("OR", (call("=", value, member), call("IS NULL", value), call("IS NULL", member)), BOOLEAN)
    return conjunction([possible] if plan.condition is None else [plan.condition, possible])
