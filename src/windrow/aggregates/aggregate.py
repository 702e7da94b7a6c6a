"""What an aggregate is: a specification, and an accumulator that goes through the events of a segment.

The group-by hands every accumulator the same events (`GroupEvents`); the accumulator returns its value after each last
event of an instant, one column for all of them. Nulls are skipped.

Accumulators are exact: when all rows of a group have gone, nothing of them is left.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Protocol, runtime_checkable

from windrow.batch.arrays import Array, Int64s
from windrow.batch.column import Column
from windrow.numbers.group_events import GroupEvents
from windrow.state.snapshot import Piece, Snapshot


def changes_of(events: GroupEvents, values: tuple[Column, ...]) -> Array:
    """How the count of the first argument changes at each event; by a second one, how many rows it stands for."""
    argument, *counts = values
    change = events.change * argument.valid_mask()
    return change * counts[0].values if counts else change


class Accumulator(Protocol):
    def sweep(self, events: GroupEvents, values: tuple[Column, ...]) -> Column:
        """The value after each last event of an instant; `values` are the arguments at each event."""
        ...

    def snapshot(self, known: Container[str]) -> Snapshot: ...

    def restore(self, pieces: Mapping[str, Piece]) -> None: ...


class Aggregate(Protocol):
    @property
    def arguments(self) -> tuple[int, ...]:
        """The columns that it reads."""
        ...

    def fresh(self) -> Accumulator: ...


class Counted:
    """Reads a column and, of slices, one more: how many rows, or values, each of its values stands for."""

    column: int
    count: int | None

    @property
    def arguments(self) -> tuple[int, ...]:
        return (self.column,) if self.count is None else (self.column, self.count)


@runtime_checkable
class Clearable(Protocol):
    """An accumulator that can let go of groups which still have rows."""

    def clear(self, ids: Int64s) -> None: ...


@runtime_checkable
class CheaperInOrder(Protocol):
    """An aggregate with an accumulator for rows that leave their group in the order in which they came."""

    def fresh_in_order(self) -> Accumulator: ...
