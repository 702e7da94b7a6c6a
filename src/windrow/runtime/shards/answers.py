"""What queries on shards answer as of the last commit: from their state, from synopses, and from the log."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pyarrow as pa

from windrow.batch import Batch, Dictionary
from windrow.catalog import TableEntry
from windrow.errors import WindrowError
from windrow.plan.analysis.relations import streams_of
from windrow.plan.nodes import Node
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import GroupSynopsis
from windrow.runtime.health import query_aside
from windrow.runtime.lookups.answering import LookedUp, answer_at, newest_answer
from windrow.runtime.lookups.maintained import MaintainedSynopsis
from windrow.runtime.modes import Mode
from windrow.runtime.shards.batch_loop import BatchLoop
from windrow.runtime.shards.batch_spec import ShardVersion
from windrow.runtime.shards.feeding.emitted_log import EmittedLog, Emitting
from windrow.runtime.shards.own_tables import at_its_place
from windrow.runtime.shards.plans.plan_versions import PlanVersions
from windrow.runtime.shards.running_plan import RunningQuery
from windrow.runtime.shards.shard_synopses import ShardSynopses
from windrow.runtime.shards.statement_log import StatementLog, changes_of_tables, tables_created
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.shards.storage.shard_state import read_answer, read_table
from windrow.runtime.tables import TableStore
from windrow.session import Session
from windrow.sharing.lookups import covered, synopsis_below
from windrow.sharing.starting import PreparedQuery, RunningQueryPlan
from windrow.sources.connectors import source_of
from windrow.types import Type
from windrow.units import BEGINNING, FOREVER


class Answers:
    def __init__(
        self,
        session: Session,
        checkpoint: Checkpoint,
        plans: PlanVersions,
        batches: BatchLoop,
        statements: StatementLog,
    ) -> None:
        self._session = session
        self._checkpoint = checkpoint
        self._plans = plans
        self._batches = batches
        self._statements = statements
        self.log = EmittedLog(checkpoint)
        self._synopses = ShardSynopses(checkpoint.folder)
        self._asking = threading.Lock()  # asking may put a synopsis in another order, or read it again

    @property
    def checkpoint(self) -> str:
        """Where the checkpoint is."""
        return self._checkpoint.place

    def watermark_of(self, plan: Node) -> int:
        """All rows of the streams of a plan before it are there."""
        return self._batches.progress.watermark_of(streams_of(plan))

    def last_row_of(self, plan: Node) -> int:
        """The latest timestamp that the streams of a plan have shown."""
        return self._batches.progress.last_row_of(streams_of(plan))

    def stored(self, query: str, types: Sequence[Type]) -> Iterator[Batch]:
        """The changes that make up the answer of a query, shard by shard."""
        for version in self._versions(query):
            yield read_answer(self._checkpoint.folder, version, self._plans.key(query), types)

    def _versions(self, query: str) -> list[ShardVersion]:
        """The states of the shards that have the answer of a query."""
        running, last = self._plans.running(query), self._batches.last
        if running is None or last is None:
            return []
        return [version for (stage, _), version in last.versions.items() if stage == running.stage]

    def table(self, name: str) -> pa.Table:
        """The rows of a table, by its name in lower case, as of the last commit and with what was stated since."""
        entry = self._session.catalog.get(name)
        assert isinstance(entry, TableEntry), entry
        waiting = self._statements.after(0 if self._batches.last is None else self._batches.last.statements)
        changes = [change for change in changes_of_tables(waiting) if change.table.lower() == name]
        store = None if name in tables_created(waiting) else self._stored_table(name)
        store = self._loaded(entry) if store is None else store
        return store.present(changes, self._batches.progress.tables.get(name, BEGINNING))

    def _loaded(self, entry: TableEntry) -> TableStore:
        """A table that no micro-batch has loaded yet."""
        store = TableStore(entry, Dictionary())
        if entry.connector is not None:
            source = source_of(at_its_place(entry.connector, self._checkpoint.folder), entry.columns)
            store.load(source, BEGINNING)
        return store

    def _stored_table(self, name: str) -> TableStore | None:
        """A table as of the last commit: every shard has all of it; None when no batch has seen it yet."""
        versions = {} if self._batches.last is None else self._batches.last.versions
        return read_table(self._checkpoint.folder, versions[min(versions)], name.lower()) if versions else None

    def rejected_of_table(self, name: str) -> pa.Table | None:
        """Rows of a table's source that could not be taken."""
        store = self._stored_table(name)
        return None if store is None else store.rejected.table()

    def running(self, query: str) -> RunningQuery | None:
        """A query of the current version of the plan."""
        return self._plans.running(query)

    def start_of(self, query: str) -> int | None:
        """When a query started; its time begins with the first row of its streams."""
        running, progress = self._plans.running(query), self._batches.progress
        first = FOREVER if running is None else progress.first_of(running.reader.streams)
        return None if running is None or first == FOREVER else max(running.started, first)

    def emitted(self, query: Emitting, mode: Mode) -> pa.Table:
        """What the log has of what a query emitted in a mode."""
        return self.log.emitted(query, mode)

    def lookup(self, cql: str, at: int | None = None) -> pa.Table:
        """The answer of a query at once, from a synopsis that is maintained for others: any window that it covers."""
        running: dict[GroupSynopsis, RunningQuery] = {}  # what has rows from long ago first
        for query in sorted(self._plans.current.queries, key=lambda query: query.start):
            if query.lookup is not None:
                running.setdefault(synopsis_below(query.lookup), query)
        plan = covered(self._session.plan(cql), list(running))
        with self._asking:
            query = running[synopsis_below(plan)]
            return answer_at(LookedUp(plan, Dictionary()), self._synopses_of(query), self.watermark_of(query.plan), at)

    def looked_up(self, query: str, at: int | None) -> pa.Table:
        """The answer of a query that is looked up; None asks for the latest final instant."""
        running, plan = self._lookup(query)
        with self._asking:
            return answer_at(plan, self._synopses_of(running), self.watermark_of(running.plan), at)

    def newest_looked_up(self, query: str) -> pa.Table:
        """The newest answer of a query that is looked up that has not expired."""
        running, plan = self._lookup(query)
        with self._asking:
            synopses, last_row = self._synopses_of(running), self.last_row_of(running.plan)
            return newest_answer(plan, synopses, self.watermark_of(running.plan), last_row)

    def _lookup(self, query: str) -> tuple[RunningQuery, LookedUp]:
        if (aside := self._plans.aside.get(query.lower())) is not None:
            failing = query_aside(query, aside.since, aside.message)
            raise WindrowError(f"{query} is set aside: {failing.message}", failing.hint)
        running = self._plans.planned(query, self._batches.progress)
        assert running.lookup is not None, query
        return running, LookedUp(running.lookup, Dictionary())

    def _synopses_of(self, running: RunningQuery) -> Sequence[MaintainedSynopsis]:
        memory = self._session.catalog.synopsis_memory
        return self._synopses.of(running, self._plans.current, self._batches.last, memory)

    def as_it_runs(self, query: str, optimized: Node) -> PreparedQuery:
        """A query as it runs, or will from the next micro-batch on, and those that it may share with."""
        queries, running = self._plans.current.queries, self._plans.running(query)
        if running is None or running.key != self._plans.key(query):
            queries = self._plans.next_queries(self._batches.progress, lambda plan: True)
        own = next(running for running in queries if running.name.lower() == query)
        others = (other for other in queries if (other.strategy, other.apart) == (own.strategy, own.apart))
        plans = {other.name.lower(): self._with_synopsis(other) for other in others}
        return PreparedQuery(plans, optimized, own.strategy)

    def started(self) -> dict[str, RunningQueryPlan]:
        """All queries as they run."""
        queries = self._plans.current.queries
        return {
            query.name.lower(): RunningQueryPlan(
                self._with_synopsis(query),
                query.strategy,
                query.start,
                BEGINNING if query.apart is None else query.apart,
            )
            for query in queries
        }

    def _with_synopsis(self, query: RunningQuery) -> Node:
        """The plan of a query that is looked up over its synopsis in the form that questions find it in."""
        if query.lookup is None:
            return query.plan
        synopsis = self._synopses.form_of(query)
        return bottom_up(query.lookup, lambda node: synopsis if isinstance(node, GroupSynopsis) else None)
