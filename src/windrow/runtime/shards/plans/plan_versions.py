"""The versions of the running plan: a new one when statements have changed what runs, written before a batch uses it.

A query that runs keeps its plan from version to version, for as long as the statement that created it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from windrow.catalog import QueryEntry, StreamEntry, TableEntry
from windrow.plan.analysis.source_columns import source_columns
from windrow.plan.nodes import Node
from windrow.runtime.outputs.sinks import SinkForm
from windrow.runtime.progress import Progress
from windrow.runtime.shards.batch_spec import plan_to_bytes
from windrow.runtime.shards.plans.new_queries import taken_up
from windrow.runtime.shards.plans.query_plans import QueryPlans
from windrow.runtime.shards.reading import columns_read
from windrow.runtime.shards.running_plan import RunningPlan, RunningQuery, query_key
from windrow.runtime.shards.statement_log import SetAside
from windrow.runtime.shards.storage.checkpoint import Checkpoint, Commit
from windrow.runtime.streams.stream_reports import EngineProgress
from windrow.session import Session


class PlanVersions:
    def __init__(self, session: Session, checkpoint: Checkpoint, shards: int) -> None:
        self._session = session
        self._checkpoint = checkpoint
        self._planner = QueryPlans(session)
        self._created: dict[str, int] = {}  # the numbers of the statements that created the queries
        self._forms: dict[str, tuple[SinkForm, ...]] = {}  # that readers of queries have asked for
        self.aside: dict[str, SetAside] = {}
        self._shards = shards  # that there are to be from the next version on
        self.current = RunningPlan(0, shards, {}, {}, ())
        self._content: tuple[object, bytes] = (None, b"")
        self._is_settled = False  # whether all queries are in the current version that are to be

    @property
    def content(self) -> bytes:
        """The current version as workers get it; it is written out once."""
        of = self.current.version, tuple(self._checkpoint.aggregates.values())
        if self._content[0] != of:
            self._content = of, plan_to_bytes(self.current, self._checkpoint.aggregates)
        return self._content[1]

    def engine_progress(self, last: Commit | None) -> EngineProgress:
        """How far everybody was after a batch."""
        readers = {query.name: query.reader for query in self.current.queries}
        limit = self._session.catalog.waiting_limit
        if last is None:
            return EngineProgress(Progress(), readers, {}, limit)
        return EngineProgress(last.progress, readers, last.held, limit)

    def resume(self, version: int) -> None:
        """Go on with a version that was written before."""
        if version != self.current.version:
            self.current, self._is_settled = self._checkpoint.plan(version), False

    def create(self, query: str, statement: int) -> None:
        """A query runs from the next version on, under the number of the statement that created it."""
        self._created[query.lower()] = statement

    def drop(self, query: str) -> None:
        self._forms.pop(query.lower(), None)
        self.aside.pop(query.lower(), None)

    def set_aside(self, failed: SetAside) -> None:
        """A query is in no version from the next one on."""
        self.aside[failed.query] = failed

    def resume_query(self, query: str, statement: int) -> None:
        """It runs again from the next version on, as another one that the statement created."""
        self.aside.pop(query.lower(), None)
        self.create(query, statement)

    def leave_out(self, queries: Collection[str]) -> None:
        """Make and write a version that is the current one without some queries, by their keys."""
        self._is_settled = False
        left = tuple(query for query in self.current.queries if query.key not in queries)
        self.current = self._checkpoint.log_plan(replace(self.current, queries=left))

    def add_form(self, query: str, form: SinkForm) -> None:
        self._forms[query.lower()] = (*self._forms.get(query.lower(), ()), form)

    def forms(self, query: RunningQuery) -> tuple[SinkForm, ...]:
        """In which a query is emitted besides its changes and refreshes, or will be from the next version on."""
        return tuple(dict.fromkeys((*query.forms, *self._forms.get(query.name.lower(), ()))))

    def key(self, query: str) -> str:
        return query_key(query, self._created[query.lower()])

    def running(self, query: str) -> RunningQuery | None:
        """A query of the current version."""
        return self.current.by_name.get(query.lower())

    def planned(self, query: str, progress: Progress) -> RunningQuery:
        """A query as it runs, or as it will from the next version on."""
        entry = self._session.catalog.get(query)
        assert isinstance(entry, QueryEntry)
        number = self._created[query.lower()]
        return self.current.by_statement.get(number) or self.plan(entry, number, progress)

    def plan(self, entry: QueryEntry, number: int, progress: Progress) -> RunningQuery:
        """How a query would run that starts with the next batch."""
        return self._planner.running(entry, number, progress)

    def advance(
        self, progress: Progress, is_fed: Callable[[Node], bool], later: Collection[str], has_statements: bool
    ) -> None:
        """Make and write the next version, if anything differs from the current one; without what comes `later`.

        When no statement has come nothing differs, unless a query waits for what it reads.
        """
        if self._is_settled and not has_statements:
            return
        catalog = self._session.catalog
        streams = {name: entry for entry in catalog.entries(StreamEntry) if (name := entry.name.lower()) not in later}
        tables = {name: entry for entry in catalog.entries(TableEntry) if (name := entry.name.lower()) not in later}
        queries = self.next_queries(progress, is_fed, later)
        changed = replace(self.current, shards=self._shards, streams=streams, tables=tables, queries=queries)
        if changed != self.current:
            self.current = self._checkpoint.log_plan(taken_up(changed, self.current, progress))
        running = {query.name.lower() for query in queries}
        self._is_settled = all(name in running for name in self._wanted(later))

    def next_queries(
        self, progress: Progress, is_fed: Callable[[Node], bool], later: Collection[str] = ()
    ) -> tuple[RunningQuery, ...]:
        """The queries of the next version, as they will run."""
        known = self.current.by_statement
        wanted = (self.planned(name, progress) for name in self._wanted(later))
        fed = [replace(query, forms=self.forms(query)) for query in wanted if is_fed(query.plan)]
        return tuple(self._planner.sharing(fed, new=[query for query in fed if query.statement not in known]))

    def _wanted(self, later: Collection[str]) -> list[str]:
        """The names of the queries that are to run."""
        names = (entry.name.lower() for entry in self._session.catalog.entries(QueryEntry))
        return [name for name in names if name not in self.aside and name not in later]

    def columns_read(self, stream: StreamEntry, progress: Progress) -> list[str]:
        """The columns of a stream that the queries read, and those that place its rows in time."""
        queries = self._session.catalog.entries(QueryEntry)
        plans = [self.planned(entry.name, progress).plan for entry in queries]
        return columns_read(stream, source_columns(plans).get(stream.name.lower(), frozenset()))
