"""Nodes over slices and sub-windows: put into a plan when it is known how it will run."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.plan.expressions import Named, NamedAggregate
from windrow.plan.nodes import GroupBy, Node, Windowed, remember_hashes, require_columns
from windrow.plan.schema import Field, Schema


@dataclass(frozen=True)
class SlicePartials(Node):
    """The rows of a group that begin and end together as one row of partial results; made when a plan is lowered."""

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    partials: tuple[Field, ...]

    def _derive_schema(self) -> Schema:
        return Schema(tuple(Field(key.name, key.expression.type) for key in self.keys) + self.partials)


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class SliceSummaries(Node):
    """Slices that are complete, with the counters of their values cut to what is kept of them."""

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]


@dataclass(frozen=True)
class SubWindowed(Windowed):
    """A window of rows that moves on by rows: its rows, a complete sub-window at a time, and not yet their ends."""


@dataclass(frozen=True)
class LastSubWindows(Node):
    """Rows made of sub-windows, which leave when enough sub-windows of the window have followed."""

    input: Node
    window: SubWindowed


@dataclass(frozen=True)
class MergeGroups(GroupBy):
    """The groups of partial results: keys and aggregates are those of the rows that the partials stand for."""

    def __post_init__(self) -> None:
        require_columns(self, frozenset(key.name for key in self.keys), self.input.schema)


for _kind in (SlicePartials, SharedSlices, SliceSummaries, SubWindowed, LastSubWindows, MergeGroups):
    remember_hashes(_kind)
