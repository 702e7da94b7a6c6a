"""Lowering groups: as they are kept, merged from slices, or summarised to be looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from windrow.aggregates.sketches.distinct_registers import codes_of
from windrow.operators import GroupBy, Projection
from windrow.operators.groups.slice_partials import SlicePartials
from windrow.operators.groups.slice_summaries import SliceSummaries
from windrow.operators.operator import CompiledExpression
from windrow.operators.punctuated import PunctuatedGroupBy
from windrow.operators.synopses.maintain_join import MaintainJoinSynopsis
from windrow.operators.synopses.maintain_synopsis import MaintainSynopsis
from windrow.operators.synopses.refreshed_synopsis import Periodic, RefreshSynopsis
from windrow.operators.windows.sub_windows import LastSubWindows
from windrow.physical.aggregates import accumulator, cut_of, merged, partial_of
from windrow.physical.expressions import ExpressionCompiler
from windrow.physical.lower_under_strategy import LoweringUnderStrategy
from windrow.physical.physical_node import PhysicalNode
from windrow.physical.structures import structure_kind
from windrow.physical.synopses import join_column, synopsis_column
from windrow.plan import nodes, running_nodes
from windrow.plan.aggregates import order_of, values_of
from windrow.plan.analysis.closings import closes_groups
from windrow.plan.analysis.slices import counted_sub_windows
from windrow.plan.expressions import Expression
from windrow.plan.slice_columns import slice_columns
from windrow.plan.strategy import Strategy
from windrow.plan.windows import Range


class GroupLowering(LoweringUnderStrategy):
    def _group_by(self, plan: nodes.GroupBy) -> PhysicalNode:
        """Keys and arguments are computed first; the kernel groups columns."""
        compiler = self._compiler(plan.input.schema)
        columns: list[CompiledExpression] = [compiler.column(key.expression) for key in plan.keys]
        aggregates = []
        for named in plan.aggregates:
            arguments = _appended((*values_of(named.call), *order_of(named.call)), compiler, columns)
            aggregates.append(accumulator(named.call, arguments, self._dictionary))
        below = PhysicalNode(plan, Projection(tuple(columns)), (self.lower(plan.input),))
        kind = structure_kind(plan.input, self._strategy)
        operator = GroupBy(tuple(range(len(plan.keys))), tuple(aggregates), kind)
        found = closes_groups(plan)
        if found is None:
            return PhysicalNode(plan, operator, (below,))
        places = tuple([key.name for key in plan.keys].index(name) for name in found.columns)
        return PhysicalNode(plan, PunctuatedGroupBy(operator, places), (below, self._closings.node(plan.input)))

    def _synopsis(self, plan: running_nodes.WindowSynopsis) -> PhysicalNode:
        compiler = self._compiler(plan.input.schema)
        columns: list[CompiledExpression] = [compiler.column(key.expression) for key in plan.keys]
        kept = []
        for named, kind in zip(plan.aggregates, plan.kinds, strict=True):
            arguments = _appended(values_of(named.call), compiler, columns)
            kept.append(synopsis_column(named.call, arguments, kind, named.name in plan.indexed, self._dictionary))
        below = PhysicalNode(plan, Projection(tuple(columns)), (self._rows_below(plan.input),))
        operator = MaintainSynopsis(
            tuple(range(len(plan.keys))), tuple(kept), plan.schema.types, plan.reach, self._dictionary,
            plan.by_rows, plan.slice,
        )  # fmt: skip
        return PhysicalNode(plan, operator, (below,))

    def _kept_join(self, plan: running_nodes.JoinSynopsis) -> PhysicalNode:
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
        operator = MaintainJoinSynopsis(
            len(plan.keys), tuple(kept), types, plan.schema.types, plan.slide, self._dictionary
        )
        return PhysicalNode(plan, operator, (PhysicalNode(plan, columns, (self._direct.lower(plan.input),)),))

    def _refreshed(self, plan: running_nodes.PeriodicSynopsis) -> PhysicalNode:
        """Asked at refreshes; each query takes its answer from what comes out."""
        kept = self._synopsis(plan)
        assert isinstance(kept.operator, MaintainSynopsis), kept
        places = {named.name: place for place, named in enumerate(plan.aggregates)}
        questions = tuple(_periodic(question, places) for question in plan.questions)
        return PhysicalNode(plan, RefreshSynopsis(kept.operator, questions), kept.inputs)

    def _slices(self, plan: running_nodes.SlicePartials) -> PhysicalNode:
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

    def _shared_slices(self, plan: running_nodes.SharedSlices) -> PhysicalNode:
        if not isinstance(running_nodes.below_exchange(plan.input), running_nodes.SharedSlices):
            rows = self._slices(running_nodes.SlicePartials(plan.input, plan.keys, plan.aggregates, plan.partials))
            assert isinstance(rows.operator, SlicePartials), rows
            return PhysicalNode(plan, replace(rows.operator, width=plan.width), rows.inputs)
        first = len(plan.keys)
        partials = tuple(
            partial_of(named.call, 0 if named.call.arguments else None).of_partials(first + places[0])
            for named, places in zip(plan.aggregates, slice_columns(plan.aggregates).places, strict=True)
        )
        return self._node(plan, SlicePartials(tuple(range(first)), partials, width=plan.width))

    def _summarised(self, plan: running_nodes.SliceSummaries | running_nodes.LastSubWindows) -> PhysicalNode:
        """Slices are cut before anything of them is taken back."""
        if self._strategy is Strategy.NT:
            return self._taken_back_afterwards(plan)
        if isinstance(plan, running_nodes.LastSubWindows):
            return self._node(plan, LastSubWindows(counted(plan.window)[1]))
        cuts = tuple(cut_of(named.call) for named in slice_columns(plan.aggregates).summaries)
        return self._node(plan, SliceSummaries(tuple(range(len(plan.keys))), cuts))

    def _merge(self, plan: running_nodes.MergeGroups) -> GroupBy:
        first, found = len(plan.keys), slice_columns(plan.aggregates)
        aggregates = tuple(
            merged(named.call, [first + place for place in places], self._dictionary)
            for named, places in zip(plan.aggregates, found.places, strict=True)
        )
        return GroupBy(tuple(range(first)), aggregates, structure_kind(plan.input, self._strategy))


def _periodic(question: running_nodes.PeriodicQuestion, places: Mapping[str, int]) -> Periodic:
    extent, slide, threshold = question.window.extent, question.window.slide, question.threshold
    assert isinstance(extent, Range) and isinstance(slide, int), question
    asked = places[threshold.aggregate], threshold.above, threshold.bound
    return Periodic(tuple(places[name] for name in question.aggregates), extent.length, slide, asked)


def _coded(values: CompiledExpression, registers: int | None) -> CompiledExpression:
    return values if registers is None else lambda rows: codes_of(values(rows), registers)


def _appended(
    values: Sequence[Expression], compiler: ExpressionCompiler, columns: list[CompiledExpression]
) -> tuple[int, ...]:
    """The ordinals of arguments, computed as further columns."""
    first = len(columns)
    columns.extend(compiler.column(value) for value in values)
    return tuple(range(first, len(columns)))


def counted(plan: running_nodes.SubWindows) -> tuple[int, int]:
    """Rows in a sub-window, and sub-windows in the window."""
    found = counted_sub_windows(plan.window)
    assert found is not None, plan
    return found
