"""How queries run on shards: what `sharing/` makes of them when they start is part of the running plan from then on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from windrow.catalog import QueryEntry
from windrow.plan.analysis.relations import streams_of
from windrow.plan.nodes import Node
from windrow.plan.running_nodes import GroupSynopsis
from windrow.runtime.modes import Mode, default_mode
from windrow.runtime.outputs.sinks import sink_form
from windrow.runtime.progress import Progress
from windrow.runtime.refreshes import refresh_slide
from windrow.runtime.shards.running_plan import RunningQuery
from windrow.session import Session
from windrow.sharing.lookups import is_over_running, synopsis_below
from windrow.sharing.starting import RunningQueryPlan, StartingQuery


class QueryPlans:
    def __init__(self, session: Session) -> None:
        self._session = session

    def running(self, entry: QueryEntry, number: int, progress: Progress) -> RunningQuery:
        """A query that starts with the next batch, alone."""
        starting = self._starting(entry)
        streams = streams_of(starting.optimized)
        is_apart = entry.is_on_lookup or entry.starting_now
        start = progress.after_all(streams) if is_apart else progress.start_after(streams)
        if entry.is_on_lookup:
            starting = replace(starting, start=start)
        plan, slide = self._session.prepare([starting])[starting.name], refresh_slide(starting.optimized)
        query = RunningQuery(entry.name, plan, start, starting.strategy, statement=number, is_apart=is_apart)
        if entry.is_on_lookup:
            return replace(query, plan=synopsis_below(plan), lookup=plan)
        form = sink_form(entry.sink, starting.optimized, slide)
        forms = () if form.mode in (Mode.CHANGELOG, default_mode(slide)) else (form,)
        return replace(query, slide=slide, sink=entry.sink, forms=forms)

    def sharing(self, queries: Sequence[RunningQuery], new: Sequence[RunningQuery]) -> Iterator[RunningQuery]:
        """Queries, of which new ones share with each other, and with what runs."""
        numbers = {query.statement for query in new}
        running = (query for query in queries if query.lookup is not None and query.statement not in numbers)
        synopses = {synopsis_below(query.lookup): query for query in running if query.lookup is not None}
        beside = [
            RunningQueryPlan(q.plan, q.strategy) for q in queries if q.lookup is None and q.statement not in numbers
        ]
        plans = self._session.prepare(map(self._starting_again, new), list(synopses), beside) if new else {}
        for query in queries:
            if query.statement not in numbers:
                yield query
            elif query.lookup is None:
                yield replace(query, plan=plans[query.name.lower()])
            else:
                yield _over_synopsis(query, plans[query.name.lower()], synopses)

    def _starting_again(self, query: RunningQuery) -> StartingQuery:
        entry = self._session.catalog.get(query.name)
        assert isinstance(entry, QueryEntry), query
        starting = replace(self._starting(entry), strategy=query.strategy)
        return replace(starting, start=query.start) if query.lookup is not None else starting

    def _starting(self, entry: QueryEntry) -> StartingQuery:
        assert entry.plan is not None, entry
        return self._session.starting(entry.name.lower(), entry.plan)


def _over_synopsis(query: RunningQuery, lookup: Node, running: Mapping[GroupSynopsis, RunningQuery]) -> RunningQuery:
    """What runs is the synopsis, its own or that of a query before it; the rest is computed when somebody asks."""
    synopsis = synopsis_below(lookup)
    if not is_over_running(lookup, query.start, running):
        return replace(query, plan=synopsis, lookup=lookup)
    of = running[synopsis]
    return replace(query, plan=of.plan, start=of.start, strategy=of.strategy, lookup=lookup)
