"""What runs, in the form in which it is sent to workers: the plan of a batch, and its operators.

A *running plan* says which queries run since when, each as a plan with exchanges. Its *graph* is that plan lowered: for
every stage, what is computed there and where it goes. Every process makes its own graph, with the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from windrow.batch import Batch, Dictionary, Segment, empty
from windrow.batch.shards import ONLY_SHARD, Shard
from windrow.catalog import Connector, StreamEntry, TableEntry
from windrow.physical.closings import closings_of
from windrow.physical.lower import Lowering
from windrow.physical.physical_node import PhysicalNode, plan_digest
from windrow.plan.explain.operators import describe_operator
from windrow.plan.nodes import Node, Stream, Table, Windowed
from windrow.plan.running_nodes import Exchange, Grouping, GroupSynopsis, SubWindows, WindowLookup, WindowSynopsis
from windrow.plan.strategy import Strategy
from windrow.plan.user_aggregate import UserAggregate
from windrow.runtime.modes import Mode
from windrow.runtime.sinks import SinkForm, sink_form
from windrow.runtime.stepping import SegmentPass
from windrow.sharing.exchanges import is_on_one_shard, stage_of
from windrow.types import Type


@dataclass(frozen=True)
class RunningQuery:
    """A query from `start` on: rows before it are not in its windows, nor any from before it was `started`."""

    name: str
    plan: Node  # with exchanges
    start: int  # of all that it computes, also for queries before it
    strategy: Strategy
    slide: int | None = None
    sink: Connector | None = None
    statement: int = 0  # the number of the statement that created it
    forms: tuple[SinkForm, ...] = ()  # in which it is emitted besides its changes and refreshes
    lookup: Node | None = None  # the query over its synopsis, when it is looked up; the plan is the synopsis

    @property
    def started(self) -> int:
        """Later than what it runs on, if it is looked up in a synopsis that was there before."""
        below = () if self.lookup is None else self.lookup.walk()
        clipped = (node.since for node in below if isinstance(node, WindowLookup) and node.since is not None)
        return next(clipped, self.start)

    @property
    def sink_mode(self) -> Mode:
        return sink_form(self.sink, self.plan, self.slide).mode

    @property
    def stage(self) -> int:
        return stage_of(self.plan)

    @property
    def key(self) -> str:
        return query_key(self.name, self.statement)


def query_key(name: str, statement: int) -> str:
    """Under which a query's answer and changes are kept: one that is dropped and created again is another one."""
    return f"{name.lower()}.{statement}"


def emitted_name(query: str, mode: Mode) -> str:
    """Under which a commit record has what a query, named by its key, emitted in a mode."""
    return f"{query}/{mode.value}"


@dataclass(frozen=True)
class RunningPlan:
    version: int
    shards: int
    streams: Mapping[str, StreamEntry]  # by lower-case name
    tables: Mapping[str, TableEntry]
    queries: tuple[RunningQuery, ...]

    @cached_property
    def used_streams(self) -> frozenset[str]:
        plans = (query.plan for query in self.queries)
        return frozenset(node.name.lower() for plan in plans for node in plan.walk() if isinstance(node, Stream))

    @cached_property
    def stages(self) -> int:
        """How many times rows move."""
        return max((query.stage for query in self.queries), default=1)


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
    exchange: Exchange
    ordered: bool  # whether a window counts them


