"""What every function that lowers a node is handed: plans below, columns by position, the strategy and its structures.

Equal sub-plans that move with the same streams become one operator, so that queries that share a part of their plans
share its work and its state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from windrow.batch.dictionary import Dictionary
from windrow.batch.shards import Shard
from windrow.operators import NegativeTuples, Operator
from windrow.physical.closings import ClosingsLowering
from windrow.physical.expressions import ExpressionCompiler
from windrow.physical.lowering.paces import Paces
from windrow.physical.physical_node import PhysicalNode
from windrow.physical.structures import structure_kind
from windrow.plan.analysis.relations import streams_of
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.by_kind import ByKind
from windrow.plan.nodes import Node
from windrow.plan.pattern import Pattern
from windrow.plan.schema import Schema
from windrow.plan.strategy import Strategy
from windrow.state import StructureKind

_Key: TypeAlias = tuple[Node, frozenset[str]]
_Place: TypeAlias = tuple[dict[_Key, PhysicalNode], _Key]


class LoweringContext:
    """Lowers plans under one strategy by a table; what has been lowered is remembered, for sharing.

    `direct` lowers what must not come as negative tuples; it is this one under strategies that have none.
    """

    def __init__(
        self,
        table: ByKind[Callable[..., PhysicalNode]],
        dictionary: Dictionary,
        strategy: Strategy,
        direct: LoweringContext | None,
        shard: Shard,
    ) -> None:
        self._table = table
        self.dictionary = dictionary
        self.strategy = strategy
        self.direct = self if direct is None else direct
        self.shard = shard
        self.paces: Paces = Paces() if direct is None else direct.paces
        self.closings = ClosingsLowering(strategy, _closing_node)
        self._known: dict[_Key, PhysicalNode] = {}
        self._sources: dict[_Key, PhysicalNode] = {}
        self._places: dict[int, list[_Place]] = {}  # by the id of a node: where it is known

    @property
    def is_nt(self) -> bool:
        return self.strategy is Strategy.NT

    def lower(self, plan: Node) -> PhysicalNode:
        pace = self.paces.of(plan)
        if (plan, pace) not in self._known:
            with self.paces.read_by(pace):
                node = self._known[plan, pace] = self._table[plan](plan, self)
            self._places.setdefault(id(node), []).append((self._known, (plan, pace)))
            self._sign(node, pace)
        return self._known[plan, pace]

    def forget(self, nodes: Iterable[PhysicalNode]) -> None:
        """Nobody reads these any more: who lowers their plans again gets others, with a fresh state."""
        nodes = list(nodes)
        for node in nodes:
            for known, key in self._places.pop(id(node), ()):
                del known[key]
        self.closings.forget(nodes)
        if self.direct is not self:
            self.direct.forget(nodes)

    def __len__(self) -> int:
        """How many nodes are known."""
        return len(self._places)

    def source(self, plan: Node, name: str) -> PhysicalNode:
        """Rows as they come; whoever reads them reads this one."""
        pace = self.paces.of(plan)
        if (plan, pace) not in self._sources:
            node = self._sources[plan, pace] = PhysicalNode(plan, None, source=name)
            self._places.setdefault(id(node), []).append((self._sources, (plan, pace)))
            self._sign(node, pace)
        return self._sources[plan, pace]

    def over_inputs(self, plan: Node, operator: Operator[Any]) -> PhysicalNode:
        return PhysicalNode(plan, operator, tuple(self.lower(below) for below in plan.inputs))

    def compiler(self, schema: Schema) -> ExpressionCompiler:
        return ExpressionCompiler({name: place for place, name in enumerate(schema.names)}, self.dictionary)

    def structure(self, plan: Node) -> StructureKind:
        """Where the results of a plan are stored."""
        return structure_kind(plan, self.strategy)

    def takes_back(self, plan: Node) -> bool:
        """Whether negative tuples come from a plan."""
        return self.is_nt or update_pattern(plan) is Pattern.STR

    def taken_back_afterwards(self, plan: Node) -> PhysicalNode:
        """Under NT, what cannot take negative tuples: computed without them, and made to emit its ends after that."""
        return PhysicalNode(plan, NegativeTuples(structure_kind(plan, Strategy.UPA)), (self.direct.lower(plan),))

    def _sign(self, node: PhysicalNode, pace: frozenset[str]) -> None:
        """Say for which strategy operators were made, and with what they move; what is below others has been signed."""
        if node.lowered_for:
            return
        node.lowered_for = self.strategy.value
        for below in node.inputs:
            self._sign(below, pace)
        if node.streams is None:
            node.move_with(pace)


def _closing_node(plan: Node, *of_node: Any, **more: Any) -> PhysicalNode:
    """Closings move with the streams below them, whoever reads them."""
    node = PhysicalNode(plan, *of_node, **more)
    node.move_with(streams_of(plan))
    return node
