"""The queries of the local engine, from their start until they are dropped, each taken through its own time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain

import pyarrow as pa

from windrow.catalog import QueryEntry
from windrow.plan.analysis.relations import streams_of
from windrow.runtime.health import Failing
from windrow.runtime.local.dataflow import Dataflow
from windrow.runtime.local.final_rows import FinalRows
from windrow.runtime.local.inputs import Inputs
from windrow.runtime.local.lookups import Lookups
from windrow.runtime.local.query import LocalQuery
from windrow.runtime.local.starts import Starts
from windrow.runtime.lookups.answering import LookedUp, answer_at, newest_answer
from windrow.runtime.lookups.lookup_query import LookupQuery
from windrow.runtime.outputs.feed import give_all
from windrow.runtime.outputs.sinks import receiver_of, sink_form, sink_of
from windrow.runtime.readers import Reader, Streams, reader_of
from windrow.runtime.stepping import Passes
from windrow.runtime.stream_statistics import StreamStatistics
from windrow.session import Session
from windrow.sharing.lookups import covered
from windrow.sharing.starting import PreparedQuery

MOST_CHANGES, FEWEST_CHANGES = 1_000_000, 1_000  # of a query, for looking at afterwards
CHANGES_OF_ALL = 10_000_000  # queries


class RunningQueries:
    def __init__(self, session: Session, dataflow: Dataflow, inputs: Inputs) -> None:
        self.by_name: dict[str, LocalQuery | LookupQuery] = {}  # in lower case
        self._readers: dict[str, Reader] = {}
        self._session, self._dataflow, self._inputs = session, dataflow, inputs
        self._lookups = Lookups(dataflow, inputs.dictionary, session)
        self._starts = Starts(session, dataflow, self._lookups)
        self._statistics = StreamStatistics(session.catalog)

    def start(self, entry: QueryEntry) -> None:
        """With the next segment."""
        assert entry.plan is not None, entry
        start = self._inputs.progress.start_after(streams_of(entry.plan))
        starting = self._session.starting(entry.name.lower(), entry.plan, start)
        reader = reader_of(starting.optimized, start)
        self._starts.add(starting)
        self._readers[starting.name] = reader
        plan, explain = starting.optimized, partial(self._session.explain_query, entry.name, entry.plan)
        if entry.is_on_lookup:
            answers = partial(self._answer_at, starting.name), partial(self._newest_answer, starting.name)
            watermark = partial(self._inputs.watermark_of, reader.streams)
            self.by_name[starting.name] = LookupQuery(entry.name, plan, watermark, *answers, explain)
            return
        query = LocalQuery(self._inputs, self.changelog_limit, entry.name, plan, reader, explain)
        self.by_name[starting.name] = query
        if entry.sink is not None:
            receiver = receiver_of(entry.sink, "sink", entry.name)
            query.feed(receiver, sink_of(entry.sink, entry.name), sink_form(entry.sink, plan, query.slide))

    def remove(self, name: str) -> None:
        """If there is one of this name."""
        if self.by_name.pop(name, None) is not None:
            del self._readers[name]
            self._dataflow.remove(name)
            self._lookups.remove(name)
            self._starts.remove(name)

    def readers(self) -> list[Reader]:
        """The queries as time sees them; streams that none of them reads are not waited for."""
        return list(self._readers.values())

    def used_streams(self) -> Streams:
        return frozenset[str]().union(*(reader.streams for reader in self.readers()))

    def advance(self) -> None:
        """Take what has become final through the dataflow, and hand over what comes out."""
        final = self._inputs.advance(self.readers())
        if final is not None:
            self._step(final)
        self.deliver()

    def _step(self, final: FinalRows) -> None:
        self._statistics.observe(final.rows)
        self._starts.begin()
        for name, changes in self._dataflow.step(Passes(final.moved.segment, final.received)).items():
            query, reader = self.by_name[name], self._readers[name]
            segment = final.moved.segment(reader.streams, reader.start)
            if isinstance(query, LocalQuery) and changes is not None and segment is not None:
                query.take(changes, segment)
        self._inputs.tables.forget(self.readers(), self._inputs.progress)
        self._lookups.poll()

    def deliver(self, now: bool = False) -> None:
        """Hand over what queries have emitted and rows that were not taken; one who fails keeps nobody from theirs."""
        emitting = (query for query in self.by_name.values() if isinstance(query, LocalQuery))
        give_all(chain(self._inputs.deliver(now), *(query.deliver(now) for query in emitting)))

    def health(self) -> Iterator[Failing]:
        """Who does not take what is handed over."""
        yield from self._inputs.health()
        for query in self.by_name.values():
            if isinstance(query, LocalQuery):
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
        query, synopsis = self._starts.looked_up(name)
        return answer_at(query, [synopsis], self.by_name[name].watermark, at)

    def _newest_answer(self, name: str) -> pa.Table:
        query, synopsis = self._starts.looked_up(name)
        last_row = self._inputs.progress.last_row_of(self._readers[name].streams)
        return newest_answer(query, [synopsis], self.by_name[name].watermark, last_row)
