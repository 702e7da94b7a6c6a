"""Lowering what comes out: LIMIT, output streams, and results that outlive their INTERNAL windows."""

from __future__ import annotations

from typing import Any

from windrow.operators import (
    AppendOnly,
    DeleteStream,
    InsertStream,
    Limit,
    MergeUnion,
    Multiplicity,
    MultiplicityOperator,
    OpenLifetime,
    Operator,
    Projection,
    RangeLifetime,
    RelationStream,
    SortColumn,
    TimeWindow,
)
from windrow.operators.outputs.external_parts import Numbered, WithEnd
from windrow.operators.outputs.row_order import InRowOrder
from windrow.operators.windows.sampling import Refreshed
from windrow.physical.lowering.context import LoweringContext
from windrow.physical.physical_node import PhysicalNode
from windrow.plan import nodes, running_nodes
from windrow.plan.analysis.internal import has_internal
from windrow.plan.analysis.refreshes import refresh_interval
from windrow.plan.analysis.state import is_grouped
from windrow.plan.nodes import Node, OutputKind
from windrow.plan.running_nodes import EndWithParts, RestoredAnswer, RestoredInserts
from windrow.state import StructureKind


def limit(plan: nodes.Limit, context: LoweringContext) -> PhysicalNode:
    """The kernel sorts by columns: keys that are expressions are computed first and dropped afterwards."""
    compiler, width = context.compiler(plan.input.schema), len(plan.input.schema)
    own = [compiler.column(column) for column in plan.input.schema.columns]
    computed = [compiler.column(key.expression) for key in plan.keys]
    sorted_by = tuple(SortColumn(width + place, key.descending, key.nulls_first) for place, key in enumerate(plan.keys))
    wide = PhysicalNode(plan, Projection((*own, *computed)), (context.lower(plan.input),))
    limited = PhysicalNode(plan, Limit(sorted_by, plan.count, plan.offset, context.structure(plan.input)), (wide,))
    return PhysicalNode(plan, Projection(tuple(own)), (limited,))


def append_only(plan: nodes.AppendOnly, context: LoweringContext) -> PhysicalNode:
    return PhysicalNode(plan, InRowOrder(), (_lasting(plan.input, refresh_interval(plan), context),))


def output_stream(plan: nodes.OutputStream, context: LoweringContext) -> PhysicalNode:
    if plan.kind is OutputKind.RSTREAM or plan.restore:
        return context.lower(plan.input)  # names the answer; the runtime emits it at each refresh
    kind = context.structure(plan.input)
    difference = InsertStream(kind) if plan.kind is OutputKind.ISTREAM else DeleteStream(kind)
    return _stream(plan, _sampled(plan.input, refresh_interval(plan), context), difference)


def restored_inserts(plan: RestoredInserts, context: LoweringContext) -> PhysicalNode:
    return _stream(plan, _inserts(plan, plan.input, context), TimeWindow(OpenLifetime(slide=plan.slide)))


def restored_answer(plan: RestoredAnswer, context: LoweringContext) -> PhysicalNode:
    """What is in the inserts since the last refresh and not in the answer is shown until the next one."""
    slide, answer = plan.slide, _sampled(plan.answer, plan.slide, context)
    lately = PhysicalNode(
        plan, TimeWindow(RangeLifetime(slide, slide=slide)), (_inserts(plan, plan.continuous, context),)
    )
    kinds = StructureKind.FIFO, context.structure(plan.answer)
    missed = PhysicalNode(plan, MultiplicityOperator(Multiplicity.EXCEPT_ALL, kinds), (lately, answer))
    emitted = PhysicalNode(plan, RelationStream(slide), (missed,))
    return PhysicalNode(plan, MergeUnion(), (answer, PhysicalNode(plan, TimeWindow(RangeLifetime(slide)), (emitted,))))


def _inserts(plan: Node, continuous: Node, context: LoweringContext) -> PhysicalNode:
    return PhysicalNode(plan, InsertStream(context.structure(continuous)), (context.lower(continuous),))


