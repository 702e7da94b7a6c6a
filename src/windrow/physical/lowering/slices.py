"""Lowering slices: partial results of rows, of narrower slices, and cut to what is stored of them."""

from __future__ import annotations

from windrow.aggregates.partials import Partial
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
from windrow.plan.expressions import AggregateCall
from windrow.plan.slice_columns import slice_columns


def slice_partials(plan: running_nodes.SlicePartials, context: LoweringContext) -> PhysicalNode:
    return _of_rows(plan, context, None)


def _of_rows(
    plan: running_nodes.SlicePartials | running_nodes.SharedSlices, context: LoweringContext, width: int | None
) -> PhysicalNode:
    """Keys and arguments are computed first; the kernel puts rows together."""
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
    keys = tuple(range(len(plan.keys)))
    operator = SlicePartials(keys, tuple(partials), not context.is_nt, counted, summarised, width)
    return PhysicalNode(plan, operator, (below,))


def shared_slices(plan: running_nodes.SharedSlices, context: LoweringContext) -> PhysicalNode:
    if not isinstance(running_nodes.below_exchange(plan.input), running_nodes.SharedSlices):
        return _of_rows(plan, context, plan.width)
    names = plan.input.schema.names
    keys = tuple(names.index(key.name) for key in plan.keys)
    columns = (names.index(plan.partials[places[0]].name) for places in slice_columns(plan.aggregates).places)
    of_partials = tuple(of_partial(named.call, first) for named, first in zip(plan.aggregates, columns, strict=True))
    return context.over_inputs(plan, SlicePartials(keys, of_partials, width=plan.width))


def of_partial(call: AggregateCall, first: int) -> Partial:
    """The partial results of a call put together; their columns begin with the `first`."""
    return partial_of(call, 0 if call.arguments else None).of_partials(first)


def slice_summaries(plan: running_nodes.SliceSummaries, context: LoweringContext) -> PhysicalNode:
    """Slices are cut before anything of them is taken back."""
    if context.is_nt:
        return context.taken_back_afterwards(plan)
    cuts = tuple(cut_of(named.call) for named in slice_columns(plan.aggregates).summaries)
    return context.over_inputs(plan, SliceSummaries(tuple(range(len(plan.keys))), cuts))


def _coded(values: CompiledExpression, registers: int | None) -> CompiledExpression:
    return values if registers is None else lambda rows: codes_of(values(rows), registers)
