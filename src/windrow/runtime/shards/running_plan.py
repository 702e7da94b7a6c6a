"""What runs, in the form in which it is written and sent to workers: queries since when, as plans with exchanges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from windrow.catalog import Connector, StreamEntry, TableEntry
from windrow.plan.coverage import Coverage, Covered
from windrow.plan.nodes import Node, OutputKind, OutputStream
from windrow.plan.running_nodes import WindowLookup
from windrow.plan.strategy import Strategy
from windrow.runtime.modes import Mode
from windrow.runtime.outputs.sinks import SinkForm, sink_form
from windrow.runtime.readers import Reader, reader_of
from windrow.sharing.exchanges import stage_of
from windrow.units import BEGINNING

NOTHING_COVERED = Coverage((), BEGINNING)


@dataclass(frozen=True)
class RunningQuery:
    """A query: its answers begin at `start`. One that is `apart` shares nothing, and has no rows from before it."""

    name: str
    plan: Node  # with exchanges
    start: int
    strategy: Strategy
    slide: int | None = None
    sink: Connector | None = None
    statement: int = 0  # the number of the statement that created it
    forms: tuple[SinkForm, ...] = ()  # in which it is emitted besides its changes and refreshes
    lookup: Node | None = None  # the query over its synopsis, when it is looked up; the plan is the synopsis
    is_apart: bool = False
    coverage: Coverage = NOTHING_COVERED

    @property
    def is_stream(self) -> bool:
        """Whether its answer is what comes: nothing of it is from before."""
        return isinstance(self.plan, OutputStream) and self.plan.kind is not OutputKind.RSTREAM

    @property
    def apart(self) -> int | None:
        """What tells its operators from those that others share; before the first row nothing does."""
        return self.start if self.is_apart and self.start != BEGINNING else None

    @property
    def started(self) -> int:
        """Later than what it runs on, if it is looked up in a synopsis that was there before."""
        below = () if self.lookup is None else self.lookup.walk()
        clipped = (node.since for node in below if isinstance(node, WindowLookup) and node.since is not None)
        return next(clipped, self.start)

    @property
    def sink_mode(self) -> Mode:
        return sink_form(self.sink, self.plan, self.slide).mode

    @cached_property
    def stage(self) -> int:
        return stage_of(self.plan)

    @cached_property
    def reader(self) -> Reader:
        return reader_of(self.plan, self.start)

    @cached_property
    def key(self) -> str:
        return query_key(self.name, self.statement)


def query_key(name: str, statement: int) -> str:
    """Under which a query's answer and changes are kept: one that is dropped and created again is another one."""
    return f"{name.lower()}.{statement}"


def query_statement(key: str) -> int:
    """The number of the statement that created a query, of its key."""
    return int(key.rpartition(".")[2])


def emitted_name(query: str, mode: Mode) -> str:
    """Under which a commit record has what a query, named by its key, emitted in a mode."""
    return f"{query}/{mode.value}"


@dataclass(frozen=True)
class RunningPlan:
    version: int
    shards: int
    streams: Mapping[str, StreamEntry]  # by lower-case name
    tables: Mapping[str, TableEntry]
    queries: tuple[RunningQuery, ...]
    # By exchange, of those over rows as they are read: since when it has had all of them. Earlier ones are not sent.
    since: Mapping[str, int] = field(default_factory=dict)
    covered: Mapping[str, Covered] = field(default_factory=dict)  # by state: since when it has its rows

    @cached_property
    def by_name(self) -> Mapping[str, RunningQuery]:
        """The queries by their names in lower case."""
        return {query.name.lower(): query for query in self.queries}

    @cached_property
    def by_statement(self) -> Mapping[int, RunningQuery]:
        """The queries by the numbers of the statements that created them."""
        return {query.statement: query for query in self.queries}

    @property
    def sources(self) -> frozenset[str]:
        """The names of streams and tables."""
        return frozenset((*self.streams, *self.tables))

    @cached_property
    def readers(self) -> tuple[Reader, ...]:
        """The queries as time sees them."""
        return tuple(query.reader for query in self.queries)

    @cached_property
    def used_streams(self) -> frozenset[str]:
        return frozenset[str]().union(*(reader.streams for reader in self.readers))

    @cached_property
    def stages(self) -> int:
        """How many times rows move."""
        return max((query.stage for query in self.queries), default=1)
