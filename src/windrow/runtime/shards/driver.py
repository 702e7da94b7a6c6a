"""The driver of an engine on shards: statements go into the log and take effect, micro-batches run and are committed.

Nothing here knows Spark. Who runs the batches is a `Host`; what they compute is decided in `batch_loop`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from windrow.catalog import Entry, QueryEntry, StreamEntry, TableEntry
from windrow.clock import Clock
from windrow.cql import NONE, Create, Drop, ResumeQuery
from windrow.errors import WindrowError
from windrow.plan.explain import Distribution
from windrow.plan.nodes import Node
from windrow.plan.user_aggregate import Own
from windrow.runtime.engine import has_ended, rejected_rows
from windrow.runtime.health import Failing, aside_remarks
from windrow.runtime.lookups.lookup_query import LookupQuery
from windrow.runtime.modes import Mode, default_mode
from windrow.runtime.outputs.sinks import SinkForm, check_sinks
from windrow.runtime.shards.accounting import sharing
from windrow.runtime.shards.answers import Answers
from windrow.runtime.shards.batch_loop import BatchLoop
from windrow.runtime.shards.feeding.aside_queries import AsideQueries
from windrow.runtime.shards.feeding.publishing import Publishing
from windrow.runtime.shards.host import Host
from windrow.runtime.shards.own_tables import at_its_place
from windrow.runtime.shards.plans.number_of_shards import check_movable
from windrow.runtime.shards.plans.plan_versions import PlanVersions
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.shards.reading import readings
from windrow.runtime.shards.sources.rejected_rows import rows_to_retry
from windrow.runtime.shards.sources.source_readers import SourceReaders, is_brought
from windrow.runtime.shards.statement_log import (
    LOGGED,
    AddOutputMode,
    EndOfStream,
    LoggedStatement,
    OfEngine,
    RetryRows,
    SetAside,
    StatementLog,
)
from windrow.runtime.shards.status import status
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.source_failure import SourceFailures
from windrow.session import Result, Session
from windrow.sharing.exchanges import results_meet
from windrow.sharing.starting import PreparedQuery
from windrow.sources.connectors import check_columns, check_source


class Driver:
    """`shards` is what the user asks for, `otherwise` what a new checkpoint gets when there is no such wish."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        shards: int | None,
        otherwise: int = 1,
        host: Host | None = None,
    ) -> None:
        self._host = host or Host()
        self.checkpoint = checkpoint
        self.lock = threading.RLock()
        try:
            self.shards = checkpoint.open(shards, otherwise)
            self._start(checkpoint.clock)
        except (Exception, KeyboardInterrupt):
            checkpoint.close()
            raise

    def _start(self, clock: Clock) -> None:
        self._recovered = frozenset(self.checkpoint.recovered_aggregates())
        distribution = Distribution(self.shards, self._readings)
        aggregates = list(self.checkpoint.aggregates.values())
        self.session = Session(None, aggregates, distribution, self._register, self._as_it_runs)
        self.session.remarks, self.session.started = self._remarks, lambda: self.answers.started()
        self.plans = PlanVersions(self.session, self.checkpoint, self.shards)
        self.statements = StatementLog(self.checkpoint)
        self.publishing = Publishing(self.checkpoint, clock, lambda: self.session.catalog.sink_backlog)
        self.readers = SourceReaders(self.checkpoint, clock, self._host.rows_a_batch, self._host.tasks)
        self.batches = BatchLoop(
            self.checkpoint,
            self.statements,
            self.plans,
            self.readers,
            self.lock,
            self._host.is_fed,
            self.publishing,
        )
        self.queries: dict[str, ShardedQuery | LookupQuery] = {}
        self.aside = AsideQueries(self.checkpoint, self.plans, self.publishing, self.queries, self._record, clock)
        self.batches.aside = self.aside
        self.batches.reports.missed = self.publishing.missed
        self.answers = Answers(self.session, self.checkpoint, self.plans, self.batches, self.statements)
        self._resume()

    def close(self) -> None:
        """Let others open the checkpoint."""
        try:
            self.publishing.close()
        finally:
            self.checkpoint.close()

    def _resume(self) -> None:
        """Go on where the checkpoint is."""
        for number, statement in self.statements.recovered():
            if not isinstance(statement, OfEngine):
                self.session.apply(statement)
            self._apply(statement, number)
        self.readers.go_on()
        self.aside.restore()
        self.batches.resume()
        if self.batches.last is not None and self.plans.current.shards != self.shards:
            begun = self.batches.begun
            check_movable(self.plans.current if begun is None else begun.plan, self.shards)
        for name, query in self.queries.items():
            running = self.plans.running(name)
            if running is not None and isinstance(query, ShardedQuery):
                query.plan = running.plan

    def _as_it_runs(self, query: str) -> PreparedQuery | None:
        runs = query in self.queries and query not in self.plans.aside
        return self.answers.as_it_runs(query, self.queries[query].plan) if runs else None

    def sql(
        self, text: str, made: Callable[[Result], Result], parameters: Mapping[str, Any] = NONE
    ) -> Iterator[Result]:
        """Run statements; queries, streams and table changes take effect with the next micro-batch.

        `made` computes what is to be recorded of a statement that asks for rows.
        """
        with self.lock:
            for result in map(made, self.session.run(text, parameters)):
                self._record(result.statement)
                yield result

    def resume(self, text: str, made: Callable[[Result], Result]) -> list[Result]:
        """Run the statements of a text, except those that the checkpoint has from an earlier run.

        A name that the checkpoint knows as something else is refused.
        """
        results = []
        with self.lock:
            for statement in self.statements.new_in(text, self.session.catalog, self.batches.has_ended):
                if isinstance(statement, ResumeQuery) and not self.aside.is_aside(statement.query):
                    continue  # a text that is run again and again says it each time
                results.append(made(self.session.apply(statement)))
                self._record(results[-1].statement)
        return results

    def push(self, stream: str, table: pa.Table) -> None:
        """Rows of a stream; they are kept with the checkpoint, so that they can be read again."""
        pushed = self.readers.pushed(self.stream(stream).name.lower())
        if pushed is None:
            raise WindrowError(f"stream {stream} has a source of its own", "push rows of streams without FROM")
        pushed.push(table)

    def end(self, stream: str) -> None:
        """No more rows of a stream will come than have been handed over, or are in its source now."""
        name = self.stream(stream).name.lower()
        with self.lock:
            pushed = self.readers.pushed(name)
            if not self.batches.knows_end(name):
                self._record(EndOfStream(name, 0 if pushed is None else pushed.count))

    def retry(self, stream: str) -> list[str]:
        """Have files that were rejected be read again, and rows be taken again; which these are.

        Rows are counted while batches go on; those that somebody else has taken again meanwhile are not taken twice.
        """
        with self.lock:
            name, last = self.stream(stream).name.lower(), -1 if self.batches.last is None else self.batches.last.number
            again = RetryRows(name, self.statements.retried(name), last)
        rows = rows_to_retry(self.checkpoint, again)
        with self.lock:
            if self.statements.retried(self.stream(stream).name.lower()) != again.after:
                rows = 0
            if rows:
                if self.batches.knows_end(name):
                    raise has_ended(stream)
                self._record(again)
            return [*self.readers.retry(name), *rejected_rows(rows)]

    @property
    def failures(self) -> SourceFailures:
        """The sources that cannot be reached at present."""
        return self.readers.failures

    def add_output_mode(self, query: ShardedQuery, form: SinkForm) -> None:
        """Have the log contain what a query emits in this form too, from the next micro-batch on."""
        with self.lock:
            running = self.plans.planned(query.name, self.batches.progress)
            if form.mode in (Mode.CHANGELOG, default_mode(query.slide)) or form in self.plans.forms(running):
                return
            columns = form.key if form.mode is Mode.UPSERT else query.plan.schema.names
            if form.mode is not Mode.SNAPSHOT and not results_meet(running.plan, running.strategy, columns):
                hint = "create it with INTO memory(mode => 'upsert')"
                if form.mode is not Mode.UPSERT:
                    hint = f"write SELECT {form.mode.value.upper()} in the query itself"
                raise WindrowError(f"the rows of {query.name} to compare are on several shards", hint)
            self._record(AddOutputMode(query.name.lower(), form))

    def stream(self, name: str) -> StreamEntry:
        return self.session.catalog.stream(name)

    def columns_read(self, stream: StreamEntry) -> list[str]:
        """The columns of a stream that the queries read, and those that place its rows in time."""
        return self.plans.columns_read(stream, self.batches.progress)

    def status(self) -> dict[str, Any]:
        """What is running: rows taken, late and rejected of each stream, state, and the last micro-batch."""
        started = {query.name: self.answers.start_of(query.name) for query in self.queries.values()}
        streams = self.batches.reports.status(
            self.session.catalog.entries(StreamEntry),
            self.plans.engine_progress(self.batches.last),
            lambda entry: self.readers.status(entry.name.lower()),
        )
        return {**streams, **status(self.session, started, self.batches.last, self.batches.accounts, self.health())}

    def health(self) -> list[Failing]:
        """What fails or is set aside, while everything else goes on."""
        held = self.batches.reports.health(self.plans.engine_progress(self.batches.last))
        return [*self.aside.health(), *self.readers.failures.health(), *held, *self.publishing.health()]

    def _remarks(self) -> dict[str, str]:
        held = self.batches.reports.holding(self.plans.engine_progress(self.batches.last))
        return {**held, **aside_remarks(self.aside.health())}

    def sharing(self) -> dict[str, int]:
        """What the queries share: operators and streams, and how many there would be if every query ran alone."""
        return sharing(self.plans.current)

    def _record(self, statement: LoggedStatement) -> None:
        """Log a statement, then apply it; what cannot run is taken back."""
        if not isinstance(statement, LOGGED):
            return
        if isinstance(statement, ResumeQuery):
            self.aside.check(statement)
        if isinstance(statement, Create):
            try:
                self._check(statement)
            except WindrowError:
                self.session.catalog.drop(statement.entry.name)
                raise
        self._apply(statement, self.statements.record(statement))

    def _check(self, statement: Create) -> None:
        """Refuse what cannot run before it is logged."""
        entry = statement.entry
        if isinstance(entry, StreamEntry):
            if entry.connector is not None:
                check_source(entry.connector)
            before = self.statements.streams_called(entry.name).values() if self.batches.last is not None else ()
            if is_brought(entry) and any(map(is_brought, before)):
                hint = "choose another name: Spark would go on in the new source where it was in the old one"
                raise WindrowError(f"this checkpoint has had a stream {entry.name} of Spark's before", hint)
        if isinstance(entry, TableEntry) and entry.connector is not None:
            check_columns(at_its_place(entry.connector, self.checkpoint.folder), entry.columns)
        if isinstance(entry, QueryEntry):
            if entry.until is not None or entry.lasting is not None:
                raise WindrowError(
                    "UNTIL and FOR are for queries in one process", "DROP QUERY it when its time has come"
                )
            self.plans.plan(entry, 0, self.batches.progress)
        check_sinks(entry, self.session.catalog, self.checkpoint.place)

    def _apply(self, statement: LoggedStatement, number: int) -> None:
        if isinstance(statement, EndOfStream):
            self.batches.end(statement.stream, statement.at)
        elif isinstance(statement, AddOutputMode):
            self.plans.add_form(statement.query, statement.form)
        elif isinstance(statement, SetAside | ResumeQuery):
            self.aside.apply(statement, number)
        elif isinstance(statement, Create):
            self._create(statement.entry, number)
        elif isinstance(statement, Drop) and statement.name is not None:
            self.queries.pop(statement.name.lower(), None)
            self.plans.drop(statement.name)
            self.publishing.drop(statement.name)
            self.batches.drop(statement.name.lower(), number)

    def _create(self, entry: Entry, number: int) -> None:
        if isinstance(entry, StreamEntry):
            self.readers.open(entry, self.statements.source_key(entry, number))
            self.publishing.add_stream(entry, number)
        elif isinstance(entry, QueryEntry):
            self.plans.create(entry.name, number)
            self.queries[entry.name.lower()] = self._query(entry)

    def _query(self, entry: QueryEntry) -> ShardedQuery | LookupQuery:
        assert entry.plan is not None
        optimized, explain = (
            self.session.optimized(entry.plan),
            partial(self.session.explain_query, entry.name, entry.plan),
        )
        if entry.is_on_lookup:
            return LookupQuery(
                entry.name,
                optimized,
                partial(self.answers.watermark_of, optimized),
                partial(self.answers.looked_up, entry.name),
                partial(self.answers.newest_looked_up, entry.name),
                explain,
            )
        query = self._host.query(self.answers, entry.name, self.plans.key(entry.name), optimized, explain)
        self.publishing.add_query(entry, query)
        return query

    def _register(self, registered: Own) -> Own:
        """Have the checkpoint keep an aggregate, or find that it does."""
        with self.lock:
            known = self.checkpoint.aggregates.get(registered.name)
            if known is None:
                self.checkpoint.register(registered)
                return registered
            if known.name not in self._recovered or registered.declared != known.declared:
                hint = "choose another name: queries may be calling the one there is"
                raise WindrowError(f"there is an aggregate {known.name} already", hint)
            return known

    def _readings(self, plan: Node) -> tuple[str, ...]:
        """How the streams of a plan are read."""
        return readings(plan, self.stream)
