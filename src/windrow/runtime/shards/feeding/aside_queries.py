"""Queries that are set aside: an operator below them has raised, and the batches go on without them.

That a query is set aside, and that it is resumed, is logged like a statement; a batch that is run again leaves out the
same queries. The last good answer is written down, for who asks and for the difference that sinks get later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from windrow.clock import Clock
from windrow.cql import ResumeQuery
from windrow.runtime.health import Failing, not_aside, query_aside
from windrow.runtime.lookups.lookup_query import LookupQuery
from windrow.runtime.outputs.feed import LOG
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.feeding.publishing import Publishing
from windrow.runtime.shards.feeding.stored_answers import ASIDE
from windrow.runtime.shards.plans.plan_versions import PlanVersions
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.shards.statement_log import LoggedStatement, SetAside
from windrow.runtime.shards.storage.checkpoint import Checkpoint


class AsideQueries:
    """`queries` has all there are by name, `record` logs a statement and applies it."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        plans: PlanVersions,
        publishing: Publishing,
        queries: Mapping[str, ShardedQuery | LookupQuery],
        record: Callable[[LoggedStatement], None],
        clock: Clock,
    ) -> None:
        self._checkpoint, self._plans, self._publishing = checkpoint, plans, publishing
        self._queries, self._record, self._clock = queries, record, clock

    def health(self) -> list[Failing]:
        asides = self._plans.aside.items()
        return [query_aside(self._queries[name].name, one.since, one.message) for name, one in asides]

    def without(self, spec: BatchSpec, failed: Mapping[str, str]) -> BatchSpec:
        """The same batch without queries that failed, by their keys with what was raised."""
        for running in self._plans.current.queries:
            name = running.name.lower()
            if running.key in failed and name not in self._plans.aside and name in self._queries:
                self._set_aside(name, failed[running.key], spec.number)
        return self._left_out(spec, failed)

    def _set_aside(self, name: str, why: str, batch: int) -> None:
        query = self._queries[name]
        if isinstance(query, ShardedQuery):
            self._publishing.set_aside(query, batch)
            self._know_last_answer(query)
        LOG.warning("query %s is set aside: %s", query.name, why)
        self._record(SetAside(name, why, self._clock.now(), batch))

    def again(self, spec: BatchSpec) -> BatchSpec:
        """A batch that was begun before, without the queries that were set aside in it then."""
        aside = {one.query for one in self._plans.aside.values() if one.batch == spec.number}
        left_out = [query.key for query in self._plans.current.queries if query.name.lower() in aside]
        return self._left_out(spec, left_out) if left_out else spec

    def _left_out(self, spec: BatchSpec, queries: Collection[str]) -> BatchSpec:
        self._plans.leave_out(queries)
        return replace(spec, plan_content=self._plans.content, plan_version=self._plans.current.version)

    def is_aside(self, name: str) -> bool:
        return name.lower() in self._plans.aside

    def check(self, statement: ResumeQuery) -> None:
        """Only what is set aside can run again."""
        if not self.is_aside(statement.query):
            raise not_aside(statement.query, list(self._plans.aside))

    def apply(self, statement: SetAside | ResumeQuery, number: int) -> None:
        """What was logged under a number."""
        if isinstance(statement, SetAside):
            self._plans.set_aside(statement)
            return
        self._plans.resume_query(statement.query, number)
        query = self._queries[statement.query]
        if isinstance(query, ShardedQuery):
            query.aside = None
            query.keys.append(self._plans.key(statement.query))

    def restore(self) -> None:
        """After a restart: have those that are set aside know their last good answers."""
        aside = [query for name in self._plans.aside if isinstance(query := self._queries[name], ShardedQuery)]
        for query in aside:
            self._know_last_answer(query)
        self._publishing.forget_strangers(aside)

    def _know_last_answer(self, query: ShardedQuery) -> None:
        query.aside = self._publishing.answers.read(query.keys[0], ASIDE, query.plan.schema.types)
