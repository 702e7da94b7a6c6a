"""Queries that are looked up, and the synopses of the running plan that they are looked up in.

A synopsis stays as long as anybody is looked up in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from windrow.batch import Dictionary
from windrow.operators.synopses.maintained import SynopsisState
from windrow.physical.lower import Lowering
from windrow.plan.nodes import Node
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import GroupSynopsis
from windrow.runtime.local.dataflow import Dataflow
from windrow.runtime.lookups.answering import LookedUp
from windrow.runtime.lookups.maintained import MaintainedSynopsis, maintained_by
from windrow.runtime.lookups.rechoosing import Rechoosing, rechoosing_of
from windrow.session import Session
from windrow.sharing.lookups import is_over_running, synopsis_below
from windrow.sharing.starting import StartingQuery


class Lookups:
    def __init__(self, dataflow: Dataflow, dictionary: Dictionary, session: Session) -> None:
        self._dataflow, self._dictionary, self._session = dataflow, dictionary, session
        self._queries: dict[str, LookedUp] = {}
        self._watching: WeakKeyDictionary[SynopsisState, Rechoosing] = WeakKeyDictionary()

    @property
    def names(self) -> list[str]:
        """Those that have begun."""
        return list(self._queries)

    def begin(self, query: StartingQuery, plan: Node, running: Mapping[GroupSynopsis, str]) -> None:
        """A query takes part from the next step on, over a synopsis that is `running` or starts with it."""
        self._queries[query.name] = LookedUp(plan, self._dictionary)
        synopsis = synopsis_below(plan)
        if is_over_running(plan, query.start, running):
            self._dataflow.add_to(query.name, running[synopsis])
        else:
            self._dataflow.add(query.name, synopsis, query.start, query.strategy)

    def remove(self, name: str) -> None:
        self._queries.pop(name, None)

    def poll(self) -> None:
        """Change the form of synopses whose use has changed."""
        memory = self._session.catalog.synopsis_memory
        kept = {id(self._dataflow.roots[name]): name for name in self._queries}
        for name in kept.values():
            found, (_, state) = self.of(name)
            watching = self._watching.setdefault(state, rechoosing_of(found.synopsis))
            if watching.poll([state], memory):
                maintained_by(Lowering(self._dictionary).lower(watching.plan)).operator.convert(state)

    def of(self, name: str) -> tuple[LookedUp, MaintainedSynopsis]:
        """A query that has begun, and where it is looked up."""
        return self._queries[name], maintained_by(self._dataflow.roots[name])

    def empty(self, plan: Node) -> tuple[LookedUp, MaintainedSynopsis]:
        """A query before its first step: there is nothing to find."""
        return LookedUp(plan, self._dictionary), maintained_by(Lowering(self._dictionary).lower(synopsis_below(plan)))

    def synopses(self) -> dict[GroupSynopsis, MaintainedSynopsis]:
        """All that windows can be looked up in, what has rows from long ago first."""
        return {synopsis: maintained_by(self._dataflow.roots[name]) for synopsis, name in self.running().items()}

    def plan_of(self, name: str) -> Node:
        """A query over its synopsis, as it is kept at present."""
        found, (_, state) = self.of(name)
        kept = self._watching.get(state)
        if kept is None:
            return found.plan
        return bottom_up(found.plan, lambda node: kept.plan if isinstance(node, GroupSynopsis) else None)

    def running(self) -> dict[GroupSynopsis, str]:
        """The synopses that are kept, the oldest first, and of equal ones the oldest; each with a query over it."""
        found: dict[GroupSynopsis, str] = {}
        for name in sorted(self._queries, key=self._dataflow.start_of):
            found.setdefault(self._queries[name].synopsis, name)
        return found
