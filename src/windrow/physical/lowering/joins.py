"""Lowering what compares the rows of two inputs: joins, EXISTS and IN, and their negations."""

from __future__ import annotations

from typing import Any

from windrow.operators import (
    AntiJoin,
    Join,
    Lookup,
    NonRetroactiveJoin,
    NotIn,
    Operator,
    OuterJoin,
    Projection,
    SemiJoin,
)
from windrow.operators.operator import Predicate
from windrow.operators.punctuated import PunctuatedJoin
from windrow.physical.lowering.context import LoweringContext
from windrow.physical.physical_node import PhysicalNode
from windrow.plan import nodes
from windrow.plan.analysis.relations import is_non_retroactive
from windrow.plan.expressions import Call, ColumnReference, Expression
from windrow.plan.functions import call, conjunction
from windrow.plan.join_keys import JoinKeys, join_keys
from windrow.plan.nodes import JoinKind
from windrow.types import BOOLEAN


def join(plan: nodes.Join, context: LoweringContext) -> PhysicalNode:
    if is_non_retroactive(plan.left) != is_non_retroactive(plan.right):
        return _table_join(plan, context)
    operator = _joining(plan, context)
    left, right = (context.closings.of_side(plan, side) for side in (0, 1))
    if isinstance(operator, OuterJoin) or left is right is None:
        return context.over_inputs(plan, operator)
    inputs = (context.lower(plan.left), context.lower(plan.right), left, right)
    punctuated = PunctuatedJoin(operator, left is not None, right is not None)
    return PhysicalNode(plan, punctuated, tuple(node for node in inputs if node is not None))


def semi_join(plan: nodes.SemiJoin, context: LoweringContext) -> PhysicalNode:
    if is_non_retroactive(plan.right):
        return _table_presence(plan, plan.condition, Lookup.PRESENT, context)
    return context.over_inputs(plan, _matching(plan, plan.condition, context))


def anti_join(plan: nodes.AntiJoin, context: LoweringContext) -> PhysicalNode:
    if is_non_retroactive(plan.right):
        return _table_presence(plan, _or_unknown(plan), Lookup.ABSENT, context)
    return context.over_inputs(plan, _negation(plan, context))


def _table_join(plan: nodes.Join, context: LoweringContext) -> PhysicalNode:
    """With a non-retroactive table; the kernel takes the stream first, so columns may have to change places."""
    if context.is_nt:  # what is taken back would meet another table: looked up before that
        return context.taken_back_afterwards(plan)
    stream_first = is_non_retroactive(plan.right)
    stream, table = (plan.left, plan.right) if stream_first else (plan.right, plan.left)
    keys = join_keys(plan.condition, stream.schema, table.schema)
    both = context.compiler(stream.schema + table.schema)
    residual = None if keys.residual is None else both.predicate(keys.residual)
    gives = Lookup.PAIRS if plan.kind is JoinKind.INNER else Lookup.PADDED
    operator = NonRetroactiveJoin(keys.left, keys.right, residual, gives)
    pairs = PhysicalNode(plan, operator, (context.lower(stream), context.lower(table)))
    if stream_first:
        return pairs
    return PhysicalNode(plan, Projection(tuple(both.column(column) for column in plan.schema.columns)), (pairs,))


def _table_presence(
    plan: nodes.SemiJoin | nodes.AntiJoin, condition: Expression | None, gives: Lookup, context: LoweringContext
) -> PhysicalNode:
    """EXISTS, IN and their negations with a non-retroactive table."""
    if context.is_nt:
        return context.taken_back_afterwards(plan)
    keys = _keys(plan, condition)
    residual = _residual(plan, keys, context)
    return context.over_inputs(plan, NonRetroactiveJoin(keys.left, keys.right, residual, gives))


def _joining(plan: nodes.Join, context: LoweringContext) -> Join | OuterJoin:
    keys = _keys(plan, plan.condition)
    inner = Join(
        keys.left,
        keys.right,
        _residual(plan, keys, context),
        left_structure=context.structure(plan.left),
        right_structure=context.structure(plan.right),
    )
    if plan.kind is JoinKind.INNER:
        return inner
    return OuterJoin(
        inner,
        len(plan.left.schema),
        len(plan.right.schema),
        keep_left=plan.kind in (JoinKind.LEFT, JoinKind.FULL),
        keep_right=plan.kind in (JoinKind.RIGHT, JoinKind.FULL),
    )


def _matching(
    plan: nodes.SemiJoin | nodes.AntiJoin, condition: Expression | None, context: LoweringContext
) -> SemiJoin:
    keys = _keys(plan, condition)
    matched = (plan.right,) if keys.residual is None else (plan.left, plan.right)
    return SemiJoin(
        len(plan.left.schema),
        keys.left,
        keys.right,
        _residual(plan, keys, context),
        context.structure(plan.left),
        context.structure(plan.right),
        weak=isinstance(plan, nodes.SemiJoin) and not any(map(context.takes_back, matched)),
    )


def _negation(plan: nodes.AntiJoin, context: LoweringContext) -> Operator[Any]:
    if plan.not_in is None:
        return AntiJoin(_matching(plan, plan.condition, context))
    keys = _keys(plan, plan.condition)
    value, member = plan.not_in
    if not isinstance(value, ColumnReference) or not isinstance(member, ColumnReference):
        return AntiJoin(_matching(plan, _or_unknown(plan), context))
    if keys.residual is None and value.type == member.type:
        return NotIn(
            len(plan.left.schema),
            plan.left.schema.names.index(value.name),
            plan.right.schema.names.index(member.name),
            keys.left,
            keys.right,
            context.structure(plan.left),
            context.structure(plan.right),
        )
    return AntiJoin(_matching(plan, _or_unknown(plan), context))


def _keys(plan: nodes.Join | nodes.SemiJoin | nodes.AntiJoin, condition: Expression | None) -> JoinKeys:
    return join_keys(condition, plan.left.schema, plan.right.schema)


def _residual(
    plan: nodes.Join | nodes.SemiJoin | nodes.AntiJoin, keys: JoinKeys, context: LoweringContext
) -> Predicate | None:
    """What is left of the condition, to be tested on pairs with equal keys."""
    if keys.residual is None:
        return None
    return context.compiler(plan.left.schema + plan.right.schema).predicate(keys.residual)


def _or_unknown(plan: nodes.AntiJoin) -> Expression | None:
    """What keeps a row from the answer of a negation.

    For NOT IN a null on either side is a possible match: the pair is one unless the values are known to differ.
    """
    if plan.not_in is None:
        return plan.condition
    value, member = plan.not_in
    possible = Call("OR", (call("=", value, member), call("IS NULL", value), call("IS NULL", member)), BOOLEAN)
    return conjunction([possible] if plan.condition is None else [plan.condition, possible])
