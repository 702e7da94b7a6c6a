"""Lowering windows and what looks at one row at a time: selections and projections."""

from __future__ import annotations

from typing import Any

from windrow.operators import NegativeTuples, Operator, Projection, Selection
from windrow.operators.punctuated import PunctuatedPartitions
from windrow.operators.windows.partition_window import PartitionWindow, PredicateWindow
from windrow.operators.windows.sub_windows import LastSubWindows, SubWindows
from windrow.physical.lowering.context import LoweringContext
from windrow.physical.lowering.sources import rows_below
from windrow.physical.physical_node import PhysicalNode
from windrow.physical.structures import structure_kind
from windrow.physical.windows import window_operators
from windrow.plan import nodes, running_nodes
from windrow.plan.analysis.closings import closes_partitions
from windrow.plan.analysis.slices import counted_sub_windows
from windrow.plan.strategy import Strategy
from windrow.plan.windows import Window


def selection(plan: nodes.Filter, context: LoweringContext) -> PhysicalNode:
    return context.over_inputs(plan, Selection(context.compiler(plan.input.schema).predicate(plan.predicate)))


def projection(plan: nodes.Project, context: LoweringContext) -> PhysicalNode:
    compiler = context.compiler(plan.input.schema)
    return context.over_inputs(plan, Projection(tuple(compiler.column(c.expression) for c in plan.columns)))


def below(plan: nodes.Alias | nodes.Sort, context: LoweringContext) -> PhysicalNode:
    """Names and the order of showing are not the matter of kernels."""
    return context.lower(plan.input)


def windowed(plan: nodes.Windowed, context: LoweringContext) -> PhysicalNode:
    current = rows_below(plan.input, context)
    for operator in window_operators(plan, context.compiler(plan.input.schema)):
        current = _window(plan, operator, current, context)
    if context.is_nt:
        current = PhysicalNode(plan, NegativeTuples(structure_kind(plan, Strategy.UPA)), (current,))
    return current


def _window(
    plan: nodes.Windowed, operator: Operator[Any], rows: PhysicalNode, context: LoweringContext
) -> PhysicalNode:
    closed = closes_partitions(plan)
    if closed is None or not isinstance(operator, PartitionWindow | PredicateWindow):
        return PhysicalNode(plan, operator, (rows,))
    places = tuple(plan.window.partition.index(name) for name in closed.columns)
    return PhysicalNode(plan, PunctuatedPartitions(operator, places), (rows, context.closings.node(plan.input)))


def sub_windows(plan: running_nodes.SubWindows, context: LoweringContext) -> PhysicalNode:
    return PhysicalNode(plan, SubWindows(*_counted(plan.window)), (rows_below(plan.input, context),))


def last_sub_windows(plan: running_nodes.LastSubWindows, context: LoweringContext) -> PhysicalNode:
    """Slices are cut before anything of them is taken back."""
    if context.is_nt:
        return context.taken_back_afterwards(plan)
    return context.over_inputs(plan, LastSubWindows(_counted(plan.window.window)[1]))


def _counted(window: Window) -> tuple[int, int]:
    """Rows in a sub-window, and sub-windows in the window."""
    counts = counted_sub_windows(window)
    assert counts is not None, window
    return counts
