"""What a state structure promises: rows under keys, found by key, gone when their time is over.

The structures differ in how they find the rows that have ended, and in nothing that a kernel can see. Rows that take
each other back (same row, same end, opposite signs) may leave together before their end, from the next `expire_until`
on: until then a probe sees both, since inside a segment the earlier of them still counts.
"""

from __future__ import annotations

import enum
from collections.abc import Container, Mapping
from typing import NamedTuple, Protocol

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch
from windrow.state.snapshot import Piece, Snapshot


class KeyedRows(NamedTuple):
    """Rows of a window and the ids of their keys, side by side."""

    keys: Int64s
    rows: Batch


class Matches(NamedTuple):
    """Pairs that a probe found: positions among what was asked, and the rows that answer, as long as the pairs live."""

    positions: Int64s
    rows: Batch


class Structure(Protocol):
    def __len__(self) -> int: ...

    def insert(self, keys: Int64s, rows: Batch) -> None:
        """Keep rows under the ids of their keys."""
        ...

    def expire_until(self, time: int) -> KeyedRows:
        """Remove, and return, the rows with exp ≤ time, and pairs that cancel each other (their exp may be later)."""
        ...

    def drop_until(self, time: int) -> None:
        """The same for rows that nobody wants to see any more."""
        ...

    def forget(self, keys: Int64s) -> KeyedRows:
        """Remove, and return, the rows under keys, each listed once, whatever their ends; after `expire_until`."""
        ...

    def probe(self, keys: Int64s, ts: Int64s, exp: Int64s) -> Matches:
        """The rows with an equal key whose lifetime overlaps [ts, exp), for each thing asked."""
        ...

    def scan(self) -> KeyedRows:
        """All rows, in no order."""
        ...

    def keys(self) -> Int64s:
        """The ids of the keys of all rows."""
        ...

    def snapshot(self, known: Container[str]) -> Snapshot: ...

    def restore(self, pieces: Mapping[str, Piece]) -> None: ...


class StructureKind(enum.Enum):
    """The structures, by the update pattern that each is for."""

    FIFO = "fifo of basic windows"  # weakest: ends come in the order of arrival
    CALENDAR = "calendar queue"  # weak: ends are known, in any order
    HASH = "hash on row key"  # strict: most rows are taken back by negative tuples
    LIST = "insertion-ordered list"  # the baseline: scanned from end to end
