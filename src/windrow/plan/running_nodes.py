"""The nodes that only say how a plan runs: put into it when queries start, and never written by anybody.

    parts of results     WithEnd, Numbered, EndWithParts, Stamped
    RESTORE              RestoredInserts, RestoredAnswer
    shards               Exchange
    many selections      IndexedSelection
    slices               SlicePartials, SharedSlices, SliceSummaries, SubWindows, LastSubWindows, MergeGroups
    synopses             WindowSynopsis, JoinSynopsis, PeriodicSynopsis
    what asks synopses   WindowLookup, JoinLookup, PeriodicLookup

None of them is a kind of a logical node: who handles nodes names each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from windrow.plan.expressions import ColumnReference, Expression, Named, NamedAggregate, columns_of
from windrow.plan.nodes import GroupBy, Node, grouped_schema, plan_node, require_columns
from windrow.plan.schema import Field, Schema
from windrow.plan.windows import Window
from windrow.types import BIGINT, TIMESTAMP


@plan_node
class WithEnd(Node):
    """The input with a column that holds each result's end, null when there is none.

    This node and the next two follow external parts through a query with INTERNAL windows. `slide` is how far apart the
    query's refreshes are.
    """

    input: Node
    name: str
    slide: int | None = None

    def _derive_schema(self) -> Schema:
        return self.input.schema + Schema((Field(self.name, TIMESTAMP),))


@plan_node
class Numbered(Node):
    """The input with a column that tells its results apart, for results whose end is not known."""

    input: Node
    name: str
    slide: int | None = None

    def _derive_schema(self) -> Schema:
        return self.input.schema + Schema((Field(self.name, BIGINT),))


@plan_node
class EndWithParts(Node):
    """Results that end with the first of their external parts, without the columns that say so.

    `ends` are columns that hold the end of a part, `numbers` those that hold the number of a tuple of a part, with the
    name of that part.
    """

    input: Node
    ends: tuple[str, ...]
    numbers: tuple[tuple[str, str], ...]

    def _derive_schema(self) -> Schema:
        dropped = {*self.ends, *(column for column, _ in self.numbers)}
        return Schema(tuple(field for field in self.input.schema if field.name not in dropped))

    @property
    def parts(self) -> tuple[Numbered, ...]:
        """Those whose tuples are watched, one for each column of numbers."""
        known = {part.name: part for part in _numbered(self.input)}
        return tuple(known[name] for _, name in self.numbers)


def _numbered(node: Node) -> Iterator[Numbered]:
    if isinstance(node, Numbered):
        yield node
    elif not isinstance(node, EndWithParts):
        for below in node.inputs:
            yield from _numbered(below)


@plan_node
class Stamped(Node):
    """An append-only input with a column that holds the time at which each row came."""

    input: Node
    name: str

    def _derive_schema(self) -> Schema:
        return self.input.schema + Schema((Field(self.name, TIMESTAMP),))


@plan_node
class RestoredInserts(Node):
    """What comes new while the input is refreshed on every tuple, at the next of the refreshes every `slide`."""

    input: Node
    slide: int


@plan_node
class RestoredAnswer(Node):
    """The answer at refreshes, every `slide`, with what came since the one before and is not in it (any more).

    `continuous` is the same query, refreshed on every tuple.
    """

    answer: Node
    continuous: Node
    slide: int


@plan_node
class Exchange(Node):
    """Rows move to the shard that the values of the keys belong to, or all to one; `stage` is where they arrive.

    It changes nothing about an answer, only where it is computed. Plans that run in one process have none.
    """

    input: Node
    keys: tuple[Expression, ...]
    stage: int

    def __post_init__(self) -> None:
        for key in self.keys:
            require_columns(self, columns_of(key), self.input.schema)


@plan_node
class IndexedSelection(Node):
    """The rows that satisfy a predicate, found by an index of all predicates over the same input."""

    input: Node
    predicate: Expression

    def __post_init__(self) -> None:
        require_columns(self, columns_of(self.predicate), self.input.schema)


def below_exchange(node: Node) -> Node:
    """The node under exchanges on top."""
    return below_exchange(node.input) if isinstance(node, Exchange) else node


@plan_node
class SlicePartials(Node):
    """The rows of a group that begin and end together as one row of partial results."""

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    partials: tuple[Field, ...]

    def _derive_schema(self) -> Schema:
        return Schema(tuple(Field(key.name, key.expression.type) for key in self.keys) + self.partials)


@plan_node
class SharedSlices(Node):
    """Rows of a group within the same `width` of time as one row of partial results, below windows that share them.

    The input is a stream, or shared slices whose width divides this one.
    """

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    partials: tuple[Field, ...]
    width: int

    def _derive_schema(self) -> Schema:
        return Schema(tuple(Field(key.name, key.expression.type) for key in self.keys) + self.partials)


@plan_node
class SliceSummaries(Node):
    """Slices that are complete, with the counters of their values cut to what is kept of them."""

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]


@plan_node
class SubWindows(Node):
    """A window of rows that moves on by rows: its rows, a complete sub-window at a time, and not yet their ends."""

    input: Node
    window: Window

    def __post_init__(self) -> None:
        assert not self.window.partition, self.window


@plan_node
class LastSubWindows(Node):
    """Rows made of sub-windows, which leave when enough sub-windows of the window have followed."""

    input: Node
    window: SubWindows


@plan_node
class MergeGroups(Node):
    """The groups of partial results: keys and aggregates are those of the rows that the partials stand for.

    `columns` names the keys and then the partials in the input, where that has others besides or calls them otherwise.
    """

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_columns(self, frozenset(self.columns or (key.name for key in self.keys)), self.input.schema)

    @property
    def key_columns(self) -> tuple[ColumnReference, ...]:
        """The keys in the input."""
        return tuple(map(self.input.schema.column, (self.columns or self.input.schema.names)[: len(self.keys)]))

    def _derive_schema(self) -> Schema:
        return grouped_schema(self.keys, self.aggregates)


@plan_node
class WindowSynopsis(Node):
    """Groups as summaries of their rows, in which windows are looked up.

    It belongs to all queries that look something up in it: `aggregates` are those of all of them, `kinds` says how each
    is kept and `reasons` why so. Windows begin at most `reach` back, in time or with `by_rows` in rows of a group, and
    begin and end at multiples of `slice` when it is not 0. Thresholds are asked of the aggregates in `indexed`.
    """

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    kinds: tuple[str, ...]
    reasons: tuple[str, ...]
    reach: int
    by_rows: bool = False
    slice: int = 0
    indexed: tuple[str, ...] = ()

    def _derive_schema(self) -> Schema:
        return grouped_schema(self.keys, self.aggregates)


@plan_node
class JoinSynopsis(Node):
    """The same of the pairs of a join of two windows that are refreshed together, every `slide`.

    `times` are those of the two rows of a pair. Windows are at most as long as `lengths`, by multiples of `slice`, and
    the two of a query differ by at most `difference` of these.
    """

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    kinds: tuple[str, ...]
    reasons: tuple[str, ...]
    times: tuple[Expression, Expression]
    lengths: tuple[int, int]
    slide: int
    slice: int
    difference: int

    def __post_init__(self) -> None:
        for time in self.times:
            require_columns(self, columns_of(time), self.input.schema)

    def _derive_schema(self) -> Schema:
        return grouped_schema(self.keys, self.aggregates)

    @property
    def slices(self) -> int:
        """How many the longer window has."""
        return max(self.lengths) // self.slice


@dataclass(frozen=True)
class Threshold:
    """Only groups whose aggregate is above the bound, or below it, are asked for; bounds count the smallest unit."""

    aggregate: str
    above: bool
    bound: int


@dataclass(frozen=True)
class PeriodicQuestion:
    """What a query asks a synopsis at each refresh of its window: aggregates by their names there, with a threshold."""

    window: Window
    aggregates: tuple[str, ...]
    threshold: Threshold


@plan_node
class PeriodicSynopsis(Node):
    """A synopsis of windows of time that is asked its `questions` at their refreshes."""

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    kinds: tuple[str, ...]
    reasons: tuple[str, ...]
    reach: int
    slice: int
    indexed: tuple[str, ...]
    questions: tuple[PeriodicQuestion, ...]

    def _derive_schema(self) -> Schema:
        return grouped_schema(self.keys, self.aggregates)


@plan_node
class PeriodicLookup(Node):
    """The groups of a synopsis that may pass a threshold, at each refresh."""

    input: PeriodicSynopsis
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    question: PeriodicQuestion

    def __post_init__(self) -> None:
        assert isinstance(self.input, PeriodicSynopsis), self.input

    def _derive_schema(self) -> Schema:
        return grouped_schema(self.keys, self.aggregates)


@plan_node
class WindowLookup(Node):
    """The groups of a window, when somebody asks; `since` is the start of a query that came when the synopsis had older
    rows already."""

    input: WindowSynopsis
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    window: Window
    threshold: Threshold | None = None
    since: int | None = None

    def __post_init__(self) -> None:
        assert isinstance(self.input, WindowSynopsis), self.input

    def _derive_schema(self) -> Schema:
        return grouped_schema(self.keys, self.aggregates)


@plan_node
class JoinLookup(Node):
    """The groups of a join of two windows, when somebody asks."""

    input: JoinSynopsis
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    windows: tuple[Window, Window]

    def __post_init__(self) -> None:
        assert isinstance(self.input, JoinSynopsis), self.input

    def _derive_schema(self) -> Schema:
        return grouped_schema(self.keys, self.aggregates)


# What RESTORE becomes, below its output stream.
Restored: TypeAlias = RestoredInserts | RestoredAnswer

# Groups as summaries of their rows; all of them have keys, aggregates, kinds and reasons.
GroupSynopsis: TypeAlias = WindowSynopsis | JoinSynopsis | PeriodicSynopsis

# What is computed when somebody asks.
OnDemandLookup: TypeAlias = WindowLookup | JoinLookup

# Groups that a synopsis gives.
GroupLookup: TypeAlias = WindowLookup | JoinLookup | PeriodicLookup

# One row a group, however it is computed.
Grouping: TypeAlias = GroupBy | MergeGroups | GroupLookup

SYNOPSES = (WindowSynopsis, JoinSynopsis, PeriodicSynopsis)
LOOKUPS = (WindowLookup, JoinLookup, PeriodicLookup)
RUNNING: tuple[type[Node], ...] = (
    *(WithEnd, Numbered, EndWithParts, Stamped, RestoredInserts, RestoredAnswer, Exchange, IndexedSelection),
    *(SlicePartials, SharedSlices, SliceSummaries, SubWindows, LastSubWindows, MergeGroups),
    *SYNOPSES,
    *LOOKUPS,
)