class Graph:
    """A running plan, lowered."""

    def __init__(self, plan: RunningPlan, dictionary: Dictionary, shard: Shard = ONLY_SHARD) -> None:
        self.plan = plan
        self._dictionary = dictionary
        self._shard = shard
        self._lowerings: dict[tuple[int, Strategy], Lowering] = {}
        self.outputs: dict[str, Output] = {}
        for query in plan.queries:
            root = self._lowering(query.start, query.strategy).lower(query.plan)
            self._add(Output(f"query.{query.name.lower()}", query.start, query.stage, root, query=query))

    def at_stage(self, stage: int) -> list[Output]:
        return [output for output in self.outputs.values() if output.stage == stage]

    def sources(self, stage: int) -> dict[str, Source]:
        """What the stage receives."""
        found: dict[str, Source] = {}
        for output in self.at_stage(stage):
            for node, consumer in _with_consumers(output.root):
                if node.operator is None and isinstance(node.plan, Exchange):
                    name = _name(output.start, node)
                    before = name in found and found[name].ordered
                    found[name] = Source(name, node.plan, before or _counts_rows(consumer.plan))
        return found

    def tables(self, stage: int) -> set[str]:
        """The tables that the stage reads."""
        nodes = (node for output in self.at_stage(stage) for node, _ in _with_consumers(output.root))
        return {node.plan.name.lower() for node in nodes if isinstance(node.plan, Table)}

    def states(self, stage: int) -> dict[str, PhysicalNode]:
        """The operators of a stage by a name that is the same in every process and every version of the plan."""
        found: dict[str, PhysicalNode] = {}
        seen: set[int] = set()
        counts: dict[str, int] = {}
        for output in self.at_stage(stage):
            for node, _ in _with_consumers(output.root):
                if node.state is not None and id(node) not in seen:
                    seen.add(id(node))
                    of = f"{output.start}.{node.lowered_for}.{plan_digest(node.plan)}"
                    counts[of] = counts.get(of, 0) + 1
                    found[f"{of}.{counts[of]}"] = node
        return found

    def aggregates(self) -> dict[str, UserAggregate]:
        """Those of the user's own that are called."""
        nodes = (node for query in self.plan.queries for node in query.plan.walk())
        groupings = (node for node in nodes if isinstance(node, Grouping | GroupSynopsis))
        calls = (named.call for node in groupings for named in node.aggregates)
        return {call.user.name: call.user for call in calls if call.user is not None}

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
                assert isinstance(node.plan, Exchange) and node.source is not None
                below, strategy = node.plan.input, Strategy(node.source.split(".")[0])
                root = self._lowering(output.start, strategy).sent(below)
                self._add(Output(name, output.start, stage_of(below), root, exchange=node.plan))


def _name(start: int, node: PhysicalNode) -> str:
    return f"{start}.{node.source}"


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


class Metric(NamedTuple):
    """What an operator did in a batch on a shard."""

    stage: int
    shard: int
    operator: str
    rows_in: int
    rows_out: int
    state_rows: int
    state_bytes: int  # as written
    seconds: float


class Run:
    """One stage taken through a segment; parts that outputs share are computed once."""

    def __init__(
        self, inputs: Mapping[str, Batch], dictionary: Dictionary, segment: Segment, shard: Shard = ONLY_SHARD
    ) -> None:
        self._inputs = inputs
        self._shard = shard
        self._dictionary = dictionary
        self._segment = segment
        self._passes: dict[int, SegmentPass] = {}  # by the start of queries

    def of(self, output: Output) -> Batch:
        """What an output gives; a query that has not started yet, or that is another shard's, gives nothing."""
        begin = max(self._segment.begin, output.start)
        if begin >= self._segment.end or (self._shard.number and is_on_one_shard(output.root.plan)):
            return empty(output.root.plan.schema.types, self._dictionary)
        if output.start not in self._passes:
            received = partial(self._received, output.start)
            self._passes[output.start] = SegmentPass(self._segment._replace(begin=begin), received)
        return self._passes[output.start].changes(output.root)

    def metrics(self, stage: int, sizes: Mapping[int, int]) -> list[Metric]:
        """What every operator did; sizes of states, by the ids of their nodes."""
        return [
            Metric(
                stage,
                self._shard.number,
                _label(node),
                rows_in,
                rows_out,
                0 if node.state is None else len(node.state),
                sizes.get(id(node), 0),
                seconds,
            )
            for through in self._passes.values()
            for node, rows_in, rows_out, seconds in through.steps
        ]

    def _received(self, start: int, node: PhysicalNode) -> Batch:
        """Rows of an exchange are kept apart by start, those of sources are for all."""
        assert node.source is not None
        for name in (f"{start}.{node.source}", node.source):
            if name in self._inputs:
                return _not_before(self._inputs[name], start, node.plan)
        return empty(_types(node), self._dictionary)


def _types(node: PhysicalNode) -> tuple[Type, ...]:
    """Of the rows of a source; closings have the columns that are closed."""
    if isinstance(node.plan, Stream) and node.source == closings_of(node.plan.name):
        by_name = {field.name: field.type for field in node.plan.columns}
        return tuple(by_name[name] for name in node.plan.punctuated)
    return node.plan.schema.types


def _not_before(rows: Batch, start: int, plan: Node) -> Batch:
    """A table's changes before a query started are there from its start on."""
    if not isinstance(plan, Table) or not len(rows) or rows.ts[0] >= start:
        return rows
    return rows.with_lifetimes(np.maximum(rows.ts, start if plan.retroactive else start - 1), rows.exp)


def _label(node: PhysicalNode) -> str:
    return f"{type(node.operator).__name__} {describe_operator(node.plan)}"
