"""Lowering what compares rows with each other: joins, negation and set operations."""

from __future__ import annotations

from typing import Any

from windrow.operators import (
    AntiJoin,
    DistinctNaive,
    DistinctStar,
    Join,
    Lookup,
    Multiplicity,
    MultiplicityOperator,
    NonRetroactiveJoin,
    NotIn,
    Operator,
    OuterJoin,
    Projection,
    SemiJoin,
    distinct_strict,
)
from windrow.operators.operator import Predicate
from windrow.operators.punctuated import PunctuatedJoin
from windrow.physical.lower_under_strategy import LoweringUnderStrategy
from windrow.physical.physical_node import PhysicalNode
from windrow.physical.structures import structure_kind
from windrow.plan import nodes
from windrow.plan.analysis.relations import is_non_retroactive
from windrow.plan.expressions import Call, Column, Expression
from windrow.plan.functions import call, conjunction
from windrow.plan.join_keys import JoinKeys, join_keys
from windrow.plan.nodes import JoinKind
from windrow.plan.schema import Schema
from windrow.plan.strategy import Strategy
from windrow.state import StructureKind
from windrow.types import BOOLEAN


class JoinLowering(LoweringUnderStrategy):
    def _keys(self, plan: nodes.SemiJoin | nodes.AntiJoin, condition: Expression | None) -> JoinKeys:
        return join_keys(condition, plan.left.schema, plan.right.schema)

    def _residual(self, plan: nodes.SemiJoin | nodes.AntiJoin, residual: Expression | None) -> Predicate | None:
        if residual is None:
            return None
        return self._compiler(plan.left.schema + plan.right.schema).predicate(residual)

    def _join(self, plan: nodes.Join) -> PhysicalNode:
        if is_non_retroactive(plan.left) != is_non_retroactive(plan.right):
            return self._lookup(plan)
        operator = self._joining(plan, plan.left.schema, plan.right.schema)
        left, right = (self._closings.of_side(plan, side) for side in (0, 1))
        if isinstance(operator, OuterJoin) or left is right is None:
            return self._node(plan, operator)
        inputs = (self.lower(plan.left), self.lower(plan.right), left, right)
        punctuated = PunctuatedJoin(operator, left is not None, right is not None)
        return PhysicalNode(plan, punctuated, tuple(node for node in inputs if node is not None))

    def _lookup(self, plan: nodes.Join) -> PhysicalNode:
        """With a non-retroactive table; the kernel takes the stream first, so columns may have to change places."""
        if self._strategy is Strategy.NT:  # what is taken back would meet another table: looked up before that
            return self._taken_back_afterwards(plan)
        stream_first = is_non_retroactive(plan.right)
        stream, table = (plan.left, plan.right) if stream_first else (plan.right, plan.left)
        keys = join_keys(plan.condition, stream.schema, table.schema)
        both = self._compiler(stream.schema + table.schema)
        residual = None if keys.residual is None else both.predicate(keys.residual)
        gives = Lookup.PAIRS if plan.kind is JoinKind.INNER else Lookup.PADDED
        operator = NonRetroactiveJoin(keys.left, keys.right, residual, gives)
        found = PhysicalNode(plan, operator, (self.lower(stream), self.lower(table)))
        if stream_first:
            return found
        return PhysicalNode(plan, Projection(tuple(both.column(column) for column in plan.schema.columns)), (found,))

    def _presence(self, plan: nodes.SemiJoin | nodes.AntiJoin) -> PhysicalNode:
        """EXISTS, IN and their negations with a non-retroactive table."""
        if self._strategy is Strategy.NT:
            return self._taken_back_afterwards(plan)
        condition, gives = plan.condition, Lookup.PRESENT
        if isinstance(plan, nodes.AntiJoin):
            condition, gives = _or_unknown(plan), Lookup.ABSENT
        keys = self._keys(plan, condition)
        return self._node(plan, NonRetroactiveJoin(keys.left, keys.right, self._residual(plan, keys.residual), gives))

    def _joining(self, plan: nodes.Join, left: Schema, right: Schema) -> Join | OuterJoin:
        keys = join_keys(plan.condition, left, right)
        residual = None if keys.residual is None else self._compiler(left + right).predicate(keys.residual)
        structures = structure_kind(plan.left, self._strategy), structure_kind(plan.right, self._strategy)
        inner = Join(keys.left, keys.right, residual, left_structure=structures[0], right_structure=structures[1])
        if plan.kind is JoinKind.INNER:
            return inner
        keep_left, keep_right = (
            plan.kind in (JoinKind.LEFT, JoinKind.FULL),
            plan.kind in (JoinKind.RIGHT, JoinKind.FULL),
        )
        return OuterJoin(inner, len(left), len(right), keep_left=keep_left, keep_right=keep_right)

    def _semi_join(self, plan: nodes.SemiJoin | nodes.AntiJoin, condition: Expression | None) -> SemiJoin:
        keys = self._keys(plan, condition)
        matched = (plan.right,) if keys.residual is None else (plan.left, plan.right)
        return SemiJoin(
            len(plan.left.schema),
            keys.left,
            keys.right,
            self._residual(plan, keys.residual),
            structure_kind(plan.left, self._strategy),
            structure_kind(plan.right, self._strategy),
            weak=isinstance(plan, nodes.SemiJoin) and not any(map(self._takes_back, matched)),
        )

    def _negation(self, plan: nodes.AntiJoin) -> Operator[Any]:
        if plan.not_in is None:
            return AntiJoin(self._semi_join(plan, plan.condition))
        keys = self._keys(plan, plan.condition)
        value, member = plan.not_in
        plain = isinstance(value, Column) and isinstance(member, Column) and value.type == member.type
        if keys.residual is None and plain and isinstance(value, Column) and isinstance(member, Column):
            return NotIn(
                len(plan.left.schema),
                plan.left.schema.names.index(value.name),
                plan.right.schema.names.index(member.name),
                keys.left,
                keys.right,
                structure_kind(plan.left, self._strategy),
                structure_kind(plan.right, self._strategy),
            )
        return AntiJoin(self._semi_join(plan, _or_unknown(plan)))

    def _distinct(self, plan: nodes.Distinct) -> Operator[Any]:
        if self._takes_back(plan.input):
            return distinct_strict(structure_kind(plan.input, self._strategy))
        return DistinctNaive() if self._strategy is Strategy.DIRECT else DistinctStar()

    def _weak_intersection(self, plan: nodes.Intersect) -> PhysicalNode:
        """The values that are present on both sides, with their ends: both come from δ*, and nothing is taken back."""
        by_row = tuple(range(len(plan.schema)))
        kind = StructureKind.LIST if self._strategy is Strategy.DIRECT else StructureKind.CALENDAR
        sides = tuple(PhysicalNode(plan, DistinctStar(kind), (self.lower(side),)) for side in plan.inputs)
        both = Join(by_row, by_row, nulls_match=True, left_structure=kind, right_structure=kind)
        compiler = self._compiler(plan.schema)
        left = Projection(tuple(compiler.column(column) for column in plan.schema.columns))
        return PhysicalNode(plan, left, (PhysicalNode(plan, both, sides),))

    def _multiplicity(self, plan: nodes.Except | nodes.Intersect) -> Operator[Any]:
        if isinstance(plan, nodes.Except):
            which = Multiplicity.EXCEPT_ALL if plan.all else Multiplicity.EXCEPT
        else:
            which = Multiplicity.INTERSECT_ALL if plan.all else Multiplicity.INTERSECT
        kinds = (structure_kind(plan.left, self._strategy), structure_kind(plan.right, self._strategy))
        return MultiplicityOperator(which, kinds)


def _or_unknown(plan: nodes.AntiJoin) -> Expression | None:
    """What keeps a row from the answer of a negation.

    For NOT IN a null on either side is a possible match: the pair is one unless the values are known to differ.
    """
    if plan.not_in is None:
        return plan.condition
    value, member = plan.not_in
    possible = Call("OR", (call("=", value, member), call("IS NULL", value), call("IS NULL", member)), BOOLEAN)
    return conjunction([possible] if plan.condition is None else [plan.condition, possible])
