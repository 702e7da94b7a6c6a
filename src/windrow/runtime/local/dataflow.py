"""The dataflow: all queries of an engine as one graph of operators, each taken through its own time.

An operator is there once, whenever the queries that read it came: one that comes later is put on those that run, and
what is new of it is filled (`runtime/filling`). When nobody reads an operator any more, it is gone with its state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from windrow.batch import Batch, Dictionary
from windrow.physical.lower import Lowering
from windrow.physical.physical_node import PhysicalNode
from windrow.plan.coverage import Coverage
from windrow.plan.kept_windows import conditions_of
from windrow.plan.nodes import Node
from windrow.plan.strategy import Strategy
from windrow.runtime.filling import Filling
from windrow.runtime.local.final_rows import SourcesNow
from windrow.runtime.local.indexed_queries import IndexedQueries
from windrow.runtime.stepping import Passes
from windrow.runtime.streams.holding import Waiting, waiting_in
from windrow.units import BEGINNING


class TakenUp(NamedTuple):
    """What a query begins with: the answer as of its creation, and since when its windows have their rows."""

    answer: Batch
    coverage: Coverage


class Dataflow:
    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._lowerings: dict[tuple[int, Strategy], Lowering] = {}
        self._starts: dict[str, tuple[int, Strategy]] = {}
        self._readers: Counter[int] = Counter()  # by the id of a node: how many queries need it
        self.plans: dict[str, Node] = {}  # as they run
        self.roots: dict[str, PhysicalNode] = {}
        self.indexed = IndexedQueries()

    def take_up(self, name: str, plan: Node, created: int, strategy: Strategy, now: SourcesNow) -> TakenUp:
        """A query on what runs; where that cannot say what is alive, on operators of its own from its creation on."""
        root = self._lowering(BEGINNING, strategy).lower(plan)
        filling = Filling(now.progress, now.of_source, now.kept_rows, conditions_of(plan))
        if filling.can_attach(root):
            self._keep(name, plan, root, BEGINNING, strategy)
            covered = filling.fill(root)
            return TakenUp(filling.alive(root), covered.coverage())
        self._lowering(BEGINNING, strategy).forget(node for node in _nodes(root) if not self._readers[id(node)])
        self._tidy(BEGINNING)
        return self.take_up_alone(name, plan, created, strategy, now)

    def take_up_alone(self, name: str, plan: Node, created: int, strategy: Strategy, now: SourcesNow) -> TakenUp:
        """A query on operators that have rows from its creation on, shared with those that were created then."""
        self.add(name, plan, created, strategy)
        filling = Filling(now.progress, now.of_source, start=created)
        covered = filling.fill(self.roots[name])
        return TakenUp(filling.alive(self.roots[name]), covered.coverage())

    def add(self, name: str, plan: Node, start: int, strategy: Strategy) -> None:
        """A query on operators that have rows from a time on."""
        self._keep(name, plan, self._lowering(start, strategy).lower(plan), start, strategy)

    def add_to(self, name: str, other: str) -> None:
        """A query that takes what another one computes, for as long as either runs."""
        self._keep(name, self.plans[other], self.roots[other], *self._starts[other])

    def _keep(self, name: str, plan: Node, root: PhysicalNode, start: int, strategy: Strategy) -> None:
        self.plans[name], self.roots[name], self._starts[name] = plan, root, (start, strategy)
        self._readers.update(map(id, _nodes(root)))
        self.indexed.add(name, root, start)

    def start_of(self, name: str) -> int:
        """Since when what a query computes has rows."""
        return self._starts[name][0]

    def remove(self, name: str) -> None:
        """A query that has been taken up, if it has; what nobody else reads is forgotten."""
        root = self.roots.pop(name, None)
        if root is None:
            return
        self.indexed.remove(name)
        del self.plans[name]
        start, strategy = self._starts.pop(name)
        nodes = list(_nodes(root))
        self._readers.subtract(map(id, nodes))
        gone = [node for node in nodes if not self._readers[id(node)]]
        for node in gone:
            del self._readers[id(node)]
        self._lowerings[start, strategy].forget(gone)
        self._tidy(start)

    def _tidy(self, start: int) -> None:
        """Forget lowerings that know nothing; NT lowers some parts as UPA does."""
        for strategy in (Strategy.NT, Strategy.UPA, Strategy.DIRECT):
            lowering = self._lowerings.get((start, strategy))
            is_used = strategy is Strategy.UPA and (start, Strategy.NT) in self._lowerings
            if lowering is not None and not len(lowering) and not is_used:
                del self._lowerings[start, strategy]

    def _lowering(self, start: int, strategy: Strategy) -> Lowering:
        if (start, strategy) not in self._lowerings:
            direct = None if strategy is not Strategy.NT else self._lowering(start, Strategy.UPA)
            self._lowerings[start, strategy] = Lowering(self._dictionary, strategy, direct)
        return self._lowerings[start, strategy]

    def step(self, passes: Passes, fed: Collection[str] = ()) -> dict[str, Batch | Exception | None]:
        """The changes of every query in what has become final for it; None when nothing has, or what was raised.

        Those that only select, and have no rows, are left out, unless they are `fed` as time goes on.
        """
        asleep = self.indexed
        waking = {*asleep.with_rows(passes), *fed}
        changes = {name: self._changes(name, passes) for name in self.roots if name not in asleep or name in waking}
        asleep.sleep(waking)
        return changes

    def _changes(self, name: str, passes: Passes) -> Batch | Exception | None:
        try:
            return passes.changes(self.roots[name], self.start_of(name))
        except Exception as error:
            return error

    def operators(self) -> list[PhysicalNode]:
        """Every operator once, consumers before their inputs."""
        return list(_nodes(*self.roots.values()))

    def state_rows(self) -> int:
        return sum(len(node.state) for node in self.operators() if node.state is not None) + self.held_rows()

    def held_rows(self) -> int:
        """What operators hold back of inputs that are ahead."""
        return sum(self.waiting().values())

    def waiting(self) -> Waiting:
        return waiting_in(self.operators())


def _nodes(*roots: PhysicalNode) -> Iterator[PhysicalNode]:
    """Every node of some roots once, consumers before their inputs."""
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            waiting.extend(node.inputs)
            yield node
