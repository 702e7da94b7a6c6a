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
    stage: int
    root: PhysicalNode
    exchange: Exchange | None = None
    query: RunningQuery | None = None
    apart: int | None = None  # the start of a query that shares nothing

    @property
    def streams(self) -> frozenset[str]:
        return _streams(self.root)

    def nodes(self) -> Iterator[PhysicalNode]:
        """Those at its stage, each once for every reader."""
        return (node for node, _ in _with_consumers(self.root))


@dataclass(frozen=True)
class Source:
    """Rows that a stage receives of an exchange, for all queries that read them."""

    name: str
    exchange: Exchange
    ordered: bool  # whether a window counts them
    streams: frozenset[str]  # that they move with


class Graph:
    """A running plan, lowered. What is asked of it in every micro-batch is worked out once."""

    def __init__(self, plan: RunningPlan, dictionary: Dictionary, shard: Shard = ONLY_SHARD) -> None:
        self.plan = plan
        self._dictionary = dictionary
        self._shard = shard
        self._lowerings: dict[tuple[int | None, Strategy], Lowering] = {}
        self.outputs: dict[str, Output] = {}
        self._at_stage: dict[int, list[Output]] = {}
        self._sources: dict[int, dict[str, Source]] = {}
        self._states: dict[int, dict[str, PhysicalNode]] = {}
        for query in plan.queries:
            root = self._lowering(query.apart, query.strategy).lower(query.plan)
            self._add(Output(query_output(query), query.stage, root, query=query, apart=query.apart))

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
                if is_exchanged(node):
                    name, exchange = _exchanged(node)
                    before = name in found and found[name].ordered
                    ordered = before or _counts_rows(consumer.plan)
                    found[name] = Source(name, exchange, ordered, _streams(node))
        return found

    def queries_above(self, outputs: Collection[str]) -> list[str]:
        """The keys of queries that need some outputs, directly or through others."""
        reached = set(outputs)
        for output in sorted(self.outputs.values(), key=lambda output: output.stage):
            if not reached.isdisjoint(self.exchanges_of(output)):
                reached.add(output.name)
        found = (self.outputs[name].query for name in reached)
        return [query.key for query in found if query is not None]

    def exchanges_of(self, output: Output) -> set[str]:
        """The exchanges whose rows an output is made of, without those below these."""
        return {_exchanged(node)[0] for node in output.nodes() if is_exchanged(node)}

    def exchanges_below(self, output: Output) -> set[str]:
        """The exchanges that an output is made of."""
        found: set[str] = set()
        waiting = [output]
        while waiting:
            names = self.exchanges_of(waiting.pop()) - found
            found |= names
            waiting += (self.outputs[name] for name in names)
        return found

    def outputs_above(self, operator: str, stage: int) -> list[str]:
        """The names of outputs of a stage for which an operator works, named as in `states`."""
        node = self.states(stage)[operator]
        return [output.name for output in self.at_stage(stage) if any(one is node for one in output.nodes())]

    def tables(self, stage: int) -> set[str]:
        """The tables that the stage reads."""
        nodes = (node for output in self.at_stage(stage) for node in output.nodes())
        return {node.plan.name.lower() for node in nodes if isinstance(node.plan, Table)}

    def _found_states(self, stage: int) -> dict[str, PhysicalNode]:
        found: dict[str, PhysicalNode] = {}
        seen: set[int] = set()
        counts: dict[str, int] = {}
        for output in self.at_stage(stage):
            for node in output.nodes():
                if (node.state is not None or node.held) and id(node) not in seen:
                    seen.add(id(node))
                    of = _named(output.apart, f"{node.lowered_for}.{plan_digest(node.plan)}{_pace(node)}")
                    counts[of] = counts.get(of, 0) + 1
                    found[f"{of}.{counts[of]}"] = node
        return found

    def aggregates(self) -> dict[str, Own]:
        """Those of the user's own that are called, and functions."""
        nodes = (node for query in self.plan.queries for node in query.plan.walk())
        return {own.name: own for node in nodes for own in _own_in(vars(node).values())}

    def _lowering(self, apart: int | None, strategy: Strategy) -> Lowering:
        if (apart, strategy) not in self._lowerings:
            direct = None if strategy is not Strategy.NT else self._lowering(apart, Strategy.UPA)
            self._lowerings[apart, strategy] = Lowering(self._dictionary, strategy, direct, self._shard)
        return self._lowerings[apart, strategy]

    def _add(self, output: Output) -> None:
        """An output, and all that has to be computed for it at earlier stages."""
        self.outputs[output.name] = output
        for node in output.nodes():
            if not is_exchanged(node):
                continue
            name, exchange = _exchanged(node)
            if output.apart is not None and not name.startswith(f"{output.apart}."):
                node.source = name = _named(output.apart, name)
            if name not in self.outputs:
                root = self._lowering(output.apart, Strategy(node.lowered_for)).sent(exchange.input, _streams(node))
                self._add(Output(name, stage_of(exchange.input), root, exchange=exchange, apart=output.apart))


def _own_in(values: Iterable[object]) -> Iterator[Own]:
    """The aggregates and functions of the user's own in the fields of a node, however deep."""
    for value in values:
        if isinstance(value, UserAggregate | UserFunction):
            yield value
        elif isinstance(value, tuple):
            yield from _own_in(value)
        elif is_dataclass(value) and not isinstance(value, Node):
            yield from _own_in(vars(value).values())


def query_output(query: RunningQuery) -> str:
    """The name of what a query gives."""
    return f"query.{query.name.lower()}"


def is_exchanged(node: PhysicalNode) -> bool:
    """Whether the rows of a source come through an exchange."""
    return node.operator is None and isinstance(node.plan, Exchange)


def _exchanged(node: PhysicalNode) -> tuple[str, Exchange]:
    """The name of what a source receives, and the exchange."""
    assert node.source is not None and isinstance(node.plan, Exchange), node
    return node.source, node.plan


def _named(apart: int | None, name: str) -> str:
    """What is computed says what it is; a query that shares nothing says since when, too."""
    return name if apart is None else f"{apart}.{name}"


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
