"""Statements after binding: names looked up, types checked, ready to run."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.catalog import Entry
from windrow.plan.expressions import Expression, Value
from windrow.plan.nodes import Node
from windrow.units import Duration, Timestamp


@dataclass(frozen=True)
class Create:
    entry: Entry


@dataclass(frozen=True)
class Alter:
    """`changes` are fields of the stream's entry, with what they are from now on."""

    stream: str
    changes: tuple[tuple[str, Duration | None], ...]


@dataclass(frozen=True)
class Drop:
    """`name` is None when there was nothing to drop and IF EXISTS allowed that."""

    kind: str
    name: str | None


@dataclass(frozen=True)
class TableChange:
    """INSERT gives rows, UPDATE assignments, UPDATE and DELETE a predicate (None: all rows).

    No effect time means the watermark of the moment at which the change is applied.
    """

    kind: str
    table: str
    rows: tuple[tuple[Value, ...], ...] = ()
    assignments: tuple[tuple[str, Expression], ...] = ()
    predicate: Expression | None = None
    effect: Timestamp | None = None


@dataclass(frozen=True)
class InsertAnswer:
    """`INSERT INTO table SELECT ...`: the answer of a question, once, as rows of a table."""

    table: str
    plan: Node  # with the columns of the table
    not_null: frozenset[str]
    effect: Timestamp | None = None


@dataclass(frozen=True)
class Existing:
    """What IF NOT EXISTS asks for is there already."""

    entry: Entry


@dataclass(frozen=True)
class ShowStatement:
    """SHOW CREATE."""

    entry: Entry


@dataclass(frozen=True)
class Show:
    what: str


@dataclass(frozen=True)
class Describe:
    entry: Entry


@dataclass(frozen=True)
class Explain:
    """`query` is the name of the query, when it has one; `form` is None when none is written."""

    query: str | None
    plan: Node
    form: str | None


@dataclass(frozen=True)
class Set:
    name: str
    value: str


@dataclass(frozen=True)
class ResumeQuery:
    """A query that was set aside, by its name in lower case, starts anew."""

    query: str


@dataclass(frozen=True)
class Ask:
    """A query without a name: over tables and answers that are kept it is answered once, as they are."""

    plan: Node


Statement = (
    Create
    | Existing
    | Alter
    | Drop
    | TableChange
    | InsertAnswer
    | Show
    | ShowStatement
    | Describe
    | Explain
    | Set
    | ResumeQuery
    | Ask
)
