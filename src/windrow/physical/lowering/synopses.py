"""Lowering synopses, and what is looked up in them."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.operators import Projection
from windrow.operators.operator import CompiledExpression
from windrow.operators.synopses.maintain_join import MaintainJoinSynopsis
from windrow.operators.synopses.maintain_synopsis import MaintainSynopsis
from windrow.operators.synopses.refreshed_synopsis import Periodic, RefreshSynopsis, TakeAnswer
from windrow.physical.lowering.columns import appended
from windrow.physical.lowering.context import LoweringContext
from windrow.physical.lowering.sources import rows_below
from windrow.physical.physical_node import LOOKED_UP, PhysicalNode
from windrow.physical.synopses import join_column, synopsis_column
from windrow.plan.aggregates import values_of
from windrow.plan.expressions import Expression
from windrow.plan.running_nodes import (
    JoinLookup,
    JoinSynopsis,
    PeriodicLookup,
    PeriodicQuestion,
    PeriodicSynopsis,
    WindowLookup,
    WindowSynopsis,
)
from windrow.plan.windows import Range


def window_synopsis(plan: WindowSynopsis, context: LoweringContext) -> PhysicalNode:
    operator, below = _maintained(plan, plan.by_rows, context)
    return PhysicalNode(plan, operator, (below,))


def periodic_synopsis(plan: PeriodicSynopsis, context: LoweringContext) -> PhysicalNode:
    """Asked at refreshes; each query takes its answer from what comes out."""
    operator, below = _maintained(plan, False, context)
    places = {named.name: place for place, named in enumerate(plan.aggregates)}
    questions = tuple(_periodic(question, places) for question in plan.questions)
    return PhysicalNode(plan, RefreshSynopsis(operator, questions), (below,))


def _maintained(
    plan: WindowSynopsis | PeriodicSynopsis, by_rows: bool, context: LoweringContext
) -> tuple[MaintainSynopsis, PhysicalNode]:
    """The operator, and the rows it takes in: keys, then the arguments of aggregates."""
    compiler = context.compiler(plan.input.schema)
    columns: list[CompiledExpression] = [compiler.column(key.expression) for key in plan.keys]
    stored = []
    for named, kind in zip(plan.aggregates, plan.kinds, strict=True):
        arguments = appended(values_of(named.call), compiler, columns)
        stored.append(synopsis_column(named.call, arguments, kind, named.name in plan.indexed, context.dictionary))
    operator = MaintainSynopsis(
        tuple(range(len(plan.keys))), tuple(stored), plan.schema.types, plan.reach, context.dictionary,
        by_rows, plan.slice,
    )  # fmt: skip
    return operator, PhysicalNode(plan, Projection(tuple(columns)), (rows_below(plan.input, context),))


def join_synopsis(plan: JoinSynopsis, context: LoweringContext) -> PhysicalNode:
    """Pairs are computed without negative tuples: what has ended leaves the synopsis with its slice."""
    columns: list[Expression] = [*(key.expression for key in plan.keys), *plan.times]
    stored = []
    for named, kind in zip(plan.aggregates, plan.kinds, strict=True):
        values = values_of(named.call)
        arguments = tuple(range(len(columns), len(columns) + len(values)))
        columns.extend(values)
        stored.append(join_column(named.call, arguments, kind, plan, context.dictionary))
    compiler = context.compiler(plan.input.schema)
    computed = Projection(tuple(compiler.column(column) for column in columns))
    types = tuple(column.type for column in columns)
    operator = MaintainJoinSynopsis(
        len(plan.keys), tuple(stored), types, plan.schema.types, plan.slide, context.dictionary
    )
    return PhysicalNode(plan, operator, (PhysicalNode(plan, computed, (context.direct.lower(plan.input),)),))


def periodic_lookup(plan: PeriodicLookup, context: LoweringContext) -> PhysicalNode:
    places = {named.name: place for place, named in enumerate(plan.input.aggregates)}
    own = tuple(places[name] for name in plan.question.aggregates)
    answer = TakeAnswer(plan.input.questions.index(plan.question), len(plan.keys), own)
    return context.over_inputs(plan, answer)


def on_demand_lookup(plan: WindowLookup | JoinLookup, context: LoweringContext) -> PhysicalNode:
    """What is looked up is handed in when somebody asks."""
    return PhysicalNode(plan, None, source=LOOKED_UP)


def _periodic(question: PeriodicQuestion, places: Mapping[str, int]) -> Periodic:
    extent, slide, threshold = question.window.extent, question.window.slide, question.threshold
    assert isinstance(extent, Range) and isinstance(slide, int), question
    asked = places[threshold.aggregate], threshold.above, threshold.bound
    return Periodic(tuple(places[name] for name in question.aggregates), extent.length, slide, asked)
