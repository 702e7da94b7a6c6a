"""Lowering groups: of rows, and merged from partial results of slices."""

from __future__ import annotations

from windrow.operators import GroupBy, Projection
from windrow.operators.groups.slice_partials import SlicePartials
from windrow.operators.operator import CompiledExpression
from windrow.operators.punctuated import PunctuatedGroupBy
from windrow.physical.aggregates import accumulator, merged
from windrow.physical.lowering.columns import appended
from windrow.physical.lowering.context import LoweringContext
from windrow.physical.lowering.slices import of_partial
from windrow.physical.physical_node import PhysicalNode
from windrow.plan import nodes, running_nodes
from windrow.plan.aggregates import order_of, values_of
from windrow.plan.analysis.closings import closes_groups
from windrow.plan.slice_columns import slice_columns


def group_by(plan: nodes.GroupBy, context: LoweringContext) -> PhysicalNode:
    """Keys and arguments are computed first; the kernel groups columns."""
    compiler = context.compiler(plan.input.schema)
    columns: list[CompiledExpression] = [compiler.column(key.expression) for key in plan.keys]
    aggregates = []
    for named in plan.aggregates:
        arguments = appended((*values_of(named.call), *order_of(named.call)), compiler, columns)
        aggregates.append(accumulator(named.call, arguments, context.dictionary))
    below = PhysicalNode(plan, Projection(tuple(columns)), (context.lower(plan.input),))
    operator = GroupBy(tuple(range(len(plan.keys))), tuple(aggregates), context.structure(plan.input))
    closed = closes_groups(plan)
    if closed is None:
        return PhysicalNode(plan, operator, (below,))
    places = tuple([key.name for key in plan.keys].index(name) for name in closed.columns)
    return PhysicalNode(plan, PunctuatedGroupBy(operator, places), (below, context.closings.node(plan.input)))


def merge_groups(plan: running_nodes.MergeGroups, context: LoweringContext) -> PhysicalNode:
    first, contents = len(plan.keys), slice_columns(plan.aggregates)
    aggregates = tuple(
        merged(named.call, [first + place for place in places], context.dictionary)
        for named, places in zip(plan.aggregates, contents.places, strict=True)
    )
    operator = GroupBy(tuple(range(first)), aggregates, context.structure(plan.input))
    return PhysicalNode(plan, operator, (_put_together(plan, context),))


def _put_together(plan: running_nodes.MergeGroups, context: LoweringContext) -> PhysicalNode:
    """Slices that begin and end together in a window are one row from then on, however many batches they came in."""
    below = context.lower(plan.input)
    if not plan.columns:
        return below
    columns = tuple(map(plan.input.schema.names.index, plan.columns))
    keys, partials = columns[: len(plan.keys)], columns[len(plan.keys) :]
    first = (partials[places[0]] for places in slice_columns(plan.aggregates).places)
    made = tuple(of_partial(named.call, column) for named, column in zip(plan.aggregates, first, strict=True))
    return PhysicalNode(plan, SlicePartials(keys, made), (below,))
