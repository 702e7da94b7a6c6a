"""The dataflow: all queries of an engine as one graph of operators, each taken through its own time."""

from __future__ import annotations

from windrow.batch import Batch, Dictionary
from windrow.physical.lower import Lowering
from windrow.physical.physical_node import PhysicalNode
from windrow.plan.nodes import Node
from windrow.plan.strategy import Strategy
from windrow.runtime.stepping import Passes
from windrow.runtime.streams.holding import Waiting, waiting_in


class Dataflow:
    """Queries that start at the same time share equal parts of their plans, and so work and state."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._lowerings: dict[tuple[int, Strategy], Lowering] = {}
        self._starts: dict[str, tuple[int, Strategy]] = {}
        self.plans: dict[str, Node] = {}  # as they run
        self.roots: dict[str, PhysicalNode] = {}

    def add(self, name: str, plan: Node, start: int, strategy: Strategy) -> None:
        """A query from a time on; before the next step its plan can be replaced by adding it again."""
        lowering = self._lowerings.setdefault((start, strategy), Lowering(self._dictionary, strategy))
        self.roots[name] = lowering.lower(plan)
        self.plans[name] = plan
        self._starts[name] = start, strategy

    def add_to(self, name: str, other: str) -> None:
        """A query that takes what another one computes, for as long as either runs."""
        self.plans[name], self.roots[name], self._starts[name] = (
            self.plans[other],
            self.roots[other],
            self._starts[other],
        )

    def start_of(self, name: str) -> int:
        """Since when what a query computes has rows."""
        return self._starts[name][0]

    def started_with(self, name: str) -> dict[str, Node]:
        """The plans of all queries that may share parts with one, as they run; with its own."""
        return {other: plan for other, plan in self.plans.items() if self._starts[other] == self._starts.get(name)}

    def remove(self, name: str) -> None:
        self._starts.pop(name, None)
        self.plans.pop(name, None)
        self.roots.pop(name, None)  # one that is looked up has none before its first step

    def step(self, passes: Passes) -> dict[str, Batch | Exception | None]:
        """The changes of every query in what has become final for it; None when nothing has, or what was raised."""
        self._lowerings.clear()  # they know operators of queries that may be dropped
        return {name: self._changes(name, passes) for name in self.roots}

    def _changes(self, name: str, passes: Passes) -> Batch | Exception | None:
        try:
            return passes.changes(self.roots[name], self.start_of(name))
        except Exception as error:
            return error

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
        return sum(len(node.state) for node in self.operators() if node.state is not None) + self.held_rows()

    def held_rows(self) -> int:
        """What operators hold back of inputs that are ahead."""
        return sum(self.waiting().values())

    def waiting(self) -> Waiting:
        return waiting_in(self.operators())
