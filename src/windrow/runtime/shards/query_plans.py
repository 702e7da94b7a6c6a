"""How queries run on shards: their plans with exchanges, and what they share.

Those that start together share synopses and slices; one that is looked up and starts later shares what runs. It is
decided when a query starts, and is part of the running plan from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from windrow.catalog import QueryEntry
from windrow.physical.strategy import Strategy
from windrow.plan.nodes import Node, Stream
from windrow.runtime.modes import Mode, usual_mode
from windrow.runtime.refreshes import refresh_slide
from windrow.runtime.shards.running import RunningQuery
from windrow.runtime.sinks import sink_form
from windrow.session import Session
from windrow.sharing.exchanges import distributed, distributed_lookup
from windrow.sharing.lookups import over_running, synopsis_below
from windrow.sharing.prepare import running_together
from windrow.units import BEGINNING


class QueryPlans:
    def __init__(self, session: Session) -> None:
        self._session = session

    def running(self, entry: QueryEntry, number: int, newest: Callable[[str], int]) -> RunningQuery:
        """A query that starts with the next batch: with the rows that are later than all that have come."""
        assert entry.plan is not None
        optimized = self._session.optimized(entry.plan)
        last = max((newest(name) for name in _streams_of(optimized)), default=BEGINNING)
        start = BEGINNING if last == BEGINNING else last + 1
        if entry.is_on_lookup:
            (plan,) = self._session.looked_up([optimized])
            return _looking_up(RunningQuery(entry.name, plan, start, self._strategy, statement=number), plan)
        slide = refresh_slide(optimized)
        form = sink_form(entry.sink, optimized, slide)
        plan = self.spread(entry.name, optimized)
        forms = () if form.mode in (Mode.CHANGELOG, usual_mode(slide)) else (form,)
        return RunningQuery(entry.name, plan, start, self._strategy, slide, entry.sink, number, forms)

    def spread(self, query: str | None, optimized: Node) -> Node:
        """The plan of a query alone, with exchanges."""
        entry = None if query is None else self._session.catalog.get(query)
        if isinstance(entry, QueryEntry) and entry.is_on_lookup:
            return distributed_lookup(optimized, self._strategy)
        (plan,) = self._together([optimized], self._strategy)
        return self._placed(query, plan, self._strategy)

    def sharing(self, queries: Sequence[RunningQuery], new: Sequence[RunningQuery]) -> Iterator[RunningQuery]:
        """Queries, of which new ones share synopses and slices for as long as they run."""
        numbers = {query.statement for query in new}
        shared = self._looked_up_in([query for query in queries if query.statement not in numbers], new)
        together: dict[tuple[int, Strategy, bool], list[RunningQuery]] = {}
        for query in new:
            if query.statement not in shared:
                together.setdefault((query.start, query.strategy, query.lookup is not None), []).append(query)
        for (_, strategy, is_lookup), members in together.items():
            found = self._looking_up(members) if is_lookup else self._slicing(members, strategy)
            shared |= {query.statement: query for query in found}
        return (shared.get(query.statement, query) for query in queries)

    def _looked_up_in(self, running: Sequence[RunningQuery], new: Sequence[RunningQuery]) -> dict[int, RunningQuery]:
        """New queries that a synopsis which runs covers: the same plan from the same start, asked for less."""
        synopses = {synopsis_below(query.lookup): query for query in running if query.lookup is not None}
        asking = [query for query in new if query.lookup is not None]
        shared: dict[int, RunningQuery] = {}
        for query, optimized in zip(asking, self._optimized(asking), strict=True):
            lookup = over_running(optimized, query.start, synopses.keys())
            if lookup is not None:
                of = synopses[synopsis_below(lookup)]
                running_as = replace(query, plan=of.plan, start=of.start, strategy=of.strategy, lookup=lookup)
                shared[query.statement] = running_as
        return shared

    def _looking_up(self, members: Sequence[RunningQuery]) -> Iterator[RunningQuery]:
        plans = self._session.looked_up(self._optimized(members))
        return (_looking_up(query, plan) for query, plan in zip(members, plans, strict=True))

    def _slicing(self, members: Sequence[RunningQuery], strategy: Strategy) -> Iterator[RunningQuery]:
        plans = self._together(self._optimized(members), strategy)
        for query, plan in zip(members, plans, strict=True):
            yield replace(query, plan=self._placed(query.name, plan, strategy))

    def _optimized(self, members: Sequence[RunningQuery]) -> list[Node]:
        entries = [self._session.catalog.get(query.name) for query in members]
        plans = [entry.plan for entry in entries if isinstance(entry, QueryEntry) and entry.plan is not None]
        return [self._session.optimized(plan) for plan in plans]

    def _together(self, plans: Sequence[Node], strategy: Strategy) -> list[Node]:
        catalog = self._session.catalog
        return running_together(plans, strategy, catalog.statistics, catalog.setting("optimizer") == "on")

    def _placed(self, query: str | None, plan: Node, strategy: Strategy) -> Node:
        """Rows for upserts meet by their key."""
        entry = None if query is None else self._session.catalog.get(query)
        form = sink_form(entry.sink if isinstance(entry, QueryEntry) else None, plan, refresh_slide(plan))
        return distributed(plan, strategy, form.key if form.mode is Mode.UPSERT else None)

    @property
    def _strategy(self) -> Strategy:
        return Strategy(self._session.catalog.setting("strategy"))


def _looking_up(query: RunningQuery, plan: Node) -> RunningQuery:
    """What runs is the synopsis; the rest is computed when somebody asks."""
    lookup = distributed_lookup(plan, query.strategy)
    return replace(query, plan=synopsis_below(lookup), lookup=lookup)


def _streams_of(plan: Node) -> set[str]:
    return {node.name.lower() for node in plan.walk() if isinstance(node, Stream)}
