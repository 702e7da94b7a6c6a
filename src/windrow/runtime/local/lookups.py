"""Queries that are looked up, and the synopses of the running plan that they are looked up in.

Those that start together share; nothing has been kept for them before the first step, so that it is decided then. One
that starts later is looked up in a synopsis that runs and covers it, which stays as long as anybody is looked up in it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from weakref import WeakKeyDictionary

from windrow.batch import Dictionary
from windrow.operators.synopses.maintain_join import JoinSummaries
from windrow.operators.synopses.maintain_synopsis import Summaries
from windrow.physical.lower import Lowering
from windrow.physical.strategy import Strategy
from windrow.plan.nodes import Node
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import GroupSynopsis
from windrow.runtime.local.dataflow import Dataflow
from windrow.runtime.lookups.answering import LookedUp
from windrow.runtime.lookups.held import Held, held_by
from windrow.runtime.lookups.rechoosing import Rechoosing
from windrow.runtime.lookups.rechoosing_joins import RechoosingJoin, rechoosing_of
from windrow.session import Session
from windrow.sharing.lookups import over_running, synopsis_below


class Lookups:
    def __init__(self, dataflow: Dataflow, dictionary: Dictionary, session: Session) -> None:
        self._dataflow, self._dictionary, self._session = dataflow, dictionary, session
        self._new: dict[tuple[int, Strategy], dict[str, Node]] = {}
        self._queries: dict[str, LookedUp] = {}
        self._watching: WeakKeyDictionary[Summaries | JoinSummaries, Rechoosing | RechoosingJoin] = WeakKeyDictionary()

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
        running = self._running()
        for (start, strategy), plans in self._new.items():
            later = self._later(plans, start, running)
            for name, plan in later.items():
                self._queries[name] = LookedUp(plan, self._dictionary)
                self._dataflow.add_to(name, running[synopsis_below(plan)])
            first = {name: plan for name, plan in plans.items() if name not in later}
            for name, plan in self._shared(first).items():
                self._queries[name] = LookedUp(plan, self._dictionary)
                self._dataflow.add(name, synopsis_below(plan), start, strategy)
        self._new.clear()

    def look(self) -> None:
        """Change the form of synopses whose use has changed."""
        memory = self._session.catalog.synopsis_memory
        kept = {id(self._dataflow.roots[name]): name for name in self._queries}
        for name in kept.values():
            found, (_, state) = self.of(name)
            watching = self._watching.setdefault(state, rechoosing_of(found.synopsis))
            if isinstance(watching, Rechoosing):
                assert isinstance(state, Summaries), state
                if watching.look([state], memory):
                    watching.convert(state, self._dictionary)
            else:
                assert isinstance(state, JoinSummaries), state
                if watching.look([state], memory):
                    watching.convert(state)

    def of(self, name: str) -> tuple[LookedUp, Held]:
        """A query, and where it is looked up; before the first step there is nothing to find."""
        if name in self._queries:
            return self._queries[name], held_by(self._dataflow.roots[name])
        plan = next(plans[name] for plans in self._new.values() if name in plans)
        (alone,) = self._session.looked_up([plan])
        return LookedUp(alone, self._dictionary), self._empty(alone)

    def synopses(self) -> dict[GroupSynopsis, Held]:
        """All that windows can be looked up in, what has rows from long ago first."""
        running = self._running()
        split = ((plans, self._later(plans, start, running)) for (start, _), plans in self._new.items())
        first = [{name: plan for name, plan in plans.items() if name not in later} for plans, later in split]
        new = (plan for plans in first for plan in self._shared(plans).values())
        held = {synopsis: held_by(self._dataflow.roots[name]) for synopsis, name in running.items()}
        return held | {kept: self._empty(plan) for plan in new if (kept := synopsis_below(plan)) not in held}

    def plan_of(self, name: str) -> Node:
        """A query over its synopsis, as it is kept at present."""
        found, (_, state) = self.of(name)
        kept = self._watching.get(state)
        if kept is None:
            return found.plan
        return bottom_up(found.plan, lambda node: kept.plan if isinstance(node, GroupSynopsis) else None)

    def _running(self) -> dict[GroupSynopsis, str]:
        """The synopses that are kept, the oldest first, and of equal ones the oldest; each with a query over it."""
        found: dict[GroupSynopsis, str] = {}
        for name in sorted(self._queries, key=self._dataflow.start_of):
            found.setdefault(self._queries[name].synopsis, name)
        return found

    def _later(self, plans: Mapping[str, Node], start: int, running: Collection[GroupSynopsis]) -> dict[str, Node]:
        """Those that are looked up in what runs."""
        found = {name: over_running(plan, start, running) for name, plan in plans.items()}
        return {name: plan for name, plan in found.items() if plan is not None}

    def _shared(self, plans: Mapping[str, Node]) -> dict[str, Node]:
        return dict(zip(plans, self._session.looked_up(list(plans.values())), strict=True))

    def _empty(self, plan: Node) -> Held:
        return held_by(Lowering(self._dictionary).lower(synopsis_below(plan)))
