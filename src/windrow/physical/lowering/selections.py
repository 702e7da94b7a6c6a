"""Lowering selections that an index of predicates is asked for: all over the same rows share one index."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from windrow.batch.arrays import Bools
from windrow.batch.batch import Batch
from windrow.operators.operator import Predicate
from windrow.operators.selections.indexed_selection import IndexedSelection
from windrow.operators.selections.predicate_index import PredicateIndex
from windrow.physical.lowering.context import LoweringContext
from windrow.physical.physical_node import PhysicalNode
from windrow.physical.predicate_words import bounds_of
from windrow.plan import running_nodes
from windrow.plan.analysis.column_bounds import demands_of
from windrow.plan.functions import conjunction


def indexed_selection(plan: running_nodes.IndexedSelection, context: LoweringContext) -> PhysicalNode:
    return over_rows(plan, context.lower(plan.input), context)


def over_rows(plan: running_nodes.IndexedSelection, rows: PhysicalNode, context: LoweringContext) -> PhysicalNode:
    """The predicate takes part in the index of these rows; expressions are compiled when the first row needs them."""
    if rows.predicates is None:
        rows.predicates = PredicateIndex(context.dictionary)
    compiler, demands = context.compiler(plan.input.schema), demands_of(plan.predicate)
    slot = rows.predicates.add(bounds_of(demands.bounds, plan.input.schema, context.dictionary))
    whole = compiled_later(lambda: compiler.predicate(plan.predicate))
    others = conjunction(demands.others)
    remaining = None if others is None else compiled_later(lambda: compiler.predicate(others))
    return PhysicalNode(plan, IndexedSelection(rows.predicates, slot, whole, remaining), (rows,))


def compiled_later(compiling: Callable[[], Predicate]) -> Predicate:
    """A predicate that is compiled when it is asked for the first time."""
    compiled = cache(compiling)

    def predicate(rows: Batch) -> Bools:
        return compiled()(rows)

    return predicate