def numbered(plan: running_nodes.Numbered, context: LoweringContext) -> PhysicalNode:
    """A part that results end with, as it is at refreshes."""
    return PhysicalNode(plan, Numbered(context.structure(plan.input)), (_sampled(plan.input, plan.slide, context),))


def with_end(plan: running_nodes.WithEnd, context: LoweringContext) -> PhysicalNode:
    """Under NT the end of a part is noted before it is hidden."""
    if context.is_nt:
        return context.taken_back_afterwards(plan)
    return PhysicalNode(plan, WithEnd(), (_sampled(plan.input, plan.slide, context),))


def result_rows(plan: Node, context: LoweringContext) -> PhysicalNode:
    """What a window on a sub-query reads, with lifetimes that are columns."""
    if isinstance(plan, nodes.AppendOnly):  # WSTREAM: whatever results end with
        return PhysicalNode(plan, InRowOrder(), (_emitted(plan.input, refresh_interval(plan), context),))
    output = plan.input if isinstance(plan, nodes.Alias) else plan
    if isinstance(output, nodes.OutputStream) and output.kind is OutputKind.RSTREAM:
        return _answers(output, context)
    return context.lower(plan)


def _answers(plan: nodes.OutputStream, context: LoweringContext) -> PhysicalNode:
    """RSTREAM as a stream: a copy of the answer at each refresh."""
    slide = refresh_interval(plan)
    assert slide is not None, plan
    answer = context.lower(plan) if plan.restore else _sampled(plan.input, slide, context)
    return _stream(plan, answer, RelationStream(slide, context.structure(plan)))


def _lasting(plan: Node, slide: int | None, context: LoweringContext) -> PhysicalNode:
    """The results of a query over INTERNAL windows, which end with their external parts."""
    if isinstance(plan, nodes.Sort):
        return _lasting(plan.input, slide, context)
    if not has_internal(plan):
        return _sampled(plan, slide, context)
    if isinstance(plan, nodes.Union):
        return PhysicalNode(plan, MergeUnion(), tuple(_lasting(side, slide, context) for side in plan.inputs))
    return _ending(plan, slide, context) if isinstance(plan, EndWithParts) else _emitted(plan, slide, context)


def _ending(plan: EndWithParts, slide: int | None, context: LoweringContext) -> PhysicalNode:
    places = {name: place for place, name in enumerate(plan.input.schema.names)}
    ends = tuple(places[name] for name in plan.ends)
    numbers = tuple(places[name] for name, _ in plan.numbers)
    operator = AppendOnly(ends, numbers, context.structure(plan.input))
    watched = (context.lower(part) for part in plan.parts)
    return PhysicalNode(plan, operator, (_sampled(plan.input, slide, context), *watched))


def _emitted(plan: Node, slide: int | None, context: LoweringContext) -> PhysicalNode:
    """All that a query emits, branch by branch: what is new, and of a periodic aggregate each of its values."""
    if isinstance(plan, nodes.Sort):
        return _emitted(plan.input, slide, context)
    if isinstance(plan, nodes.Union):
        return PhysicalNode(plan, MergeUnion(), tuple(_emitted(side, slide, context) for side in plan.inputs))
    kind, below = context.structure(plan), _sampled(plan, slide, context)
    if slide is not None and is_grouped(plan):
        return PhysicalNode(plan, RelationStream(slide, kind), (below,))
    return PhysicalNode(plan, InsertStream(kind), (below,))


def _sampled(plan: Node, slide: int | None, context: LoweringContext) -> PhysicalNode:
    """An answer; a periodic one only as it is when it is refreshed."""
    below = context.lower(plan)
    return below if slide is None else PhysicalNode(plan, Refreshed(slide), (below,))


def _stream(plan: Node, below: PhysicalNode, operator: Operator[Any]) -> PhysicalNode:
    """Results in the order that a window on them needs."""
    return PhysicalNode(plan, InRowOrder(), (PhysicalNode(plan, operator, (below,)),))
