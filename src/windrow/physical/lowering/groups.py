"""Lowering groups: of rows, and merged from partial results of slices."""

from __future__ import annotations

from windrow.operators import GroupBy, Projection
from windrow.operators.operator import CompiledExpression
from windrow.operators.punctuated import PunctuatedGroupBy
from windrow.physical.aggregates import accumulator, merged
from windrow.physical.lowering.columns import appended
from windrow.physical.lowering.context import LoweringContext
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
    first = len(plan.keys)
    aggregates = tuple(
        merged(named.call, [first + place for place in places], context.dictionary)
        for named, places in zip(plan.aggregates, slice_columns(plan.aggregates).places, strict=True)
    )
    operator = GroupBy(tuple(range(first)), aggregates, context.structure(plan.input))
    return context.over_inputs(plan, operator)
