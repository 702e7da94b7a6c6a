"""The batch: rows with lifetimes and signs, column by column; what every edge of a running plan carries.

At an instant τ the answer that a changelog stands for is the bag in which each row is counted by the sum of `sign` over
its tuples with ts ≤ τ < exp. Nothing else about a changelog means anything: not the order of rows, nor how a
multiplicity is spread over tuples, nor where one lifetime is cut into two.

A step's batch holds tuples with ts in the step's segment of time; an end that is not known is FOREVER.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Array, Int8s, Int64s, are_ones, are_shared_forevers, forevers, ones
from windrow.batch.column import Column, concat_columns, dtype_of
from windrow.batch.dictionary import Dictionary
from windrow.types import Type
from windrow.units import FOREVER


class Segment(NamedTuple):
    """A final stretch of time [begin, end): everything that happens in it is known when it is stepped through.

    When time runs out, and `end` is FOREVER, `last_row` is the time of the latest row of any source: what would go on
    for ever by the clock alone goes on until then.
    """

    begin: int
    end: int
    last_row: int = -FOREVER


@dataclass(frozen=True, eq=False)
class Batch:
    columns: tuple[Column, ...]
    ts: Int64s
    exp: Int64s
    sign: Int8s

    def __len__(self) -> int:
        return len(self.ts)

    @property
    def is_positive(self) -> bool:
        """Whether there is no negative tuple."""
        return are_ones(self.sign)

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(column.type for column in self.columns)

    def take(self, rows: Array) -> Batch:
        """The rows at positions, or under a mask."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)  # once, and not again for every column
        ts = self.ts.take(rows)
        columns = tuple(c.of_times(ts) if c.shares(self.ts) else c.take(rows) for c in self.columns)
        sign = ones(len(rows)) if self.is_positive else self.sign.take(rows)
        exp = forevers(len(rows)) if are_shared_forevers(self.exp) else self.exp.take(rows)
        return Batch(columns, ts, exp, sign)

    def slice(self, start: int, end: int) -> Batch:
        columns = tuple(column.slice(start, end) for column in self.columns)
        return Batch(columns, self.ts[start:end], self.exp[start:end], self.sign[start:end])

    def select(self, ordinals: Sequence[int]) -> tuple[Column, ...]:
        return tuple(self.columns[ordinal] for ordinal in ordinals)

    def with_columns(self, columns: tuple[Column, ...]) -> Batch:
        return replace(self, columns=columns)

    def with_lifetimes(self, ts: Int64s, exp: Int64s) -> Batch:
        return replace(self, ts=ts, exp=exp)

    def signed_by(self, other: Batch) -> Batch:
        """With the product of both signs, row by row."""
        return self if other.is_positive else replace(self, sign=self.sign * other.sign)

    def negated(self) -> Batch:
        """The changelog that takes this one back."""
        return replace(self, sign=-self.sign)

    def sorted_by_time(self) -> Batch:
        """By ts; the order of equals is kept. Cheap when nothing is out of order."""
        if len(self) < 2 or bool((self.ts[1:] >= self.ts[:-1]).all()):
            return self
        return self.take(np.argsort(self.ts, kind="stable"))


def inserts(columns: tuple[Column, ...], ts: Int64s, exp: Int64s | None = None) -> Batch:
    """Positive tuples; they live for ever when no ends are given."""
    return Batch(columns, ts, forevers(len(ts)) if exp is None else exp, ones(len(ts)))


def empty(types: Sequence[Type], dictionary: Dictionary | None = None) -> Batch:
    none = np.zeros(0, np.int64)
    columns = tuple(Column(type, np.zeros(0, dtype_of(type)), None, dictionary) for type in types)
    return Batch(columns, none, none, np.zeros(0, np.int8))


def concat(batches: Sequence[Batch]) -> Batch:
    """All rows of all batches, at least one, in this order."""
    filled = [batch for batch in batches if len(batch)] or list(batches[:1])
    if len(filled) == 1:
        return filled[0]
    positive = all(batch.is_positive for batch in filled)
    endless = all(are_shared_forevers(batch.exp) for batch in filled)
    rows = sum(map(len, filled))
    ts = np.concatenate([batch.ts for batch in filled])
    columns = tuple(
        same[0].of_times(ts)
        if all(column.shares(batch.ts) for column, batch in zip(same, filled, strict=True))
        else concat_columns(same)
        for same in zip(*(batch.columns for batch in filled), strict=True)
    )
    return Batch(
        columns,
        ts,
        forevers(rows) if endless else np.concatenate([batch.exp for batch in filled]),
        ones(rows) if positive else np.concatenate([batch.sign for batch in filled]),
    )


def alive_at(batch: Batch, instant: int) -> Batch:
    """The tuples whose lifetimes hold the instant."""
    return batch.take((batch.ts <= instant) & (instant < batch.exp))
