"""What all parts of lowering need: plans below, columns by position, and who tells by negative tuples."""

from __future__ import annotations

from typing import Any

from windrow.batch.dictionary import Dictionary
from windrow.operators import NegativeTuples, Operator
from windrow.physical.closings import ClosingsLowering
from windrow.physical.expressions import ExpressionCompiler
from windrow.physical.physical_node import PhysicalNode
from windrow.physical.structures import structure_kind
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import Node
from windrow.plan.pattern import Pattern
from windrow.plan.schema import Schema
from windrow.plan.strategy import Strategy


class LoweringUnderStrategy:
    """Lowers plans under one strategy."""

    def __init__(self, dictionary: Dictionary, strategy: Strategy, direct: LoweringUnderStrategy | None) -> None:
        """`direct` is for what must not be told by negative tuples; None when this one tells nothing so."""
        self._dictionary, self._strategy = dictionary, strategy
        self._direct = self if direct is None else direct
        self._closings = ClosingsLowering(strategy, PhysicalNode)

    def lower(self, plan: Node) -> PhysicalNode:
        raise NotImplementedError

    def _rows_below(self, plan: Node) -> PhysicalNode:
        """What a window reads: rows of a stream as they come, or of a sub-query."""
        raise NotImplementedError

    def _node(self, plan: Node, operator: Operator[Any]) -> PhysicalNode:
        return PhysicalNode(plan, operator, tuple(self.lower(below) for below in plan.inputs))

    def _compiler(self, schema: Schema) -> ExpressionCompiler:
        return ExpressionCompiler({name: place for place, name in enumerate(schema.names)}, self._dictionary)

    def _taken_back_afterwards(self, plan: Node) -> PhysicalNode:
        """Under NT, what cannot take negative tuples: computed without them, and its ends are told after that."""
        return PhysicalNode(plan, NegativeTuples(structure_kind(plan, Strategy.UPA)), (self._direct.lower(plan),))

    def _takes_back(self, plan: Node) -> bool:
        """Whether negative tuples come from a plan."""
        return self._strategy is Strategy.NT or update_pattern(plan) is Pattern.STR
