"""Lowering what compares whole rows: unions, DISTINCT, EXCEPT and INTERSECT."""

from __future__ import annotations

from windrow.operators import (
    DistinctNaive,
    DistinctStar,
    Join,
    MergeUnion,
    Multiplicity,
    MultiplicityOperator,
    Projection,
    distinct_strict,
)
from windrow.physical.lowering.context import LoweringContext
from windrow.physical.physical_node import PhysicalNode
from windrow.plan import nodes
from windrow.plan.strategy import Strategy
from windrow.state import StructureKind


def union(plan: nodes.Union, context: LoweringContext) -> PhysicalNode:
    return context.over_inputs(plan, MergeUnion())


def distinct(plan: nodes.Distinct, context: LoweringContext) -> PhysicalNode:
    if context.takes_back(plan.input):
        return context.over_inputs(plan, distinct_strict(context.structure(plan.input)))
    return context.over_inputs(plan, DistinctNaive() if context.strategy is Strategy.DIRECT else DistinctStar())


def difference(plan: nodes.Except, context: LoweringContext) -> PhysicalNode:
    return _counted(plan, Multiplicity.EXCEPT_ALL if plan.all else Multiplicity.EXCEPT, context)


def intersection(plan: nodes.Intersect, context: LoweringContext) -> PhysicalNode:
    if plan.all:
        return _counted(plan, Multiplicity.INTERSECT_ALL, context)
    if any(map(context.takes_back, plan.inputs)):
        return _counted(plan, Multiplicity.INTERSECT, context)
    return _weak_intersection(plan, context)


def _weak_intersection(plan: nodes.Intersect, context: LoweringContext) -> PhysicalNode:
    """The values that are present on both sides, with their ends: both come from δ*, and nothing is taken back."""
    by_row = tuple(range(len(plan.schema)))
    kind = StructureKind.LIST if context.strategy is Strategy.DIRECT else StructureKind.CALENDAR
    sides = tuple(PhysicalNode(plan, DistinctStar(kind), (context.lower(side),)) for side in plan.inputs)
    both = Join(by_row, by_row, nulls_match=True, left_structure=kind, right_structure=kind)
    compiler = context.compiler(plan.schema)
    left = Projection(tuple(compiler.column(column) for column in plan.schema.columns))
    return PhysicalNode(plan, left, (PhysicalNode(plan, both, sides),))


def _counted(plan: nodes.Except | nodes.Intersect, which: Multiplicity, context: LoweringContext) -> PhysicalNode:
    kinds = context.structure(plan.left), context.structure(plan.right)
    return context.over_inputs(plan, MultiplicityOperator(which, kinds))
