"""Lowering slices: partial results of rows, of narrower slices, and cut to what is stored of them."""

from __future__ import annotations

from dataclasses import replace

from windrow.aggregates.sketches.distinct_registers import codes_of
from windrow.operators import Projection
from windrow.operators.groups.slice_partials import SlicePartials
from windrow.operators.groups.slice_summaries import SliceSummaries
from windrow.operators.operator import CompiledExpression
from windrow.physical.aggregates import cut_of, partial_of
from windrow.physical.lowering.columns import appended
from windrow.physical.lowering.context import LoweringContext
from windrow.physical.physical_node import PhysicalNode
from windrow.plan import running_nodes
from windrow.plan.aggregates import values_of
from windrow.plan.slice_columns import slice_columns


def slice_partials(plan: running_nodes.SlicePartials, context: LoweringContext) -> PhysicalNode:
    compiler, contents = context.compiler(plan.input.schema), slice_columns(plan.aggregates)
    columns: list[CompiledExpression] = [compiler.column(key.expression) for key in plan.keys]
    partials = []
    for named in contents.partials:
        arguments = appended(values_of(named.call), compiler, columns)
        partials.append(partial_of(named.call, arguments[0] if arguments else None))
    counted = tuple(range(len(columns), len(columns) + len(contents.counted)))
    columns.extend(_coded(compiler.column(value.value), value.registers) for value in contents.counted)
    summarised = appended([values_of(named.call)[0] for named in contents.summaries], compiler, columns)
    below = PhysicalNode(plan, Projection(tuple(columns)), (context.lower(plan.input),))
    operator = SlicePartials(tuple(range(len(plan.keys))), tuple(partials), not context.is_nt, counted, summarised)
    return PhysicalNode(plan, operator, (below,))


def shared_slices(plan: running_nodes.SharedSlices, context: LoweringContext) -> PhysicalNode:
    if not isinstance(running_nodes.below_exchange(plan.input), running_nodes.SharedSlices):
        of_rows = running_nodes.SlicePartials(plan.input, plan.keys, plan.aggregates, plan.partials)
        partials = slice_partials(of_rows, context)
        assert isinstance(partials.operator, SlicePartials), partials
        return PhysicalNode(plan, replace(partials.operator, width=plan.width), partials.inputs)
    first = len(plan.keys)
    of_partials = tuple(
        partial_of(named.call, 0 if named.call.arguments else None).of_partials(first + places[0])
        for named, places in zip(plan.aggregates, slice_columns(plan.aggregates).places, strict=True)
    )
    return context.over_inputs(plan, SlicePartials(tuple(range(first)), of_partials, width=plan.width))


def slice_summaries(plan: running_nodes.SliceSummaries, context: LoweringContext) -> PhysicalNode:
    """Slices are cut before anything of them is taken back."""
    if context.is_nt:
        return context.taken_back_afterwards(plan)
    cuts = tuple(cut_of(named.call) for named in slice_columns(plan.aggregates).summaries)
    return context.over_inputs(plan, SliceSummaries(tuple(range(len(plan.keys))), cuts))


def _coded(values: CompiledExpression, registers: int | None) -> CompiledExpression:
    return values if registers is None else lambda rows: codes_of(values(rows), registers)
