"""Nodes of synopses, and of queries that look something up in them: put into a plan when queries start."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.plan.expressions import Expression, Named, NamedAggregate, columns_of
from windrow.plan.nodes import GroupBy, Node, remember_hashes, require_columns
from windrow.plan.schema import Field, Schema
from windrow.plan.windows import Window


@dataclass(frozen=True)
class KeptGroups(Node):
    """Groups as summaries of their rows, in which windows are looked up.

    It belongs to all queries that look something up in it: `aggregates` are those of all of them, `kinds` says how each
    is kept and `reasons` why so.
    """

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    kinds: tuple[str, ...]
    reasons: tuple[str, ...]

    def _derive_schema(self) -> Schema:
        keys = tuple(Field(key.name, key.expression.type) for key in self.keys)
        return Schema(keys + tuple(Field(named.name, named.call.type) for named in self.aggregates))


@dataclass(frozen=True)
class KeptSynopsis(KeptGroups):
    """Of rows of a stream.

    Windows begin at most `reach` back, in time or with `by_rows` in rows of a group, and begin and end at multiples of
    `slice` when it is not 0. Thresholds are asked of the aggregates in `indexed`.
    """

    reach: int
    by_rows: bool = False
    slice: int = 0
    indexed: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeptJoin(KeptGroups):
    """Of the pairs of a join of two windows that are refreshed together, every `slide`.

    `times` are those of the two rows of a pair. Windows are at most as long as `lengths`, by multiples of `slice`, and
    the two of a query differ by at most `difference` of these.
    """

    times: tuple[Expression, Expression]
    lengths: tuple[int, int]
    slide: int
    slice: int
    difference: int

    def __post_init__(self) -> None:
        for time in self.times:
            require_columns(self, columns_of(time), self.input.schema)

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


@dataclass(frozen=True)
class RefreshedSynopsis(KeptSynopsis):
    """A synopsis that is asked at refreshes."""

    questions: tuple[PeriodicQuestion, ...] = ()


@dataclass(frozen=True)
class LookedUpGroups(GroupBy):
    """Groups that a synopsis gives."""

    def __post_init__(self) -> None:
        assert isinstance(self.input, KeptGroups), self.input

    @property
    def synopsis(self) -> KeptGroups:
        assert isinstance(self.input, KeptGroups), self.input
        return self.input


@dataclass(frozen=True)
class RefreshedLookup(LookedUpGroups):
    """The groups that may pass a threshold, at each refresh."""

    question: PeriodicQuestion


@dataclass(frozen=True)
class GroupsLookup(LookedUpGroups):
    """At the moment somebody asks."""


@dataclass(frozen=True)
class WindowLookup(GroupsLookup):
    """The groups of a window; `since` is the start of a query that came when the synopsis had older rows already."""

    window: Window
    threshold: Threshold | None = None
    since: int | None = None

    @property
    def synopsis(self) -> KeptSynopsis:
        below = super().synopsis
        assert isinstance(below, KeptSynopsis), below
        return below


@dataclass(frozen=True)
class JoinLookup(GroupsLookup):
    """The groups of a join of two windows."""

    windows: tuple[Window, Window]

    @property
    def synopsis(self) -> KeptJoin:
        below = super().synopsis
        assert isinstance(below, KeptJoin), below
        return below


for _kind in (KeptGroups, LookedUpGroups):
    remember_hashes(_kind)
