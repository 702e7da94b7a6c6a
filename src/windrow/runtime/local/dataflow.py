"""The dataflow: all queries of an engine as one graph of operators, taken through time segment by segment."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.batch import Batch, Dictionary, Segment
from windrow.operators.keep_synopsis import KeepSynopsis, Summaries
from windrow.optimizer.looked_up import synopsis_below, with_lookups
from windrow.physical.lower import Lowering, PhysicalNode
from windrow.physical.shared_slices import with_shared_slices
from windrow.physical.strategy import Strategy
from windrow.plan.analysis.rates import Statistics
from windrow.plan.nodes import KeptSynopsis, Node
from windrow.plan.rewrite import bottom_up
from windrow.runtime.local.rechoosing import Rechoosing
from windrow.runtime.lookups import Held, LookedUp


class Dataflow:
    """Queries that start at the same time share equal parts of their plans, and so work and state."""

    def __init__(self, dictionary: Dictionary, statistics: Statistics) -> None:
        self._dictionary, self._statistics = dictionary, statistics
        self._lowerings: dict[tuple[int, Strategy], Lowering] = {}
        self._new: dict[tuple[int, Strategy], dict[str, Node]] = {}
        self._new_lookups: dict[tuple[int, Strategy], dict[str, Node]] = {}
        self._lookups: dict[str, LookedUp] = {}
        self._rechoosing: dict[int, Rechoosing] = {}  # by the ids of the nodes of synopses
        self.roots: dict[str, PhysicalNode] = {}

    def add(self, name: str, plan: Node, start: int, strategy: Strategy) -> None:
        """A query from a time on; what is older than the query is not in its windows, whoever else keeps it."""
        lowering = self._lowerings.setdefault((start, strategy), Lowering(self._dictionary, strategy))
        self.roots[name] = lowering.lower(plan)
        self._new.setdefault((start, strategy), {})[name] = plan

    def add_lookup(self, name: str, plan: Node, start: int, strategy: Strategy) -> None:
        """A query that is looked up, from a time on."""
        self._new_lookups.setdefault((start, strategy), {})[name] = plan

    def remove(self, name: str) -> None:
        self.roots.pop(name, None)
        self._lookups.pop(name, None)
        for plans in (*self._new.values(), *self._new_lookups.values()):
            plans.pop(name, None)

    def looked_up(self, name: str) -> tuple[LookedUp, Held]:
        """A query that is looked up, and where; before the first step there is nothing to find."""
        if name in self._lookups:
            return self._lookups[name], self._held(self.roots[name])
        plan = next(plans[name] for plans in self._new_lookups.values() if name in plans)
        (alone,) = with_lookups([plan], self._statistics)
        return LookedUp(alone, self._dictionary), self._empty(alone)

    def _empty(self, plan: Node) -> Held:
        return self._held(Lowering(self._dictionary).lower(synopsis_below(plan)))

    def synopses(self) -> dict[KeptSynopsis, Held]:
        """All that windows can be looked up in."""
        nodes = {id(root): root for name, root in self.roots.items() if name in self._lookups}
        found = {self._rechoosing[id(node)].plan: self._held(node) for node in nodes.values()}
        for plans in self._new_lookups.values():
            for plan in with_lookups(list(plans.values()), self._statistics):
                found.setdefault(synopsis_below(plan), self._empty(plan))
        return found

    def current_plan(self, name: str) -> Node:
        """A query that is looked up, with its synopsis as it is kept at present."""
        found, _ = self.looked_up(name)
        if name not in self._lookups:
            return found.plan
        now = self._rechoosing[id(self.roots[name])].plan
        return bottom_up(found.plan, lambda node: now if isinstance(node, KeptSynopsis) else None)

    def _held(self, node: PhysicalNode) -> Held:
        assert isinstance(node.operator, KeepSynopsis) and isinstance(node.state, Summaries), node
        return node.operator, node.state

    def _begin(self) -> None:
        """Queries that start together share slices; nothing has been kept for them yet, so they are lowered again."""
        for (start, strategy), plans in self._new.items():
            shared = with_shared_slices(list(plans.values())) if strategy is not Strategy.NT else None
            if shared is not None:
                lowering = self._lowerings[start, strategy] = Lowering(self._dictionary, strategy)
                self.roots |= {name: lowering.lower(plan) for name, plan in zip(plans, shared, strict=True)}
        self._new.clear()
        for (start, strategy), plans in self._new_lookups.items():
            lowering = self._lowerings.setdefault((start, strategy), Lowering(self._dictionary, strategy))
            self._begin_lookups(plans, lowering)
        self._new_lookups.clear()

    def _begin_lookups(self, plans: Mapping[str, Node], lowering: Lowering) -> None:
        for name, plan in zip(plans, with_lookups(list(plans.values()), self._statistics), strict=True):
            root = self.roots[name] = lowering.lower(synopsis_below(plan))
            self._lookups[name] = LookedUp(plan, self._dictionary)
            if id(root) not in self._rechoosing:
                _, state = self._held(root)
                self._rechoosing[id(root)] = Rechoosing(synopsis_below(plan), state, len(plans), self._dictionary)

    def step(self, inputs: Mapping[str, Batch], segment: Segment) -> dict[str, Batch]:
        """The changes of every query in a segment, given all rows of the sources in it."""
        self._begin()
        done: dict[int, Batch] = {}
        changes = {name: self._run(root, inputs, segment, done) for name, root in self.roots.items()}
        for one in self._rechoosing.values():
            one.look()
        return changes

    def _run(self, node: PhysicalNode, inputs: Mapping[str, Batch], segment: Segment, done: dict[int, Batch]) -> Batch:
        if id(node) not in done:
            if node.operator is None:
                assert node.source is not None, node
                done[id(node)] = inputs[node.source]
            else:
                below = [self._run(child, inputs, segment, done) for child in node.inputs]
                done[id(node)] = node.operator.step(node.state, below, segment).sorted_by_time()
        return done[id(node)]

    def operators(self) -> list[PhysicalNode]:
        """Every operator once, consumers before their inputs."""
        seen: dict[int, PhysicalNode] = {}
        waiting = list(self.roots.values())
        while waiting:
            node = waiting.pop()
            if id(node) not in seen:
                seen[id(node)] = node
                waiting.extend(node.inputs)
        return list(seen.values())

    def state_rows(self) -> int:
        return sum(len(node.state) for node in self.operators() if node.state is not None)
