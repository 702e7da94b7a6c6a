"""The local engine: statements in, answers out, in this process.

The engine reads its sources a chunk at a time, the one that is furthest behind first. When the watermark (the smallest
of the streams') has moved, everything before it is final: one segment of time is taken through the dataflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from windrow.batch import Batch, Dictionary
from windrow.catalog import Entry, QueryEntry, StreamEntry, TableEntry
from windrow.clock import Clock, SystemClock, monotonic
from windrow.cql import Create, Drop, TableChange
from windrow.errors import WindrowError
from windrow.physical.closings import closings_of
from windrow.physical.physical_node import contents_of
from windrow.plan.analysis.relations import streams_of
from windrow.plan.user_aggregate import UserAggregate
from windrow.runtime.create_statements import columns_of, no_rows, stream_statement
from windrow.runtime.engine import Engine
from windrow.runtime.heartbeats import Heartbeats
from windrow.runtime.intake import Intake
from windrow.runtime.local.dataflow import Dataflow
from windrow.runtime.local.lookups import Lookups
from windrow.runtime.local.query import LocalQuery
from windrow.runtime.local.starts import Starts
from windrow.runtime.lookups.answering import LookedUp, answer_at, newest_answer
from windrow.runtime.lookups.lookup_query import LookupQuery
from windrow.runtime.progress import Progress, stream_status
from windrow.runtime.sinks import sink_form, sink_of
from windrow.runtime.stream_statistics import StreamStatistics
from windrow.runtime.tables import TableStore
from windrow.session import Result, Session
from windrow.sharing.lookups import covered
from windrow.sharing.starting import PreparedQuery
from windrow.sources.connectors import source_of
from windrow.sources.rows import rows_table, tables_of
from windrow.units import BEGINNING, parse_timestamp

_POLL_INTERVAL = 0.25  # seconds

MOST_CHANGES, FEWEST_CHANGES = 1_000_000, 1_000  # of a query, for looking at afterwards
CHANGES_OF_ALL = 10_000_000  # queries


class LocalEngine(Engine):
    """`windrow.connect(local=True)`."""

    def __init__(
        self, folder: str | None = None, clock: Clock | None = None, aggregates: Sequence[UserAggregate] = ()
    ) -> None:
        self._queries: dict[str, LocalQuery | LookupQuery] = {}
        super().__init__(Session(folder, aggregates, running=self._as_it_runs), self._queries)
        self.dictionary = Dictionary()
        self._progress = Progress()
        self._clock = clock or SystemClock()
        self._dataflow = Dataflow(self.dictionary)
        self._lookups = Lookups(self._dataflow, self.dictionary, self.session)
        self._starts = Starts(self.session, self._dataflow, self._lookups)
        self._statistics = StreamStatistics(self.session.catalog)
        self._intakes: dict[str, Intake] = {}
        self._tables: dict[str, TableStore] = {}
        self._sources: dict[str, Iterator[pa.Table]] = {}
        self._heartbeats = Heartbeats(self._clock)
        for entry in self.session.catalog.everything():
            self._take_up(entry, again=True)

    def sql(self, text: str) -> list[Result]:
        """Carry out statements; queries and streams start with the next step."""
        results = []
        for result in self.session.run(text):
            self._react(result)
            results.append(result)
        return results

    def stream(self, name: str, data: Any, timestamp: str, slack: str | None = None) -> None:
        """Make a stream of rows that Python holds: Arrow, pandas, or an iterable of dictionaries."""
        tables = tables_of(data)
        first = next(tables, None)
        if first is None:
            raise no_rows(name)
        self.sql(stream_statement(name, columns_of(first), timestamp, slack))
        self._sources[name.lower()] = _with_first(first, tables)

    @property
    def changelog_limit(self) -> int:
        """About how many tuples of the changelog of a query can be looked at afterwards."""
        emitting = max(1, len(self._queries) - len(self._lookups.names))
        return min(MOST_CHANGES, max(FEWEST_CHANGES, CHANGES_OF_ALL // emitting))

    def lookup(self, cql: str, at: int | None = None) -> pa.Table:
        """The answer of a query at once, from a synopsis that is kept for others: any window that it covers."""
        synopses = self._starts.synopses()
        found = LookedUp(covered(self.session.plan(cql), list(synopses)), self.dictionary)
        return answer_at(found, [synopses[found.synopsis]], self.watermark, at)

    def _looked_up(self, query: str, at: int | None) -> pa.Table:
        found, held = self._starts.looked_up(query)
        return answer_at(found, [held], self.watermark, at)

    def _newest_looked_up(self, query: str) -> pa.Table:
        found, held = self._starts.looked_up(query)
        return newest_answer(found, [held], self.watermark, self.last_row)

    def _as_it_runs(self, query: str) -> PreparedQuery | None:
        return self._starts.query(query)

    def push(self, stream: str, rows: Any) -> None:
        """Hand over rows of a stream as they come; call `step` to see their effect."""
        name = self._intake(stream).stream.name.lower()
        self._heartbeats.record(name)
        if isinstance(rows, list):
            rows = rows_table(rows)
        for table in tables_of(rows):
            self._take(name, table)

    def _take(self, stream: str, table: pa.Table) -> None:
        report = self._intakes[stream].take(table, self.watermark, self._clock.now())
        self._progress = self._progress.with_intake([{stream: report}])

    def end(self, stream: str) -> None:
        """No more rows of a stream will come."""
        self._progress = self._progress.ending({self._intake(stream).stream.name.lower(): 0})

    def punctuate(self, stream: str, before: int | str | None = None, **key: Any) -> None:
        """Say what will not come: no row before a time, or no later one with a key (columns as in PUNCTUATION BY)."""
        if before is None and not key:
            hint = "write before=time, or the key that is closed: item=7"
            raise WindrowError("a punctuation says what will not come any more", hint)
        moment = parse_timestamp(before) if isinstance(before, str) else before
        name = self._intake(stream).stream.name.lower()
        report = self._intakes[name].punctuate(moment, key, self._progress.streams[name].intake.newest)
        self._progress = self._progress.with_intake([{name: report}])
        self._heartbeats.record(name)

    def step(self) -> bool:
        """Read a chunk of the source that is furthest behind and take the dataflow on; False when all have ended."""
        behind = self._furthest_behind()
        if behind is not None:
            table = next(self._sources[behind], None)
            if table is None:
                del self._sources[behind]
                self.end(behind)
            else:
                self._take(behind, table)
        self._move_silent_streams()
        self._advance()
        return behind is not None

    def run(self, poll: Callable[[], object] | None = None) -> None:
        """Until all sources have ended; `poll` is called every now and then meanwhile."""
        polled = monotonic()
        while self.step():
            if poll is not None and monotonic() - polled >= _POLL_INTERVAL:
                poll()
                polled = monotonic()

    def late(self, stream: str) -> pa.Table | None:
        """Rows that came behind the watermark; the newest are kept."""
        return self._intake(stream).late.table()

    def rejected(self, stream: str) -> pa.Table | None:
        """Rows of a stream, or of a table's source, that could not be taken, with the reason; the newest are kept."""
        table = self._tables.get(stream.lower())
        return self._intake(stream).rejected.table() if table is None else table.rejected.table()

    def status(self) -> dict[str, Any]:
        """What is running: rows taken, late and rejected of each stream, tuples of state."""
        streams = {
            intake.stream.name: stream_status(self._progress.streams[name], punctuations=intake.punctuations)
            for name, intake in self._intakes.items()
        }
        tables = {s.entry.name: {"rows": len(s.contents()), "rejected": s.reasons()} for s in self._tables.values()}
        return {
            "streams": streams,
            "tables": tables,
            "queries": sorted(self._queries),
            "aggregates": self.session.failure_counts(),
            "state_rows": self._dataflow.state_rows(),
        }

    def close(self) -> None:
        self.session.close()

    def _react(self, result: Result) -> None:
        statement = result.statement
        if isinstance(statement, Create):
            try:
                self._take_up(statement.entry)
            except WindrowError:
                self.session.catalog.drop(statement.entry.name)  # what cannot run is not there
                self.session.catalog.sync()
                raise
        elif isinstance(statement, TableChange):
            self._tables[statement.table.lower()].apply(statement, self.watermark)
        elif isinstance(statement, Drop) and statement.name is not None:
            self._drop(statement.name.lower())

    def _take_up(self, entry: Entry, again: bool = False) -> None:
        if isinstance(entry, StreamEntry):
            self._open(entry)
        elif isinstance(entry, TableEntry):
            self._open_table(entry)
        elif isinstance(entry, QueryEntry):
            self._start(entry, again)

    def _drop(self, name: str) -> None:
        if self._queries.pop(name, None) is not None:
            self._dataflow.remove(name)
            self._lookups.remove(name)
            self._starts.remove(name)
        self._intakes.pop(name, None)
        self._sources.pop(name, None)
        self._tables.pop(name, None)
        self._heartbeats.forget(name)
        self._follow_streams()

    def _open(self, entry: StreamEntry) -> None:
        self._intakes[entry.name.lower()] = Intake(entry, self.dictionary)
        self._heartbeats.record(entry.name.lower())
        self._follow_streams()
        if entry.connector is not None:
            self._sources[entry.name.lower()] = source_of(entry.connector, entry.columns)

    def _follow_streams(self) -> None:
        """Streams have come or gone."""
        slacks = {name: intake.stream.slack for name, intake in self._intakes.items()}
        self._progress = self._progress.with_streams(slacks)

    def _open_table(self, entry: TableEntry) -> None:
        store = self._tables[entry.name.lower()] = TableStore(entry, self.dictionary)
        if entry.connector is not None:
            store.load(source_of(entry.connector, entry.columns), self.watermark)

    def _start(self, entry: QueryEntry, again: bool) -> None:
        assert entry.plan is not None, entry
        starting = self.session.starting(entry.name.lower(), entry.plan, self.watermark)
        self._starts.add(starting)
        plan, explain = starting.optimized, partial(self.session.explain_query, entry.name, entry.plan)
        if entry.is_on_lookup:
            answers = partial(self._looked_up, starting.name), partial(self._newest_looked_up, starting.name)
            self._queries[starting.name] = LookupQuery(entry.name, plan, *answers, explain)
            return
        query = self._queries[starting.name] = LocalQuery(self, entry.name, plan, explain)
        if entry.sink is not None:
            query.feed(sink_of(entry.sink, entry.name, again), sink_form(entry.sink, plan, query.slide))

    def _intake(self, stream: str) -> Intake:
        return self._intakes[self.session.catalog.stream(stream).name.lower()]

    def _furthest_behind(self) -> str | None:
        used = self._used_streams()
        waiting = [name for name in self._sources if name in used]
        return min(waiting, key=lambda name: self._progress.streams[name].watermark, default=None)

    def _used_streams(self) -> frozenset[str]:
        """Streams that a query reads; the others are not waited for."""
        return frozenset().union(*(streams_of(query.plan) for query in self._queries.values()))

    @property
    def watermark(self) -> int:
        return self._progress.watermark

    @property
    def last_row(self) -> int:
        """The latest timestamp that any stream has shown."""
        return self._progress.last_row

    def _move_silent_streams(self) -> None:
        """Those that were silent for the length of their heartbeat; one whose source is being read is not silent."""
        listening = {name: intake.stream for name, intake in self._intakes.items() if name not in self._sources}
        times = self._heartbeats.due(listening, self._progress)
        if times:
            self._progress = self._progress.moved(times)

    def _advance(self) -> None:
        used = self._used_streams()
        self._progress, segment = self._progress.advanced(used)
        if segment is None:
            return
        inputs: dict[str, Batch] = {}
        for intake in (self._intakes[name] for name in used):
            if intake.closed is not None:
                inputs[closings_of(intake.stream.name)] = intake.closed.until(segment.end, segment.begin)
            inputs[intake.stream.name], report = intake.until(segment.end)
            self._progress = self._progress.with_intake([{intake.stream.name.lower(): report}])
        for store in self._tables.values():
            inputs[contents_of(store.entry.name)] = store.contents()
            inputs[store.entry.name] = store.changes(segment)
        self._statistics.observe(inputs)
        segment = segment._replace(last_row=max(int(rows.ts.max(initial=BEGINNING)) for rows in inputs.values()))
        self._starts.begin()
        for name, changes in self._dataflow.step(inputs, segment).items():
            query = self._queries[name]
            if isinstance(query, LocalQuery):
                query.take(changes, segment)
        self._lookups.poll()


def _with_first(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from rest
