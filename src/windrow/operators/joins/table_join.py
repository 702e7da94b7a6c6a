"""Joins with relations (thesis 3.3.1).

A retroactive table is one more changelog, a row living from its insertion to its deletion, and its join is the plain
`Join`: a change revisits the tuples in the window, by the delta rule.

A non-retroactive one (NRR) is looked at once for each stream tuple, as it was when the tuple came: only tuples later
than a change see it. The result lives as long as the stream tuple, whatever happens to the table, so the pattern of
the input is kept, and nothing of the stream has to be kept.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment, concat
from windrow.batch.column import nulls
from windrow.batch.words import any_null, words_of
from windrow.operators.operator import Predicate, Remembers
from windrow.state import HashOnRowKey
from windrow.state.row_keys import RowKeys
from windrow.state.snapshot import Part, Parts, Piece
from windrow.units import FOREVER


class TableState(Parts):
    """The rows of the table that tuples may still see."""

    def __init__(self, keys: tuple[int, ...]) -> None:
        self.rows = HashOnRowKey()
        self.keys = RowKeys([(self.rows, keys)], nulls=False)

    def __len__(self) -> int:
        return len(self.rows)

    def parts(self) -> Mapping[str, Part]:
        return {"rows": self.rows}

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        super().restore(pieces)
        self.keys.restore()


class Lookup(enum.Enum):
    """What comes of a stream tuple that is looked up."""

    PAIRS = enum.auto()  # with each row that it meets
    PADDED = enum.auto()  # with nulls when it meets none (LEFT JOIN)
    PRESENT = enum.auto()  # itself when it meets one (EXISTS, IN)
    ABSENT = enum.auto()  # itself when it meets none (NOT EXISTS, NOT IN)


@dataclass(frozen=True)
class NonRetroactiveJoin:
    """The stream comes first and has no negative tuples."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    residual: Predicate | None = None
    gives: Lookup = Lookup.PAIRS

    remembers: ClassVar = Remembers.NOTHING

    def fresh_state(self) -> TableState:
        return TableState(self.right_keys)

    def step(self, state: TableState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        stream, table = inputs
        assert stream.is_positive, "a non-retroactive table is joined below strict operators"
        self._change(state, table)
        ids = state.keys.find(stream, self.left_keys)
        positions, rows = state.rows.probe(ids, stream.ts, stream.ts + 1)
        positions, pairs = self._pairs(stream, positions, rows if len(rows) else table.slice(0, 0))
        state.rows.drop_until(segment.end)
        state.keys.tidy()
        if self.gives is Lookup.PAIRS:
            return pairs
        alone = np.ones(len(stream), np.bool_)
        alone[positions] = False
        if self.gives is not Lookup.PADDED:
            return stream.take(alone if self.gives is Lookup.ABSENT else ~alone)
        unmatched = stream.take(alone)
        padding = tuple(nulls(c.type, len(unmatched), c.dictionary) for c in table.columns)
        return concat([pairs, unmatched.with_columns(unmatched.columns + padding)]).sorted_by_time()

    def _change(self, state: TableState, table: Batch) -> None:
        """Changes are seen one tick later: by tuples after them."""
        table = table.take(~any_null(table.select(self.right_keys), len(table)))
        later = np.where(table.exp == FOREVER, FOREVER, table.exp + 1)
        ids = state.keys.intern(table, self.right_keys)
        state.rows.insert(ids, table.with_lifetimes(table.ts + 1, later))

    def _pairs(self, stream: Batch, positions: Int64s, rows: Batch) -> tuple[Int64s, Batch]:
        """Pairs live as long as the stream tuple; a row and what takes it back cancel."""
        met = stream.take(positions)
        pairs = Batch(met.columns + rows.columns, met.ts, met.exp, rows.sign)
        if not rows.is_positive:
            kept = _net(positions, rows)
            positions, pairs = positions[kept], pairs.take(kept)
        if self.residual is not None and len(pairs):
            mask = self.residual(pairs)
            positions, pairs = positions[mask], pairs.take(mask)
        return positions, pairs


def _net(positions: Int64s, rows: Batch) -> Int64s:
    """The pairs that are left when a row and its negative tuple, met by the same stream tuple, cancel."""
    words = words_of(rows.columns, len(rows), positions)
    _, first, same = np.unique(words, axis=0, return_index=True, return_inverse=True)
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, same.ravel(), rows.sign)
    return np.repeat(first, np.maximum(sums, 0))
