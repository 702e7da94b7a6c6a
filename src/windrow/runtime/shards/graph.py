"""A running plan, lowered: for every stage, what is computed there and where it goes.

Every process makes its own graph, with the same names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass

from windrow.batch import Dictionary
from windrow.batch.shards import ONLY_SHARD, Shard
from windrow.physical.lower import Lowering
from windrow.physical.physical_node import PhysicalNode, pace_digest, plan_digest
from windrow.plan.analysis.relations import streams_of
from windrow.plan.nodes import Node, Table, Windowed
from windrow.plan.running_nodes import Exchange, SubWindows, WindowSynopsis
from windrow.plan.strategy import Strategy
from windrow.plan.user_aggregate import Own, UserAggregate, UserFunction
from windrow.runtime.shards.running_plan import RunningPlan, RunningQuery
from windrow.sharing.exchanges import stage_of


@dataclass(frozen=True, eq=False)
class Output:
    """What a stage computes: rows for an exchange, or the results of a query."""

    name: str
    start: int
    stage: int
    root: PhysicalNode
    exchange: Exchange | None = None
    query: RunningQuery | None = None


@dataclass(frozen=True)
class Source:
    """Rows that a stage receives: of an exchange for the queries that started together."""

    name: str
    start: int  # of these queries
    exchange: Exchange
    ordered: bool  # whether a window counts them
    streams: frozenset[str]  # that they move with


class Graph:
    """A running plan, lowered. What is asked of it in every micro-batch is worked out once."""

    def __init__(self, plan: RunningPlan, dictionary: Dictionary, shard: Shard = ONLY_SHARD) -> None:
        self.plan = plan
        self._dictionary = dictionary
        self._shard = shard
        self._lowerings: dict[tuple[int, Strategy], Lowering] = {}
        self.outputs: dict[str, Output] = {}
        self._at_stage: dict[int, list[Output]] = {}
        self._sources: dict[int, dict[str, Source]] = {}
        self._states: dict[int, dict[str, PhysicalNode]] = {}
        for query in plan.queries:
            root = self._lowering(query.start, query.strategy).lower(query.plan)
            self._add(Output(f"query.{query.name.lower()}", query.start, query.stage, root, query=query))

    def at_stage(self, stage: int) -> list[Output]:
        if stage not in self._at_stage:
            self._at_stage[stage] = [output for output in self.outputs.values() if output.stage == stage]
        return self._at_stage[stage]

    def sources(self, stage: int) -> Mapping[str, Source]:
        """What the stage receives."""
        if stage not in self._sources:
            self._sources[stage] = self._found_sources(stage)
        return self._sources[stage]

    def states(self, stage: int) -> Mapping[str, PhysicalNode]:
        """The operators of a stage by a name that is the same in every process and every version of the plan."""
        if stage not in self._states:
            self._states[stage] = self._found_states(stage)
        return self._states[stage]

    def _found_sources(self, stage: int) -> dict[str, Source]:
        found: dict[str, Source] = {}
        for output in self.at_stage(stage):
            for node, consumer in _with_consumers(output.root):
                if node.operator is None and isinstance(node.plan, Exchange):
                    name = _name(output.start, node)
                    before = name in found and found[name].ordered
                    ordered = before or _counts_rows(consumer.plan)
                    found[name] = Source(name, output.start, node.plan, ordered, _streams(node))
        return found

    def queries_above(self, outputs: Collection[str]) -> list[str]:
        """The keys of queries that need some outputs, directly or through others."""
        reached = set(outputs)
        for output in sorted(self.outputs.values(), key=lambda output: output.stage):
            nodes = (node for node, _ in _with_consumers(output.root))
            if any(_name(output.start, node) in reached for node in nodes if isinstance(node.plan, Exchange)):
                reached.add(output.name)
        found = (self.outputs[name].query for name in reached)
        return [query.key for query in found if query is not None]

    def outputs_above(self, operator: str, stage: int) -> list[str]:
        """The names of outputs of a stage for which an operator works, named as in `states`."""
        node = self.states(stage)[operator]
        return [
            output.name
            for output in self.at_stage(stage)
            if any(one is node for one, _ in _with_consumers(output.root))
        ]

    def tables(self, stage: int) -> set[str]:
        """The tables that the stage reads."""
        nodes = (node for output in self.at_stage(stage) for node, _ in _with_consumers(output.root))
        return {node.plan.name.lower() for node in nodes if isinstance(node.plan, Table)}

    def _found_states(self, stage: int) -> dict[str, PhysicalNode]:
        found: dict[str, PhysicalNode] = {}
        seen: set[int] = set()
        counts: dict[str, int] = {}
        for output in self.at_stage(stage):
            for node, _ in _with_consumers(output.root):
                if (node.state is not None or node.held) and id(node) not in seen:
                    seen.add(id(node))
                    of = f"{output.start}.{node.lowered_for}.{plan_digest(node.plan)}{_pace(node)}"
                    counts[of] = counts.get(of, 0) + 1
                    found[f"{of}.{counts[of]}"] = node
        return found

    def aggregates(self) -> dict[str, Own]:
        """Those of the user's own that are called, and functions."""
        nodes = (node for query in self.plan.queries for node in query.plan.walk())
        return {own.name: own for node in nodes for own in _own_in(vars(node).values())}

    def _lowering(self, start: int, strategy: Strategy) -> Lowering:
        if (start, strategy) not in self._lowerings:
            direct = None if strategy is not Strategy.NT else self._lowering(start, Strategy.UPA)
            self._lowerings[start, strategy] = Lowering(self._dictionary, strategy, direct, self._shard)
        return self._lowerings[start, strategy]

    def _add(self, output: Output) -> None:
        """An output, and all that has to be computed for it at earlier stages."""
        self.outputs[output.name] = output
        for node, _ in _with_consumers(output.root):
            name = _name(output.start, node) if isinstance(node.plan, Exchange) and node.operator is None else None
            if name is not None and name not in self.outputs:
                assert isinstance(node.plan, Exchange)
                below = node.plan.input
                root = self._lowering(output.start, Strategy(node.lowered_for)).sent(below, _streams(node))
                self._add(Output(name, output.start, stage_of(below), root, exchange=node.plan))


