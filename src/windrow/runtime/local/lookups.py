"""Queries that are looked up, and the synopses of the running plan that they are looked up in.

Those that start together share; nothing has been kept for them before the first step, so that it is decided then.
"""

from __future__ import annotations

from collections.abc import Mapping

from windrow.batch import Dictionary
from windrow.operators.keep_join import JoinSummaries
from windrow.operators.keep_synopsis import Summaries
from windrow.optimizer.looked_up import synopsis_below
from windrow.physical.lower import Lowering
from windrow.physical.strategy import Strategy
from windrow.plan.nodes import KeptGroups, KeptJoin, KeptSynopsis, Node
from windrow.plan.rewrite import bottom_up
from windrow.runtime.held import Held, held_by
from windrow.runtime.local.dataflow import Dataflow
from windrow.runtime.lookups import LookedUp
from windrow.runtime.rechoosing import Rechoosing
from windrow.runtime.rechoosing_joins import RechoosingJoin
from windrow.session import Session


class Lookups:
    def __init__(self, dataflow: Dataflow, dictionary: Dictionary, session: Session) -> None:
        self._dataflow, self._dictionary, self._session = dataflow, dictionary, session
        self._new: dict[tuple[int, Strategy], dict[str, Node]] = {}
        self._queries: dict[str, LookedUp] = {}
        self._rechoosing: dict[KeptGroups, Rechoosing | RechoosingJoin] = {}

    @property
    def names(self) -> list[str]:
        """Those that have begun."""
        return list(self._queries)

    def add(self, name: str, plan: Node, start: int, strategy: Strategy) -> None:
        """A query from a time on."""
        self._new.setdefault((start, strategy), {})[name] = plan

    def remove(self, name: str) -> None:
        self._queries.pop(name, None)
        for plans in self._new.values():
            plans.pop(name, None)

    def begin(self) -> None:
        """What is new takes part in the next step."""
        for (start, strategy), plans in self._new.items():
            for name, plan in self._shared(plans).items():
                synopsis = synopsis_below(plan)
                self._queries[name] = LookedUp(plan, self._dictionary)
                self._dataflow.add(name, synopsis, start, strategy)
                self._watch(synopsis)
        self._new.clear()

    def look(self) -> None:
        """Change the form of synopses whose use has changed."""
        memory = self._session.catalog.synopsis_memory
        for synopsis, (_, state) in self._held().items():
            watching = self._rechoosing[synopsis]
            if isinstance(watching, Rechoosing):
                assert isinstance(state, Summaries), state
                if watching.look([state], memory):
                    watching.convert(state, self._dictionary)
            else:
                assert isinstance(state, JoinSummaries), state
                if watching.look([state], memory):
                    watching.convert(state)

    def _watch(self, synopsis: KeptGroups) -> None:
        if synopsis in self._rechoosing:
            return
        if isinstance(synopsis, KeptSynopsis):
            self._rechoosing[synopsis] = Rechoosing(synopsis)
        elif isinstance(synopsis, KeptJoin):
            self._rechoosing[synopsis] = RechoosingJoin(synopsis)

    def of(self, name: str) -> tuple[LookedUp, Held]:
        """A query, and where it is looked up; before the first step there is nothing to find."""
        if name in self._queries:
            return self._queries[name], held_by(self._dataflow.roots[name])
        plan = next(plans[name] for plans in self._new.values() if name in plans)
        (alone,) = self._session.looked_up([plan])
        return LookedUp(alone, self._dictionary), self._empty(alone)

    def synopses(self) -> dict[KeptGroups, Held]:
        """All that windows can be looked up in."""
        new = (plan for plans in self._new.values() for plan in self._shared(plans).values())
        return {synopsis_below(plan): self._empty(plan) for plan in new} | self._held()

    def plan_of(self, name: str) -> Node:
        """A query over its synopsis, as it is kept at present."""
        found, _ = self.of(name)
        kept = self._rechoosing.get(found.synopsis)
        if kept is None:
            return found.plan
        return bottom_up(found.plan, lambda node: kept.plan if isinstance(node, KeptGroups) else None)

    def _held(self) -> dict[KeptGroups, Held]:
        names = {query.synopsis: name for name, query in self._queries.items()}
        return {synopsis: held_by(self._dataflow.roots[name]) for synopsis, name in names.items()}

    def _shared(self, plans: Mapping[str, Node]) -> dict[str, Node]:
        return dict(zip(plans, self._session.looked_up(list(plans.values())), strict=True))

    def _empty(self, plan: Node) -> Held:
        return held_by(Lowering(self._dictionary).lower(synopsis_below(plan)))
