"""What the driver decides when a version of the plan brings something new; it is logged with the plan.

An exchange over rows as they are read that nobody had before begins with the rows that are later than all that have
come: those before have been read, and were sent to others only. A query begins where all that is below it is through,
with what shards fill from what runs (`tasks/stage_filling`); since when its windows have their rows is worked out here.
Where something that runs cannot say what is alive, a query shares nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from windrow.batch import Batch, Dictionary, empty
from windrow.operators.operator import Remembers
from windrow.physical.physical_node import PhysicalNode, source_types
from windrow.plan.coverage import Covered
from windrow.runtime.filling import Filling
from windrow.runtime.progress import Progress
from windrow.runtime.shards.graph import Graph, Output, is_exchanged, query_output
from windrow.runtime.shards.running_plan import RunningPlan, RunningQuery

_OF_SOURCE = Covered()  # until it is known who reads it


def taken_up(plan: RunningPlan, before: RunningPlan, progress: Progress) -> RunningPlan:
    """The plan, with where its new queries begin, and since when everything has its rows."""
    new = _NewQueries(plan, before, progress)
    if apart := new.not_attaching():
        queries = (_apart(query, progress) if query.key in apart else query for query in new.plan.queries)
        new = _NewQueries(replace(new.plan, queries=tuple(queries)), before, progress)
    return new.covered()


class _NewQueries:
    def __init__(self, plan: RunningPlan, before: RunningPlan, progress: Progress) -> None:
        self._progress = progress
        known = {query.key for query in before.queries}
        self._new = [query.key for query in plan.queries if query.key not in known]
        graph = Graph(plan, Dictionary())
        since = {
            output.name: before.since.get(output.name, progress.after_all(output.streams))
            for output in graph.at_stage(0)
        }
        queries = (query if query.key in known else _begun(query, graph, since) for query in plan.queries)
        self.plan = replace(plan, queries=tuple(queries), since=since)
        self._graph = Graph(self.plan, Dictionary())
        for name, node in _states(self._graph):
            node.covered = before.covered.get(name)
            for source in (below for below in node.inputs if below.operator is None):
                source.covered = _OF_SOURCE

    def not_attaching(self) -> set[str]:
        """New queries above something that runs and cannot say what is alive."""
        return {query.key for query in self._taken() if not self._can_attach(query)}

    def covered(self) -> RunningPlan:
        coverage = {query.key: self._covered(query).coverage() for query in self._taken()}
        queries = (replace(query, coverage=coverage.get(query.key, query.coverage)) for query in self.plan.queries)
        states = {name: node.covered for name, node in _states(self._graph) if node.covered is not None}
        return replace(self.plan, queries=tuple(queries), covered=states)

    def _taken(self) -> Iterator[RunningQuery]:
        return (query for query in self.plan.queries if query.key in self._new)

    def _filling(self, query: RunningQuery) -> Filling:
        return Filling(self._progress, _nothing, start=query.start)

    def _can_attach(self, query: RunningQuery) -> bool:
        filling = self._filling(query)
        if query.is_apart or query.lookup is not None:
            return True
        waiting, seen = [self._graph.outputs[query_output(query)]], set[str]()
        while waiting:
            output = waiting.pop()
            if not filling.can_attach(output.root):
                return False
            names = set(_asked(output.root)) - seen
            seen |= names
            waiting += (self._graph.outputs[name] for name in names)
        return True

    def _covered(self, query: RunningQuery) -> Covered:
        """Stage by stage: what arrives is covered as what was sent is."""
        filling, own = self._filling(query), self._graph.outputs[query_output(query)]
        below = [self._graph.outputs[name] for name in self._graph.exchanges_below(own)]
        covered: dict[str, Covered] = {}
        for output in sorted((*below, own), key=lambda output: output.stage):
            for node in _sources(output):
                node.covered = covered[str(node.source)]
            covered[output.name] = filling.fill(output.root)
        return covered[own.name]


def _states(graph: Graph) -> Iterator[tuple[str, PhysicalNode]]:
    for stage in range(1, graph.plan.stages + 1):
        yield from graph.states(stage).items()


def _sources(output: Output) -> Iterator[PhysicalNode]:
    return (node for node in output.nodes() if is_exchanged(node))


def _asked(node: PhysicalNode) -> Iterator[str]:
    """The exchanges that are to say what is alive below them, when that is asked of a node."""
    if is_exchanged(node):
        yield str(node.source)
    elif node.operator is not None and (node.covered is None or node.operator.remembers is Remembers.THROUGH):
        for below in node.inputs:
            yield from _asked(below)


def _nothing(source: PhysicalNode, at: int | None) -> Batch:
    """Rows are on shards, not here."""
    return empty(source_types(source), Dictionary())


def _apart(query: RunningQuery, progress: Progress) -> RunningQuery:
    return replace(query, is_apart=True, start=max(query.start, progress.after_all(query.reader.streams)))


def _begun(query: RunningQuery, graph: Graph, since: Mapping[str, int]) -> RunningQuery:
    begins = (since[name] for name in graph.exchanges_below(graph.outputs[query_output(query)]) if name in since)
    return replace(query, start=max((query.start, *begins)))