def _own_in(values: Iterable[object]) -> Iterator[Own]:
    """The aggregates and functions of the user's own in the fields of a node, however deep."""
    for value in values:
        if isinstance(value, UserAggregate | UserFunction):
            yield value
        elif isinstance(value, tuple):
            yield from _own_in(value)
        elif is_dataclass(value) and not isinstance(value, Node):
            yield from _own_in(vars(value).values())


def _name(start: int, node: PhysicalNode) -> str:
    return f"{start}.{node.source}"


def _streams(node: PhysicalNode) -> frozenset[str]:
    assert node.streams is not None, node
    return node.streams


def _pace(node: PhysicalNode) -> str:
    """What moves with its reader is there once for each of them."""
    return "" if node.streams == streams_of(node.plan) else f".{pace_digest(_streams(node))}"


def _counts_rows(plan: Node) -> bool:
    if isinstance(plan, WindowSynopsis):
        return plan.by_rows
    return isinstance(plan, Windowed | SubWindows) and not (plan.window.is_time_based or plan.window.is_open)


def _with_consumers(root: PhysicalNode) -> Iterator[tuple[PhysicalNode, PhysicalNode]]:
    """Every node of a root with one that reads it, consumers first; the root reads itself."""
    waiting, seen = [(root, root)], set[int]()
    while waiting:
        node, consumer = waiting.pop()
        yield node, consumer
        if id(node) not in seen:
            seen.add(id(node))
            waiting.extend((below, node) for below in reversed(node.inputs))
