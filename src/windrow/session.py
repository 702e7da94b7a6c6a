"""A session: applies statements to a catalog and explains queries.

It plans and keeps names; running queries is the matter of a runtime, which gets every statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from windrow.catalog import Catalog, ColumnDefinition, Connector, QueryEntry, ViewEntry, WindowEntry
from windrow.catalog.own_functions import own_of, with_a_free_name
from windrow.cql import (
    NONE,
    Alter,
    Ask,
    Create,
    Describe,
    Drop,
    Existing,
    Explain,
    InsertAnswer,
    ResumeQuery,
    Set,
    Show,
    ShowStatement,
    Statement,
    TableChange,
    compile_query,
    statements,
)
from windrow.create_text import create_text
from windrow.errors import AggregateError, CatalogError, WindrowError
from windrow.listing import description, listing
from windrow.optimizer import REQUIRED, Optimized, optimize
from windrow.plan.aggregate_class import AggregateClass
from windrow.plan.coverage import coverage_lines
from windrow.plan.explain import Alternative, Distribution, Explanation, explain, json_text, picture_text, tree_text
from windrow.plan.nodes import Node
from windrow.plan.printer import query_text
from windrow.plan.running_nodes import GroupSynopsis
from windrow.plan.strategy import Strategy
from windrow.plan.user_aggregate import Own, UserAggregate, UserFunction
from windrow.sharing.prepare import prepare
from windrow.sharing.shared_with import SHARING, shared_with, sharing_rows
from windrow.sharing.starting import Plans, PreparedQuery, RunningQueryPlan, Settings, StartingQuery, upsert_key
from windrow.types import Type
from windrow.units import BEGINNING, format_timestamp


@dataclass(frozen=True)
class Result:
    """What a statement gave: a sentence, and a table where there is one to show.

    `answer` has the rows of a SELECT as Arrow, when a runtime has answered it.
    """

    statement: Statement
    message: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    explanation: Explanation | None = None
    answer: Any = None

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """The sentence, and below it the table in columns."""
        if not self.columns:
            return self.message
        widths = [max(map(len, cells)) for cells in zip(self.columns, *self.rows, strict=True)]
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in (self.columns, *self.rows))
        return "\n".join([self.message, *lines])


class _PlanSettings(NamedTuple):
    """The settings that a query has from its CREATE on, whatever is set later."""

    strategy: Strategy
    is_optimized: bool


def _source_columns(connector: Connector) -> tuple[ColumnDefinition, ...]:
    from windrow.sources.source_columns import source_columns  # reads files, as most statements need not

    return source_columns(connector)


def _settings_of(catalog: Catalog) -> _PlanSettings:
    return _PlanSettings(Strategy(catalog.setting("strategy")), catalog.setting("optimizer") == "on")


class Session:
    """Statements in, results out; durable when a folder is given."""

    def __init__(
        self,
        folder: Path | str | None = None,
        aggregates: Sequence[Own] = (),
        distribution: Distribution | None = None,
        on_register: Callable[[Own], Own] = lambda registered: registered,
        running: Callable[[str], PreparedQuery | None] | None = None,
    ) -> None:
        """`aggregates` are the user's own that queries of the folder call; with a `distribution`, EXPLAIN shows it.

        `on_register` gets every aggregate that is registered later, and gives the one that its name stands for.
        `running` gives the queries of a runtime as they run; without it all are planned as if they started together.
        """
        self.catalog = Catalog(folder)
        self.catalog.source_columns = _source_columns
        self._distribution = distribution
        self._running = running or self._planned
        self._created: dict[str, _PlanSettings] = {}
        self._planned_queries: dict[str, PreparedQuery] = {}
        self._optimized: dict[tuple[Node, bool, int], Optimized] = {}
        self._on_register = on_register
        self.remarks: Callable[[], Mapping[str, str]] = dict  # by a runtime, for SHOW: by names in lower case
        self.started: Callable[[], Mapping[str, RunningQueryPlan]] = partial(_planned_together, self)
        self.completeness: Callable[[], Mapping[str, str]] = dict  # since when queries are complete, in the same way
        for aggregate in aggregates:
            self._know(with_a_free_name(aggregate))
        self._bind_stored()

    def execute(self, text: str, **parameters: Any) -> list[Result]:
        """Run the statements of a text in order; what was done before a wrong one stays done.

        `parameters` are the values of `:name` in the text.
        """
        return list(self.run(text, parameters))

    def run(self, text: str, parameters: Mapping[str, Any] = NONE) -> Iterator[Result]:
        """The same, one result after the other, for a caller that acts on each before the next is read."""
        try:
            for statement in statements(text, self.catalog, parameters):
                yield self.apply(statement)
        finally:
            self.catalog.sync()

    def apply(self, statement: Statement) -> Result:
        """Run a statement that was bound before, by this session or by an earlier one."""
        self._planned_queries, self._optimized = {}, {}
        return APPLIED[type(statement)](self, statement)

    def explain(self, text: str) -> list[Explanation]:
        """Run a text and explain every query in it, named or not."""
        return [self.explain_query(*asked) for result in self.execute(text) if (asked := _query_of(result.statement))]

    def plan(self, text: str) -> Node:
        """The optimized plan of one query."""
        return self.optimized(compile_query(text, self.catalog))

    def register_aggregate(
        self,
        name: str,
        arguments: Sequence[Type],
        result: Type,
        functions: Any,
        kind: str = "algebraic",
        duplicate_sensitive: bool = True,
        vectorized: bool = False,
    ) -> None:
        """Make an aggregate of your own known to CQL, as `Engine.register_aggregate` says."""
        if kind not in (known.value for known in AggregateClass):
            raise WindrowError(f"{kind!r} is not a class of aggregates", "distributive, algebraic and holistic are")
        functions = functions() if isinstance(functions, type) else functions
        of = AggregateClass(kind)
        made = UserAggregate(name, tuple(arguments), result, functions, of, duplicate_sensitive, vectorized)
        self._know(self._on_register(with_a_free_name(made)))

    def register_function(
        self, name: str, arguments: Sequence[Type], result: Type, function: Callable[..., Any], vectorized: bool = False
    ) -> None:
        """Make a scalar function of your own known to CQL, as `Engine.register_function` says."""
        made = UserFunction(name, tuple(arguments), result, function, vectorized)
        self._know(self._on_register(with_a_free_name(made)))

    def failures(self, aggregate: str) -> list[AggregateError]:
        """What the functions of an aggregate of your own have raised; the newest are kept."""
        own = own_of(self.catalog)
        found = own.get(aggregate.upper())
        if found is None:
            known = ", ".join(own) or "none"
            raise WindrowError(f"there is no aggregate {aggregate}", f"aggregates of your own: {known}")
        return list(found.failures.newest)

    def _know(self, own: Own) -> None:
        if isinstance(own, UserAggregate):
            self.catalog.aggregates[own.name] = own
        else:
            self.catalog.functions[own.name] = own

    def close(self) -> None:
        self.catalog.close()

    def _bind_stored(self) -> None:
        """Windows and queries come from the folder as text; bind them in the order they were created."""
        named = (entry for entry in self.catalog.everything() if isinstance(entry, WindowEntry | ViewEntry))
        stored: list[WindowEntry | ViewEntry | QueryEntry] = [*named, *self.catalog.entries(QueryEntry)]
        for entry in stored:
            try:
                plan = compile_query(entry.text, self.catalog)
            except WindrowError as error:
                self.close()
                hint = "hand its aggregates over with the folder: aggregates=[UserAggregate(...)]"
                raise CatalogError(
                    f"the stored {entry.kind} {entry.name} cannot be planned: {error.message}", hint
                ) from None
            self.catalog.set_plan(replace(entry, plan=plan))

    def _create(self, statement: Create) -> Result:
        self.catalog.put(statement.entry)
        self._created[statement.entry.name.lower()] = _settings_of(self.catalog)
        return Result(statement, f"created {statement.entry.kind} {statement.entry.name}")

    def _drop(self, statement: Drop) -> Result:
        if statement.name is None:
            return Result(statement, "nothing to drop")
        self.catalog.drop(statement.name)
        self._created.pop(statement.name.lower(), None)
        return Result(statement, f"dropped {statement.kind} {statement.name}")

    def _change(self, statement: TableChange) -> Result:
        return Result(statement, _change_message(statement))  # rows are the matter of a runtime

    def _set(self, statement: Set) -> Result:
        self.catalog.set(statement.name, statement.value)
        return Result(statement, f"{statement.name} is {statement.value}")

    def _show(self, statement: Show) -> Result:
        if statement.what == "sharing":
            shared = tuple(sharing_rows(self.started()))
            return Result(statement, f"shared parts: {len(shared)}", SHARING, shared)
        columns, rows = listing(statement.what, self.catalog, self.remarks(), self.completeness())
        return Result(statement, f"{statement.what}: {len(rows)}", columns, tuple(rows))

    def _describe(self, statement: Describe) -> Result:
        columns, rows = description(statement.entry)
        return Result(statement, f"{statement.entry.kind} {statement.entry.name}", columns, tuple(rows))

    def _explain(self, statement: Ask | Explain) -> Result:
        asked = _query_of(statement)
        assert asked is not None, statement
        explanation = self.explain_query(*asked)
        form = statement.form if isinstance(statement, Explain) and statement.form else self.catalog.setting("explain")
        return Result(statement, FORMS[form]([explanation]), explanation=explanation)

    def explain_query(self, name: str | None, bound: Node) -> Explanation:
        """How a query runs, or will when it starts."""
        key, spread = (name or "").lower(), self._distribution
        query = self._running(key) or _prepared(self, [self.starting(key, bound)])[key]
        plan, settings = query.plans[key], self._created.get(key) or _settings_of(self.catalog)
        today = self._optimize_once(bound, settings.is_optimized)
        explained = explain(
            plan,
            self.catalog.statistics,
            name,
            query_text(bound),
            tuple(_alternatives(today, query.optimized)),
            None if spread is None else spread.shards,
            () if spread is None else spread.sources(plan),
            query.strategy.value,
            shared_with(key, query.plans),
        )
        return replace(explained, coverage=coverage_lines(query.coverage))

    def starting(self, name: str, bound: Node, start: int = BEGINNING) -> StartingQuery:
        """A query as it is when it starts, under the settings of its CREATE."""
        entry = self.catalog.get(name)
        settings = self._created.get(name) or _settings_of(self.catalog)
        optimized = self._optimize_once(bound, settings.is_optimized).plan
        query = StartingQuery(name, bound, optimized, start, settings.strategy, settings.is_optimized)
        if not isinstance(entry, QueryEntry):
            return query
        return replace(query, is_looked_up=entry.is_on_lookup, upsert_key=upsert_key(entry.sink, optimized))

    def prepare(
        self,
        queries: Iterable[StartingQuery],
        synopses: Sequence[GroupSynopsis] = (),
        running: Iterable[RunningQueryPlan] = (),
    ) -> Plans:
        """The plans of queries that start, as they will run beside synopses and plans that run already."""
        catalog = self.catalog
        settings = Settings(catalog.synopsis_memory, is_sharded=self._distribution is not None)
        return prepare(queries, settings, catalog.statistics, synopses, running)

    def _planned(self, name: str) -> PreparedQuery | None:
        """A query of the catalog, as it would run if all of them started together."""
        if not self._planned_queries:
            entries = {entry.name.lower(): entry.plan for entry in self.catalog.entries(QueryEntry)}
            queries = (self.starting(name, plan) for name, plan in entries.items() if plan is not None)
            self._planned_queries = _prepared(self, list(queries))
        return self._planned_queries.get(name)

    def optimized(self, plan: Node) -> Node:
        """The plan that runs: rewritten by the optimizer unless it is set off."""
        return _optimized(plan, self.catalog, _settings_of(self.catalog).is_optimized).plan

    def _optimize_once(self, bound: Node, is_optimized: bool) -> Optimized:
        """For queries that start and are explained, under the same statement and statistics."""
        key = bound, is_optimized, self.catalog.statistics.changes
        if key not in self._optimized:
            self._optimized[key] = _optimized(bound, self.catalog, is_optimized)
        return self._optimized[key]


def _alter(session: Session, statement: Alter) -> Result:
    changes: dict[str, Any] = dict(statement.changes)
    session.catalog.put(replace(session.catalog.stream(statement.stream), **changes))
    return Result(statement, f"altered stream {statement.stream}")


def _show_statement(session: Session, statement: ShowStatement) -> Result:
    entry = statement.entry
    return Result(statement, f"{entry.kind} {entry.name}", ("statement",), ((create_text(entry),),))


APPLIED: dict[type, Callable[[Session, Any], Result]] = {
    Create: Session._create,
    Existing: lambda session, found: Result(found, f"there is already a {found.entry.kind} {found.entry.name}"),
    Alter: _alter,
    Drop: Session._drop,
    TableChange: Session._change,
    InsertAnswer: lambda session, insert: Result(insert, f"rows into {insert.table}"),  # by a runtime
    ShowStatement: _show_statement,
    Set: Session._set,
    ResumeQuery: lambda session, statement: Result(statement, f"resumed query {statement.query}"),  # by a runtime
    Show: Session._show,
    Describe: Session._describe,
    Explain: Session._explain,
    Ask: Session._explain,
}


def _query_of(statement: Statement) -> tuple[str | None, Node] | None:
    """The query that a statement is about, with its name; None when it is about something else."""
    if isinstance(statement, Ask):
        return None, statement.plan
    if isinstance(statement, Explain):
        return statement.query, statement.plan
    if isinstance(statement, Create) and isinstance(statement.entry, QueryEntry) and statement.entry.plan:
        return statement.entry.name, statement.entry.plan
    return None


def _optimized(plan: Node, catalog: Catalog, is_optimized: bool) -> Optimized:
    if is_optimized:
        return optimize(plan, catalog.statistics)
    return optimize(plan, catalog.statistics, REQUIRED, alternatives=(), finishing=())


def _prepared(session: Session, queries: Sequence[StartingQuery]) -> dict[str, PreparedQuery]:
    """Queries that start together, as they will run."""
    plans = session.prepare(queries)
    return {query.name: PreparedQuery(plans, query.optimized, query.strategy) for query in queries}


def _planned_together(session: Session) -> dict[str, RunningQueryPlan]:
    """The queries of the catalog, as they would run if all of them started together."""
    entries = {entry.name.lower(): entry.plan for entry in session.catalog.entries(QueryEntry)}
    starting = [session.starting(name, plan) for name, plan in entries.items() if plan is not None]
    prepared = _prepared(session, starting)
    return {name: RunningQueryPlan(query.plans[name], query.strategy) for name, query in prepared.items()}


def _alternatives(today: Optimized, running: Node) -> Iterator[Alternative]:
    """The plans that are considered, if the one that runs is among them; it stays when others have become cheaper."""
    if any(one.plan == running for one in today.considered):
        for one in today.considered:
            is_running = one.plan == running
            why = one.why if is_running == one.chosen else _SINCE if is_running else f"{one.why}, by now"
            yield Alternative(one.steps, one.cost.total, is_running, why)


_SINCE = "chosen when the query started"

FORMS: dict[str, Callable[[Sequence[Explanation]], str]] = {
    "tree": lambda explanations: "\n\n".join(tree_text(explanation) for explanation in explanations),
    "json": json_text,
    "picture": picture_text,
}


def _change_message(change: TableChange) -> str:
    when = "" if change.effect is None else f", effective {format_timestamp(change.effect)}"
    count = f"{len(change.rows)} row{'' if len(change.rows) == 1 else 's'} " if change.rows else ""
    return f"{change.kind.lower()} {count}{'into' if change.kind == 'INSERT' else 'in'} {change.table}{when}"
