"""The driver's side of an engine on shards: what was said, what has happened, and the plan of the next micro-batch.

A batch is decided and logged, run by whoever hosts the shards, and committed. A batch that has been committed is not
run again; one that has been logged but not committed runs again under the same plan. Nothing here knows Spark,
but for the pickling of functions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from windrow.batch import Batch, Dictionary
from windrow.catalog import QueryEntry, StreamEntry, TableEntry
from windrow.clock import Clock, SystemClock
from windrow.cql import Create, Drop, Set, TableChange
from windrow.errors import CheckpointError, WindrowError
from windrow.plan.analysis.source_columns import source_columns
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.explain import Distribution
from windrow.plan.nodes import Node
from windrow.plan.pattern import Pattern
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import GroupSynopsis
from windrow.plan.user_aggregate import UserAggregate
from windrow.runtime.engine import Engine
from windrow.runtime.lookups.answering import LookedUp, answer_at, newest_answer
from windrow.runtime.lookups.held import Held
from windrow.runtime.lookups.lookup_query import LookupQuery
from windrow.runtime.modes import Mode, usual_mode
from windrow.runtime.progress import Progress
from windrow.runtime.shards.accounting import Accounts, sharing
from windrow.runtime.shards.batch_spec import BatchSpec, ShardVersion, Telling
from windrow.runtime.shards.heartbeats import Heartbeats
from windrow.runtime.shards.log import Log, feed_sinks, publish
from windrow.runtime.shards.messages import Done
from windrow.runtime.shards.outcome import outcome
from windrow.runtime.shards.query_plans import QueryPlans
from windrow.runtime.shards.reading import columns_read, readings
from windrow.runtime.shards.running import RunningPlan, RunningQuery, query_key
from windrow.runtime.shards.statements import EndOfStream, Said, Statements, Tell, changes_of_tables, tables_created
from windrow.runtime.shards.status import status
from windrow.runtime.shards.storage.bundles import Folder
from windrow.runtime.shards.storage.checkpoint import Checkpoint, Commit
from windrow.runtime.shards.storage.shard_state import read_answer
from windrow.runtime.shards.summaries import SummariesOfShards
from windrow.runtime.sinks import FILES, SinkForm, check_folder, sink_form, sink_of
from windrow.runtime.spark.query import Query
from windrow.session import Result, Session
from windrow.sharing.exchanges import results_meet
from windrow.sharing.lookups import covered, synopsis_below
from windrow.sharing.shared_with import shares
from windrow.types import Type
from windrow.units import BEGINNING, FOREVER

Job = Callable[[BatchSpec], Sequence[Done]]


class Driver(Engine):
    """`shards` is what the user asks for, `otherwise` what a new checkpoint gets when he does not."""

    def __init__(
        self, checkpoint: str, shards: int | None = None, clock: Clock | None = None, otherwise: int = 1
    ) -> None:
        self._clock = clock or SystemClock()
        self._checkpoint = Checkpoint(checkpoint)
        self.shards = self._checkpoint.open(shards, otherwise)
        self._lock = threading.RLock()
        self._recovered = frozenset(self._checkpoint.recovered_aggregates())
        distribution = Distribution(self.shards, lambda query, plan: self._plans.spread(query, plan), self._reading)
        self._queries: dict[str, Query | LookupQuery] = {}
        super().__init__(Session(None, self._own_aggregates(), distribution, self._keep), self._queries)
        self.session.running = self._sharing_plans
        self._plans = QueryPlans(self.session)
        self._statements = Statements(self._checkpoint)
        self._log = Log(self._checkpoint)
        self._summaries = SummariesOfShards(self._checkpoint.folder)
        self._asking = threading.Lock()  # asking may put what is kept in another order, or read it again
        self._told: dict[str, tuple[SinkForm, ...]] = {}  # forms that readers of queries have asked for
        self._created: dict[str, int] = {}  # the numbers of the statements that created the queries
        self._ends: dict[str, int] = {}  # how much there is of sources that end
        self._heartbeats = Heartbeats(self._clock)
        self._beats: dict[str, int] = {}  # how far heartbeats have moved streams, for the next batch
        self._is_busy = False
        self._accounts = Accounts()
        self._plan = RunningPlan(0, self.shards, {}, {}, ())
        self._last = self._checkpoint.last_commit()
        self._recover()

    def sql(self, text: str) -> list[Result]:
        """Carry out statements; queries, streams and table changes take effect with the next micro-batch."""
        results = []
        with self._lock:
            for result in self.session.carried_out(text):
                self._say(result.statement)
                results.append(result)
        return results

    def resume(self, text: str) -> list[Result]:
        """Carry out the statements of a text, except those that the checkpoint has from a run before.

        A name that the checkpoint knows as something else is refused.
        """
        results = []
        with self._lock:
            for statement in self._statements.new_in(text, self._own_aggregates(), self.has_ended):
                result = self.session.carry_out(statement)
                self._say(statement)
                results.append(result)
        return results

    def _keep(self, registered: UserAggregate) -> UserAggregate:
        """Have the checkpoint keep an aggregate, or find that it does."""
        with self._lock:
            known = self._checkpoint.aggregates.get(registered.name)
            if known is None:
                self._checkpoint.register(registered)
                return registered
            if known.name not in self._recovered or registered.declared != known.declared:
                hint = "choose another name: queries may be calling the one there is"
                raise WindrowError(f"there is an aggregate {known.name} already", hint)
            return known

    def _own_aggregates(self) -> list[UserAggregate]:
        return list(self._checkpoint.aggregates.values())

    @property
    def _telling(self) -> list[Query]:
        return [query for query in self._queries.values() if isinstance(query, Query)]

    def lookup(self, cql: str, at: int | None = None) -> pa.Table:
        """The answer of a query at once, from a synopsis that is kept for others: any window that it covers."""
        running: dict[GroupSynopsis, RunningQuery] = {}  # what has rows from long ago first
        for one in sorted(self._plan.queries, key=lambda query: query.start):
            if one.lookup is not None:
                running.setdefault(synopsis_below(one.lookup), one)
        found = covered(self.session.plan(cql), list(running))
        with self._asking:
            held = self._synopses_of(running[synopsis_below(found)])
            return answer_at(LookedUp(found, Dictionary()), held, self.watermark, at)

    def _looked_up(self, query: str, at: int | None) -> pa.Table:
        running = self._running_query(query)
        assert running.lookup is not None, query
        with self._asking:
            return answer_at(LookedUp(running.lookup, Dictionary()), self._synopses_of(running), self.watermark, at)

    def _newest_looked_up(self, query: str) -> pa.Table:
        running = self._running_query(query)
        assert running.lookup is not None, query
        with self._asking:
            held = self._synopses_of(running)
            return newest_answer(LookedUp(running.lookup, Dictionary()), held, self.watermark, self.last_row)

    def _synopses_of(self, running: RunningQuery) -> Sequence[Held]:
        return self._summaries.of(running, self._plan, self._last, self.session.catalog.synopsis_memory)

    def end(self, stream: str) -> None:
        """No more rows of a stream will come than those that have been handed over."""
        self._ends_at(self._stream(stream), 0)

    def _ends_at(self, stream: StreamEntry, at: int) -> None:
        name = stream.name.lower()
        with self._lock:
            known = self._progress.streams.get(name)
            if self._ends.get(name) != at and not (known is not None and known.has_ended):
                self._say(EndOfStream(name, at))

    def beat(self) -> bool:
        """Have silent streams move on with the clock; whether a batch without rows would change an answer."""
        with self._lock:
            if self._is_busy or self._last is None:
                return False
            times = self._heartbeats.due(self._plan.streams, self._progress)
            if not self._waits_for_time() or not self._progress.moved(times).can_advance(self._plan.used_streams):
                return False
            self._beats |= times
            return True

    def _waits_for_time(self) -> bool:
        """Whether there are rows to become final, or results that end or are told again as time goes on."""
        assert self._last is not None
        queries = self._plan.queries
        changing = any(one.slide is not None or update_pattern(one.plan) is not Pattern.MONOTONIC for one in queries)
        return self._last.waiting > 0 or (self._last.kept > 0 and changing)

    def late(self, stream: str) -> pa.Table | None:
        """Rows that came too late; the newest are kept."""
        return self._log.put_aside("late", self._stream(stream).name)

    def rejected(self, stream: str) -> pa.Table | None:
        """Rows that could not be taken, with the reason; the newest are kept."""
        return self._log.put_aside("rejected", self._stream(stream).name)

    def status(self) -> dict[str, Any]:
        """What is running: rows taken, late and rejected of each stream, state, and the last micro-batch."""
        started = {query.name: self.start_of(query.name) for query in self.queries}
        return status(self.session, started, self._last, self._accounts)

    def sharing(self) -> dict[str, int]:
        """What the queries share: operators and streams, and how many there would be if every query ran alone."""
        return sharing(self._plan)

    @property
    def watermark(self) -> int:
        return self._progress.watermark

    @property
    def last_row(self) -> int:
        return self._progress.last_row

    @property
    def checkpoint(self) -> str:
        """Where the checkpoint is."""
        return self._checkpoint.uri

    @property
    def folder(self) -> Folder:
        return self._checkpoint.folder

    def _key(self, query: str) -> str:
        return query_key(query, self._created[query.lower()])

    def kept_answers(self, query: str, types: Sequence[Type]) -> Iterator[Batch]:
        """The changes that make up the answer of a query, shard by shard."""
        for version in self.versions_of(query):
            yield read_answer(self.folder, version, self._key(query), types)

    def versions_of(self, query: str) -> list[ShardVersion]:
        """The states of the shards that hold the answer of a query."""
        running = next((one for one in self._plan.queries if one.name.lower() == query.lower()), None)
        if running is None or self._last is None:
            return []
        return [version for (stage, _), version in self._last.versions.items() if stage == running.stage]

    def start_of(self, query: str) -> int | None:
        """When a query started; time itself begins with the first row."""
        running = next((one for one in self._plan.queries if one.name.lower() == query.lower()), None)
        origin = self._progress.origin
        return None if running is None or origin is None else max(running.started, origin)

    def logged(self, query: Query, mode: Mode) -> pa.Table:
        """What the log has of what a query told in a mode."""
        return self._log.told(query, mode)

    def tell(self, query: Query, form: SinkForm) -> None:
        """Have the log hold what a query tells in this form too, from the next micro-batch on."""
        with self._lock:
            running = self._running_query(query.name)
            asked = (*running.forms, *self._told.get(query.name.lower(), ()))
            if form.mode in (Mode.CHANGELOG, usual_mode(query.slide)) or form in asked:
                return
            columns = form.key if form.mode is Mode.UPSERT else query.plan.schema.names
            if form.mode is not Mode.SNAPSHOT and not results_meet(running.plan, running.strategy, columns):
                hint = "create it with INTO memory(mode => 'upsert')"
                if form.mode is not Mode.UPSERT:
                    hint = f"write SELECT {form.mode.value.upper()} in the query itself"
                raise WindrowError(f"the rows of {query.name} to compare are on several shards", hint)
            self._say(Tell(query.name.lower(), form))

    def _running_query(self, name: str) -> RunningQuery:
        """As it runs, or as it will from the next micro-batch on."""
        entry = self.session.catalog.get(name)
        assert isinstance(entry, QueryEntry)
        number = self._created[name.lower()]
        known = next((one for one in self._plan.queries if one.statement == number), None)
        return known or self._plans.running(entry, number, self._newest)

    def _say(self, statement: Said) -> None:
        """Write a statement down, then act on it; what cannot run is taken back."""
        if not isinstance(statement, Create | Drop | TableChange | Set | EndOfStream | Tell):
            return
        if isinstance(statement, Create):
            try:
                self._take_up(statement)
            except WindrowError:
                self.session.catalog.drop(statement.entry.name)
                raise
        self._hear(statement, self._statements.say(statement))

    def _take_up(self, statement: Create) -> None:
        """Refuse what cannot run before it is written down."""
        entry = statement.entry
        if isinstance(entry, QueryEntry):
            assert entry.plan is not None
            self._plans.running(entry, 0, self._newest)
            if entry.sink is not None and entry.sink.name in FILES:
                check_folder(entry.sink, again=False)

    def _hear(self, statement: Said, number: int) -> None:
        if isinstance(statement, EndOfStream):
            self._ends[statement.stream] = statement.at
        elif isinstance(statement, Tell):
            self._told[statement.query] = (*self._told.get(statement.query, ()), statement.form)
        elif isinstance(statement, Create) and isinstance(statement.entry, QueryEntry):
            entry = statement.entry
            assert entry.plan is not None
            self._created[entry.name.lower()] = number
            if entry.is_on_lookup:
                self._queries[entry.name.lower()] = self._lookup_query(entry, entry.plan)
                return
            explanation = self.session.explanation(entry.name, entry.plan)
            key = query_key(entry.name, number)
            query = Query(self, entry.name, key, self.session.optimized(entry.plan), explanation)
            self._queries[entry.name.lower()] = query
            if entry.sink is not None and entry.sink.name not in FILES:
                query.sink = sink_of(entry.sink, entry.name), sink_form(entry.sink, query.plan, query.slide).mode
        elif isinstance(statement, Drop) and statement.name is not None:
            self._queries.pop(statement.name.lower(), None)
            self._told.pop(statement.name.lower(), None)
            self._ends.pop(statement.name.lower(), None)

    def _lookup_query(self, entry: QueryEntry, plan: Node) -> LookupQuery:
        answers = partial(self._looked_up, entry.name), partial(self._newest_looked_up, entry.name)
        explained = partial(self.session.explanation, entry.name, plan)
        return LookupQuery(entry.name, self.session.optimized(plan), *answers, explained)

    def _recover(self) -> None:
        """What the checkpoint says has been said and has happened."""
        for number, statement in self._statements.recovered():
            if not isinstance(statement, EndOfStream | Tell):
                self.session.carry_out(statement)
            self._hear(statement, number)
        if self._last is None:
            return
        self._plan = self._checkpoint.plan(self._last.plan_version)
        self._statements.taken = self._last.statements
        self._checkpoint.sweep(self._last)
        for name, query in self._queries.items():
            running = next((one for one in self._plan.queries if one.name.lower() == name), None)
            if running is not None and isinstance(query, Query):
                query.plan = running.plan

    @property
    def _progress(self) -> Progress:
        return Progress() if self._last is None else self._last.progress

    def finish(self, ended: set[str], job: Job) -> None:
        """Sources have ended. When all have, a batch takes time to its end, and another tells the last refreshes."""
        with self._lock:
            self._ends |= dict.fromkeys(ended, 0)
        if self.watermark != FOREVER:
            self._carry_out(None, job)
        if self.watermark == FOREVER and not self.has_ended:
            assert self._last is not None
            self._carry_out(None, job, Telling(self._last.told_until, self._last.last_changes))

    @property
    def has_ended(self) -> bool:
        return self._last is not None and self._last.ended

    @property
    def next_number(self) -> int:
        """The number of the source's next micro-batch."""
        return 0 if self._last is None else self._last.source_batch + 1

    def micro_batch(self, number: int, job: Job) -> None:
        """Take up a micro-batch of the source, unless it has happened: its number is the source's."""
        last = self.next_number - 1
        if number not in (last, last + 1):
            again = f"is about to read micro-batch {number} again, but {last} has been committed"
            ahead = f"goes on with micro-batch {number}, but the last one committed is {last}"
            raise CheckpointError(
                f"Spark {again if number < last else ahead}",
                "the folders spark/ and windrow/ of a checkpoint belong together: restore both from the same copy",
            )
        if number == self.next_number:
            self._carry_out(number, job)

    def _carry_out(self, source_batch: int | None, job: Job, telling: Telling | None = None) -> None:
        """Decide, log, run, commit, publish."""
        began = time.monotonic()
        number = 0 if self._last is None else self._last.number + 1
        source = self.next_number - 1 if source_batch is None else source_batch
        self._is_busy = True
        try:
            spec, statements = self._logged(number) or self._decided(number, telling)
            done = job(spec)
            record = outcome(spec, self._plan, statements, source, done, self._last)
            # Before the commit: after a crash sinks get the batch again, none is left out.
            feed_sinks(self._log, record, self._telling)
            self._commit(replace(record, seconds=time.monotonic() - began), done)
        finally:
            self._is_busy = False
        publish(self._log, record, self._telling)

    def _logged(self, number: int) -> tuple[BatchSpec, int] | None:
        """The plan of a batch that was begun before: it runs again as it was to be run."""
        found = self._checkpoint.logged_batch(number)
        if found is not None:
            spec, self._statements.taken = found
            if spec.plan_version != self._plan.version:
                self._plan = self._checkpoint.plan(spec.plan_version)
        return found

    def _decided(self, number: int, telling: Telling | None) -> tuple[BatchSpec, int]:
        """Take the statements that have come and make the plan of the batch."""
        with self._lock:
            new = self._statements.take()
            self._change_plan()
            slacks = {name: entry.slack for name, entry in self._plan.streams.items()}
            progress = self._progress.with_streams(slacks).moved(self._beats).ending(self._ends)
            self._beats = {}
            spec = BatchSpec(
                number,
                self.folder,
                cloudpickle.dumps(self._plan),  # type: ignore[no-untyped-call]
                self._plan.version,
                progress,
                self._clock.now(),
                tuple(changes_of_tables(new)),
                tuple(tables_created(new) & self._plan.tables.keys()),
                {} if self._last is None else self._last.versions,
                telling,
            )
            self._checkpoint.log_batch(spec, self._statements.taken)
            return spec, self._statements.taken

    def _change_plan(self) -> None:
        catalog = self.session.catalog
        streams = {entry.name.lower(): entry for entry in catalog.entries(StreamEntry)}
        tables = {entry.name.lower(): entry for entry in catalog.entries(TableEntry)}
        known = {one.statement: one for one in self._plan.queries}
        numbers = {entry.name.lower(): self._created[entry.name.lower()] for entry in catalog.entries(QueryEntry)}
        wanted = (
            known.get(numbers[entry.name.lower()])
            or self._plans.running(entry, numbers[entry.name.lower()], self._newest)
            for entry in catalog.entries(QueryEntry)
        )
        fed = [self._in_asked_forms(query) for query in wanted if self._is_fed(query)]
        queries = tuple(self._plans.sharing(fed, new=[query for query in fed if query.statement not in known]))
        if (streams, tables, queries) != (self._plan.streams, self._plan.tables, self._plan.queries):
            self._plan = RunningPlan(self._plan.version + 1, self.shards, streams, tables, queries)
            self._checkpoint.log_plan(self._plan)

    def _sharing_plans(self, query: str) -> dict[str, Node]:
        """All queries that share something, as they run, if this one does."""
        own = next((one for one in self._plan.queries if one.name.lower() == query.lower()), None)
        if own is None or not shares(own.plan):
            return {}
        together = (one for one in self._plan.queries if (one.start, one.strategy) == (own.start, own.strategy))
        plans = {query.name.lower(): self._as_kept(query) for query in together}
        return {name: plan for name, plan in plans.items() if shares(plan)}

    def _as_kept(self, query: RunningQuery) -> Node:
        if query.lookup is None:
            return query.plan
        kept = self._summaries.kept_as(query)
        return bottom_up(query.lookup, lambda node: kept if isinstance(node, GroupSynopsis) else None)

    def columns_read(self, stream: StreamEntry) -> list[str]:
        """The columns of a stream that the queries read, and those that place its rows in time."""
        plans = [self._running_query(query.name).plan for query in self._queries.values()]
        return columns_read(stream, source_columns(plans).get(stream.name.lower(), frozenset()))

    def _reading(self, plan: Node) -> tuple[str, ...]:
        """How the streams of a plan are read."""
        return readings(plan, self._stream)

    def _is_fed(self, query: RunningQuery) -> bool:
        """Whether all that a query reads is read at present; otherwise it starts with a later batch."""
        return True

    def _in_asked_forms(self, query: RunningQuery) -> RunningQuery:
        forms = dict.fromkeys((*query.forms, *self._told.get(query.name.lower(), ())))
        return replace(query, forms=tuple(forms))

    def _newest(self, stream: str) -> int:
        found = self._progress.streams.get(stream)
        return BEGINNING if found is None else found.news.newest

    def _commit(self, record: Commit, done: Sequence[Done]) -> None:
        self._checkpoint.commit(record)
        self._last = record
        self._heartbeats.hear(record.progress)
        self._accounts.add(record.metrics, record.state_bytes)
        for name, failures in (found for one in done for found in one.failures.items()):
            self._checkpoint.aggregates[name].failures.add(failures)
        with self._lock:
            over = self._statements.over(record.statements)
        self._checkpoint.collect(record, over)

    def _stream(self, name: str) -> StreamEntry:
        found = self.session.catalog.get(name)
        if not isinstance(found, StreamEntry):
            names = ", ".join(entry.name for entry in self.session.catalog.entries(StreamEntry))
            raise WindrowError(f"there is no stream {name}", f"streams here: {names or 'none'}")
        return found
