"""The queries of the local engine, from their start until they are dropped, each taken through its own time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa

from windrow.catalog import QueryEntry
from windrow.errors import WindrowError
from windrow.plan.analysis.relations import streams_of
from windrow.plan.nodes import Node
from windrow.runtime.health import Failing, not_aside, query_aside
from windrow.runtime.local.dataflow import Dataflow
from windrow.runtime.local.final_rows import FinalRows, SourcesNow
from windrow.runtime.local.inputs import Inputs
from windrow.runtime.local.lookups import Lookups
from windrow.runtime.local.query import LocalQuery
from windrow.runtime.local.query_life import QueryLife
from windrow.runtime.local.queued_feed import Wait
from windrow.runtime.local.starts import Starts
from windrow.runtime.lookups.answering import LookedUp, answer_at, newest_answer
from windrow.runtime.lookups.lookup_query import LookupQuery
from windrow.runtime.outputs.feed import LOG, described
from windrow.runtime.outputs.feeder import Feeder, raise_first
from windrow.runtime.outputs.sinks import receiver_of, sink_form, sink_of
from windrow.runtime.progress import Progress
from windrow.runtime.readers import Reader, Streams, reader_of
from windrow.runtime.stepping import Passes
from windrow.runtime.stream_statistics import StreamStatistics
from windrow.runtime.streams.stream_reports import EngineProgress
from windrow.session import Session
from windrow.sharing.lookups import covered
from windrow.sharing.starting import PreparedQuery, StartingQuery
from windrow.units import BEGINNING, FOREVER

MOST_CHANGES, FEWEST_CHANGES = 1_000_000, 1_000  # of a query, for looking at afterwards
CHANGES_OF_ALL = 10_000_000  # queries


class RunningQueries:
    def __init__(self, session: Session, dataflow: Dataflow, inputs: Inputs) -> None:
        self.by_name: dict[str, LocalQuery | LookupQuery] = {}  # in lower case
        self._readers: dict[str, Reader] = {}
        self._aside: dict[str, Failing] = {}
        self._session, self._dataflow, self._inputs = session, dataflow, inputs
        self._lookups = Lookups(dataflow, inputs.dictionary, session)
        self._starts = Starts(session, dataflow, self._lookups, inputs.dictionary)
        self.started = self._starts.started
        self._statistics = StreamStatistics(session.catalog)
        session.completeness = self._starts.completeness

    def start(self, entry: QueryEntry) -> None:
        """With the next segment."""
        assert entry.plan is not None, entry
        starting, reader = self._begin(entry, entry.plan)
        plan, explain = starting.optimized, partial(self._session.explain_query, entry.name, entry.plan)
        if entry.is_on_lookup:
            answers = partial(self._answer_at, starting.name), partial(self._newest_answer, starting.name)
            watermark = partial(self._inputs.watermark_of, reader.streams)
            self.by_name[starting.name] = LookupQuery(entry.name, plan, watermark, *answers, explain)
            return
        query = LocalQuery(self._inputs, self.changelog_limit, entry.name, plan, reader, explain)
        query.life = QueryLife(entry.until, entry.lasting)
        self.by_name[starting.name] = query
        if entry.sink is not None and entry.sink.name != "memory":
            receiver = receiver_of(entry.sink, "sink", entry.name)
            query.feed(receiver, sink_of(entry.sink, entry.name), sink_form(entry.sink, plan, query.slide))

    def _begin(self, entry: QueryEntry, plan: Node) -> tuple[StartingQuery, Reader]:
        start = self._inputs.progress.start_after(streams_of(plan))
        has_own_start = entry.is_on_lookup or entry.starting_now
        identity = start if has_own_start else BEGINNING  # what is told is shared whenever queries come
        starting = self._session.starting(entry.name.lower(), plan, identity)
        reader = reader_of(starting.optimized, start)
        self._starts.add(starting)
        self._readers[starting.name] = reader
        return starting, reader

    def remove(self, name: str) -> None:
        """If there is one of this name."""
        if (query := self.by_name.pop(name, None)) is not None:
            self._aside.pop(name, None)
            self._end(name)
            for feeder in query.feeders() if isinstance(query, LocalQuery) else ():
                feeder.close()

    def _end(self, name: str) -> None:
        """Nothing is computed for a query any more."""
        self._readers.pop(name, None)
        self._dataflow.remove(name)
        self._lookups.remove(name)
        self._starts.remove(name)

    def _set_aside(self, name: str, error: Exception, until: int) -> None:
        """A query above an operator that has raised; its answers before `until` stand."""
        query = self.by_name[name]
        self._end(name)
        self._aside[name] = query_aside(query.name, self._inputs.clock.now(), described(error))
        LOG.warning("query %s is set aside: %s", query.name, described(error))
        if isinstance(query, LocalQuery):
            query.set_aside(until)

    def resume(self, query: str) -> None:
        """Take up a query that was set aside, as if it were new: with the rows that come from now on."""
        entry = self._session.catalog.get(query)
        if entry is None or entry.name.lower() not in self._aside:
            raise not_aside(query, [aside.name for aside in self._aside.values()])
        assert isinstance(entry, QueryEntry) and entry.plan is not None
        del self._aside[entry.name.lower()]
        starting, reader = self._begin(entry, entry.plan)
        running = self.by_name[starting.name]
        if isinstance(running, LocalQuery):
            running.resume(reader)

    def over(self) -> list[str]:
        """The queries whose streams have come to their end, by UNTIL or FOR; those that others read stay."""
        progress, users = self._inputs.progress, self._session.catalog.users
        told = [(name, self.by_name[name], reader) for name, reader in self._readers.items() if not users(name)]
        ends = [(name, q.life.end(progress, reader), q) for name, q, reader in told if isinstance(q, LocalQuery)]
        return [name for name, end, query in ends if end != FOREVER and query.watermark >= end]

    def readers(self) -> list[Reader]:
        """The queries as time sees them; streams that none of them reads are not waited for."""
        kept = (Reader(frozenset((stream,)), frozenset(), BEGINNING) for stream in sorted(self._inputs.kept.streams))
        return [*self._readers.values(), *kept]

    def engine_progress(self) -> EngineProgress:
        """How far everybody is."""
        readers = {self.by_name[name].name: reader for name, reader in self._readers.items()}
        limit = self._session.catalog.waiting_limit
        return EngineProgress(self._inputs.progress, readers, self._dataflow.waiting(), limit)

    def streams_to_read(self) -> Streams:
        """All that queries read, but for those of which too much waits for others."""
        if not self._inputs.sources.names():
            return frozenset()
        return self.used_streams() - self.engine_progress().paused_streams()

    def used_streams(self) -> Streams:
        return self._inputs.kept.streams.union(*(reader.streams for reader in self.readers()))

    def advance(self) -> None:
        """Take what has become final through the dataflow."""
        before = self._inputs.progress
        final = self._inputs.advance(self.readers())
        if final is not None:
            self._statistics.observe(final.rows)
            self._take_up(before)
            self._step(final)
        elif before.furthest > BEGINNING:  # queries that come between rows have answers at once
            self._take_up(before)

    def _take_up(self, before: Progress) -> None:
        """The queries that wait, on what runs; nothing has been stepped since `before`."""
        if not self._starts.are_waiting:
            return
        now = SourcesNow(before, self._inputs.tables, self._inputs.kept, self._inputs.dictionary)
        for name, taken_up in self._starts.begin(now).items():
            query = self.by_name[name]
            assert isinstance(query, LocalQuery), query
            query.begin(taken_up)

    def _step(self, final: FinalRows) -> None:
        passes = Passes(final.moved.segment, final.received)
        for name, changes in self._dataflow.step(passes, _fed(self.by_name)).items():
            query, reader = self.by_name[name], self._readers[name]
            segment = final.moved.segment(reader.streams, reader.start)
            try:
                if isinstance(changes, Exception):
                    raise changes
                if isinstance(query, LocalQuery) and changes is not None:
                    query.hold(changes) if segment is None else query.take(changes, segment)
            except Exception as error:
                self._set_aside(name, error, query.watermark if segment is None else segment.begin)
        for stream in self._inputs.kept.streams:
            segment = final.moved.segment(frozenset((stream,)))
            if segment is not None:
                name = self._session.catalog.stream(stream).name
                self._inputs.kept.take(name, final.rows[name], segment)
        self._inputs.tables.forget(self.readers(), self._inputs.progress)
        self._lookups.poll()

    def deliver(self, now: bool = False, wait: Wait = Feeder.wait) -> None:
        """Hand over what queries have emitted and rows that were not taken; one who fails keeps nobody from theirs."""
        self._inputs.feeds.deliver(now, wait)
        for query in self._emitting():
            query.deliver(now, wait)
        raise_first(self.feeders())

    def feeders(self) -> list[Feeder]:
        """All that hand something over."""
        return [*self._inputs.feeds.feeders(), *(feeder for query in self._emitting() for feeder in query.feeders())]

    def _emitting(self) -> list[LocalQuery]:
        return [query for query in self.by_name.values() if isinstance(query, LocalQuery)]

    def aside(self) -> list[Failing]:
        """The queries that are set aside."""
        return list(self._aside.values())

    def health(self) -> Iterator[Failing]:
        """Which queries are set aside, and who does not take what is handed over."""
        yield from self.aside()
        yield from self._inputs.sources.failures.health()
        yield from self._inputs.reports.health(self.engine_progress())
        yield from self._inputs.feeds.health()
        for query in self._emitting():
            yield from query.health()

    def changelog_limit(self) -> int:
        """About how many tuples of the changelog of a query can be looked at afterwards."""
        emitting = max(1, len(self.by_name) - len(self._lookups.names))
        return min(MOST_CHANGES, max(FEWEST_CHANGES, CHANGES_OF_ALL // emitting))

    def lookup(self, cql: str, at: int | None) -> pa.Table:
        """The answer of a query that does not run, from a synopsis that is maintained for others."""
        synopses = self._starts.synopses()
        query = LookedUp(covered(self._session.plan(cql), list(synopses)), self._inputs.dictionary)
        watermark = self._inputs.progress.watermark_of(streams_of(query.synopsis))
        return answer_at(query, [synopses[query.synopsis]], watermark, at)

    def as_it_runs(self, name: str) -> PreparedQuery | None:
        return self._starts.query(name)

    def _answer_at(self, name: str, at: int | None) -> pa.Table:
        _check_runs(self._aside.get(name))
        query, synopsis = self._starts.looked_up(name)
        return answer_at(query, [synopsis], self.by_name[name].watermark, at)

    def _newest_answer(self, name: str) -> pa.Table:
        _check_runs(self._aside.get(name))
        query, synopsis = self._starts.looked_up(name)
        last_row = self._inputs.progress.last_row_of(self._readers[name].streams)
        return newest_answer(query, [synopsis], self.by_name[name].watermark, last_row)


def _check_runs(aside: Failing | None) -> None:
    if aside is not None:
        raise WindrowError(f"{aside.name} is set aside: {aside.message}", aside.hint)


def _fed(queries: Mapping[str, LocalQuery | LookupQuery]) -> list[str]:
    """Those that give something out as time goes on, also when no row comes."""
    return [name for name, query in queries.items() if isinstance(query, LocalQuery) and query.is_fed_by_time]
