"""Queries of this process from their creation to their first step, when it is decided what they share."""

from __future__ import annotations

from windrow.batch import Dictionary
from windrow.physical.lower import Lowering
from windrow.plan.analysis.relations import streams_of
from windrow.plan.coverage import Coverage, time_text
from windrow.plan.nodes import Node
from windrow.plan.running_nodes import GroupSynopsis
from windrow.runtime.local.dataflow import Dataflow, TakenUp
from windrow.runtime.local.final_rows import SourcesNow
from windrow.runtime.local.lookups import Lookups
from windrow.runtime.lookups.answering import LookedUp
from windrow.runtime.lookups.maintained import MaintainedSynopsis
from windrow.session import Session
from windrow.sharing.lookups import synopsis_below
from windrow.sharing.starting import Plans, PreparedQuery, RunningQueryPlan, StartingQuery
from windrow.units import BEGINNING


class Starts:
    def __init__(self, session: Session, dataflow: Dataflow, lookups: Lookups, dictionary: Dictionary) -> None:
        self._session, self._dataflow, self._lookups = session, dataflow, lookups
        self._dictionary = dictionary
        self._waiting: dict[str, StartingQuery] = {}
        self._started: dict[str, StartingQuery] = {}
        self._coverage: dict[str, Coverage] = {}

    def add(self, query: StartingQuery) -> None:
        """A query that takes part from the next step on; one that cannot run is refused at once."""
        if not query.is_looked_up:
            Lowering(self._dictionary, query.strategy).lower(self._session.prepare([query])[query.name])
        self._waiting[query.name] = query

    def remove(self, name: str) -> None:
        self._waiting.pop(name, None)
        self._started.pop(name, None)
        self._coverage.pop(name, None)

    def begin(self, now: SourcesNow) -> dict[str, TakenUp]:
        """What queries share is known now: they are taken up."""
        plans = self.plans()
        running = self._lookups.running()
        taken_up = {}
        for name, plan in plans.items():
            query = self._waiting[name]
            if query.is_looked_up:
                self._lookups.begin(query, plan, running)
            else:
                created = now.progress.start_after(streams_of(plan))
                how = self._dataflow.take_up if query.start == BEGINNING else self._dataflow.take_up_alone
                taken_up[name] = how(name, plan, created, query.strategy, now)
                self._coverage[name] = taken_up[name].coverage
        self._started |= self._waiting
        self._waiting.clear()
        return taken_up

    @property
    def are_waiting(self) -> bool:
        return bool(self._waiting)

    def plans(self) -> Plans:
        """Of the queries that wait, as they will run."""
        if not self._waiting:
            return {}
        return self._session.prepare(self._waiting.values(), list(self._lookups.running()), self._running())

    def _running(self) -> list[RunningQueryPlan]:
        """Plans that have begun, the oldest first."""
        emitting = ((name, query) for name, query in self._started.items() if not query.is_looked_up)
        return [RunningQueryPlan(self._dataflow.plans[name], query.strategy) for name, query in emitting]

    def started(self) -> dict[str, RunningQueryPlan]:
        """All queries as they run or will run, the oldest first."""
        begun = {
            name: RunningQueryPlan(self._as_it_runs(name), query.strategy, query.start, self._dataflow.start_of(name))
            for name, query in self._started.items()
        }
        waiting = ((name, self._waiting[name], plan) for name, plan in self.plans().items())
        return begun | {name: RunningQueryPlan(plan, query.strategy, query.start) for name, query, plan in waiting}

    def looked_up(self, name: str) -> tuple[LookedUp, MaintainedSynopsis]:
        """A query that is looked up, and where; alone, as long as it waits."""
        waiting = self._waiting.get(name)
        if waiting is None:
            return self._lookups.of(name)
        return self._lookups.empty(self._session.prepare([waiting])[name])

    def synopses(self) -> dict[GroupSynopsis, MaintainedSynopsis]:
        """All that windows can be looked up in, what has rows from long ago first."""
        found = self._lookups.synopses()
        for name, plan in self.plans().items():
            if self._waiting[name].is_looked_up and synopsis_below(plan) not in found:
                found[synopsis_below(plan)] = self._lookups.empty(plan)[1]
        return found

    def query(self, name: str) -> PreparedQuery | None:
        """A query as it runs or will run, and those that it may share with."""
        query = self._waiting.get(name) or self._started.get(name)
        if query is None:
            return None
        others = {other: one.plan for other, one in self.started().items() if self._may_share(query, other, one)}
        return PreparedQuery(others, query.optimized, query.strategy, self._coverage.get(name))

    def _may_share(self, query: StartingQuery, other: str, plan: RunningQueryPlan) -> bool:
        """Operators are those of one strategy; queries that are looked up share a synopsis, whatever theirs are."""
        is_looked_up = self._started.get(other, query).is_looked_up
        if query.name in self._started and other in self._started and query.is_looked_up and is_looked_up:
            return self._lookups.of(query.name)[1].state is self._lookups.of(other)[1].state
        own = self._dataflow.start_of(query.name) if query.name in self._started else BEGINNING
        return plan.strategy is query.strategy and plan.own == own

    def completeness(self) -> dict[str, str]:
        """From when on queries are complete that came later than rows."""
        late = {name: one.complete_from for name, one in self._coverage.items() if one.complete_from != BEGINNING}
        return {name: time_text(complete) for name, complete in late.items()}

    def _as_it_runs(self, name: str) -> Node:
        return self._lookups.plan_of(name) if self._started[name].is_looked_up else self._dataflow.plans[name]
