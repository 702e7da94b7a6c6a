"""Tables of the local runtime: their contents, and their changes as a changelog with effect times.

A change takes effect at the time it names, or at the watermark when it names none or an earlier one: answers that are
final stay so. What is inserted before time begins has always been there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.batch import Batch, Column, Dictionary, KeyTable, Segment, arrow_type, concat, empty, inserts, words_of
from windrow.batch.arrow import column_from_arrow
from windrow.catalog import TableEntry
from windrow.cql import TableChange
from windrow.errors import WindrowError
from windrow.physical.expressions import ExpressionCompiler
from windrow.plan.expressions import Value
from windrow.types import DATE, INTERVAL, TIMESTAMP, Type


@dataclass(frozen=True)
class _Pending:
    effect: int
    change: TableChange | pa.Table  # a statement, or rows of a source


class TableStore:
    def __init__(self, entry: TableEntry, dictionary: Dictionary) -> None:
        self.entry = entry
        self._dictionary = dictionary
        self._types = tuple(column.type for column in entry.columns)
        self._names = [column.name for column in entry.columns]
        self._key = tuple(self._names.index(name) for name in entry.primary_key)
        self._rows = empty(self._types, dictionary)
        self._used_keys = KeyTable()  # of a non-retroactive table: a deleted key is not inserted again
        self._pending: list[_Pending] = []
        self.rejected: list[tuple[TableChange | pa.Table, str]] = []  # changes that were refused, and why

    def apply(self, change: TableChange, watermark: int) -> None:
        """Take a statement; it changes the table when its effect time has come."""
        effect = watermark if change.effect is None else max(change.effect, watermark)
        self._pending.append(_Pending(effect, change))
        self._pending.sort(key=lambda pending: pending.effect)

    def load(self, tables: Iterable[pa.Table], watermark: int) -> None:
        """Take the rows of a source, each at the time in the EFFECTIVE BY column, else at the watermark."""
        for table in tables:
            self._pending += [
                _Pending(max(effect, watermark), rows) for effect, rows in self._by_effect(table, watermark)
            ]
        self._pending.sort(key=lambda pending: pending.effect)

    @property
    def waiting(self) -> int:
        """How many changes have not taken effect yet."""
        return len(self._pending)

    def contents(self) -> Batch:
        """The rows now, as tuples that never end."""
        return self._rows

    def changes(self, segment: Segment) -> Batch:
        """The changes that take effect in the segment; the contents are then those at its end."""
        told = [self._rows.slice(0, 0)]
        # What took effect before time began was there for the first tuple too, also under later-tuples-only.
        earliest = segment.begin if self.entry.retroactive else segment.begin - 1
        while self._pending and self._pending[0].effect < segment.end:
            pending = self._pending.pop(0)
            moment = max(pending.effect, earliest)
            try:
                told += self._take(pending.change, moment)
            except WindrowError as error:
                self.rejected.append((pending.change, error.message))
        return concat(told).sorted_by_time()

    def _by_effect(self, table: pa.Table, watermark: int) -> list[tuple[int, pa.Table]]:
        if self.entry.effective is None:
            return [(watermark, table)]
        times = self._cast(table, self.entry.effective, TIMESTAMP).cast(pa.int64()).to_pylist()
        places: dict[int, list[int]] = {}
        for place, time in enumerate(times):
            places.setdefault(watermark if time is None else time, []).append(place)
        return [(time, table.take(pa.array(rows))) for time, rows in places.items()]

    def _take(self, change: TableChange | pa.Table, moment: int) -> list[Batch]:
        """Carry out one change: what it takes back and what it brings."""
        if isinstance(change, pa.Table):
            return [self._insert(self._typed(change), moment)]
        if change.kind == "INSERT":
            return [self._insert(self._constants(change.rows), moment)]
        compiler = ExpressionCompiler({name: place for place, name in enumerate(self._names)}, self._dictionary)
        hit = np.ones(len(self._rows), np.bool_)
        if change.predicate is not None:
            hit = compiler.predicate(change.predicate)(self._rows)
        old = self._rows.take(hit)
        self._rows = self._rows.take(~hit)
        gone = old.with_lifetimes(np.full(len(old), moment), old.exp).negated()
        if change.kind == "DELETE":
            return [gone]
        columns = list(old.columns)
        for name, expression in change.assignments:
            columns[self._names.index(name)] = compiler.column(expression)(old)
        return [gone, self._bring(tuple(columns), moment)]

    def _insert(self, columns: tuple[Column, ...], moment: int) -> Batch:
        new = inserts(columns, np.full(len(columns[0]), moment, np.int64))
        self._check_keys(new)
        return self._bring(columns, moment)

    def _bring(self, columns: tuple[Column, ...], moment: int) -> Batch:
        new = inserts(columns, np.full(len(columns[0]), moment, np.int64))
        self._rows = concat([self._rows, new])
        return new

    def _check_keys(self, new: Batch) -> None:
        if not self._key:
            return
        words = words_of(concat([self._rows, new]).select(self._key), len(self._rows) + len(new))
        if len(np.unique(KeyTable().intern(words))) < len(words):
            raise WindrowError(
                f"a row of {self.entry.name} has a key that is there already", "UPDATE it, or DELETE it first"
            )
        if self.entry.retroactive:
            return
        fresh = words_of(new.select(self._key), len(new))
        before = len(self._used_keys)
        self._used_keys.retain(self._used_keys.intern(fresh))
        if len(self._used_keys) < before + len(new):
            hint = "a key of a non-retroactive table is not used again: older results refer to it"
            raise WindrowError(f"a row of {self.entry.name} has a key that was deleted", hint)

    def _typed(self, table: pa.Table) -> tuple[Column, ...]:
        arrays = (self._cast(table, name, of) for name, of in zip(self._names, self._types, strict=True))
        return tuple(
            column_from_arrow(array, self._dictionary, of) for array, of in zip(arrays, self._types, strict=True)
        )

    def _cast(self, table: pa.Table, name: str, of: Type) -> pa.ChunkedArray:
        if name not in table.column_names:
            raise WindrowError(f"the source of {self.entry.name} has no column {name}", "declare the columns it has")
        try:
            return table.column(name).cast(arrow_type(of))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            hint = "write times with a zone: 2026-01-31T12:00:00Z" if of == TIMESTAMP else f"every value should be {of}"
            raise WindrowError(f"{name} of {self.entry.name} cannot be read as {of}: {error}", hint) from None

    def _constants(self, rows: Sequence[Sequence[Value]]) -> tuple[Column, ...]:
        columns = zip(*rows, strict=True)
        return tuple(
            column_from_arrow(_array(values, of), self._dictionary, of)
            for values, of in zip(columns, self._types, strict=True)
        )


def _array(values: Sequence[Value], of: Type) -> pa.Array:
    """Times and intervals are whole microseconds, dates whole days."""
    if of in (TIMESTAMP, INTERVAL, DATE):
        return pa.array(values, pa.int32() if of == DATE else pa.int64()).view(arrow_type(of))
    return pa.array(values, arrow_type(of))
