"""What the catalog holds: streams, tables, windows and queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from windrow.masking import is_secret, masked
from windrow.plan.expressions import Value
from windrow.plan.nodes import Node
from windrow.plan.schema import Field
from windrow.types import Type
from windrow.units import NO_TIME, Duration, Timestamp


@dataclass(frozen=True)
class ColumnDefinition:
    name: str
    type: Type
    nullable: bool = True
    computed: str | None = None  # from the other columns of its row: an expression, as text


def _shown(value: Value) -> Value:
    return masked(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Connector:
    """Where rows come from or go to: `parquet('folder', max_files => 10)`."""

    name: str
    arguments: tuple[Value, ...] = ()
    options: tuple[tuple[str, Value], ...] = ()

    def option(self, name: str) -> Value:
        return dict(self.options).get(name)

    def __repr__(self) -> str:
        """Without secrets: it is shown."""
        options = tuple((name, "***" if is_secret(name) else _shown(value)) for name, value in self.options)
        return f"Connector(name={self.name!r}, arguments={tuple(map(_shown, self.arguments))!r}, options={options!r})"


@dataclass(frozen=True)
class Punctuation:
    """Rows that say what will not come any more: those that satisfy `where`, a condition as text.

    With columns in `by`: no row with their values and a later time. Without: no row with an earlier time.
    """

    where: str | None
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class StreamEntry:
    """A stream; no timestamp column means arrival time, ties are broken by `ties` and then by the row's values."""

    kind: ClassVar[str] = "stream"
    name: str
    columns: tuple[ColumnDefinition, ...]
    connector: Connector | None = None
    timestamp: str | None = None
    ties: tuple[str, ...] = ()
    slack: Duration = NO_TIME
    lifetime: str | None = None
    heartbeat: Duration | None = None
    idle_after: Duration | None = None
    ahead: Duration | None = None  # of arrival; MAX_DURATION when all is believed, None when nothing is declared
    ahead_of_newest: Duration | None = None
    punctuations: tuple[Punctuation, ...] = ()
    late_sink: Connector | None = None
    rejected_sink: Connector | None = None

    @property
    def given(self) -> tuple[ColumnDefinition, ...]:
        """The columns that rows come with; the others are computed from them."""
        return tuple(column for column in self.columns if column.computed is None)

    @property
    def punctuated(self) -> tuple[str, ...]:
        """The columns whose values punctuations close."""
        return next((punctuation.by for punctuation in self.punctuations if punctuation.by), ())


@dataclass(frozen=True)
class TableEntry:
    """A table; `effective` names the column that says when a row of its source takes effect."""

    kind: ClassVar[str] = "table"
    name: str
    columns: tuple[ColumnDefinition, ...]
    primary_key: tuple[str, ...] = ()
    retroactive: bool = True
    connector: Connector | None = None
    effective: str | None = None


@dataclass(frozen=True)
class WindowEntry:
    """A declared window: rows of a stream that are kept, and that others read; its plan is bound from its text."""

    kind: ClassVar[str] = "window"
    name: str
    text: str
    uses: tuple[str, ...] = ()
    plan: Node | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class ViewEntry:
    """A name for the text of a query, which others read; nothing is kept under it."""

    kind: ClassVar[str] = "view"
    name: str
    text: str
    uses: tuple[str, ...] = ()
    plan: Node | None = field(default=None, compare=False, repr=False)


EXACT, BEST_EFFORT, ON_LOOKUP = "exact", "best effort", "on lookup"


@dataclass(frozen=True)
class QueryEntry:
    """A persistent query: its answer is kept up to date, or ON LOOKUP ready to be asked for, until it is dropped."""

    kind: ClassVar[str] = "query"
    name: str
    text: str
    uses: tuple[str, ...] = ()
    refresh: str = EXACT
    sink: Connector | None = None
    starting_now: bool = False  # only rows from its creation on
    until: Timestamp | None = None  # it is dropped when its streams have come so far
    lasting: Duration | None = None  # or so long after it began
    plan: Node | None = field(default=None, compare=False, repr=False)

    @property
    def is_on_lookup(self) -> bool:
        return self.refresh == ON_LOOKUP

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of its answer."""
        assert self.plan is not None, f"{self.name} has not been bound"
        return tuple(self.plan.schema)


Entry = StreamEntry | TableEntry | WindowEntry | ViewEntry | QueryEntry
KINDS: dict[str, type[Entry]] = {of.kind: of for of in (StreamEntry, TableEntry, WindowEntry, ViewEntry, QueryEntry)}


def fields_of(entry: StreamEntry | TableEntry) -> tuple[Field, ...]:
    return tuple(Field(column.name, column.type) for column in entry.columns)
