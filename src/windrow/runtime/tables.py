"""Tables: their contents, and their changes as a changelog with effect times.

A change takes effect at the time it names, or at the watermark when it names none or an earlier one: answers that are
final stay so. What is inserted before time begins has always been there.

Rows of a source that do not fit, or whose key is there already, are rejected as those of streams are; a statement that
cannot be applied is refused as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from windrow.batch import (
    Batch,
    Column,
    Dictionary,
    KeyTable,
    Segment,
    arrow_type,
    concat,
    empty,
    inserts,
    rows_to_arrow,
    words_of,
)
from windrow.batch.arrow import column_from_arrow
from windrow.batch.key_table import ABSENT
from windrow.catalog import TableEntry
from windrow.cql import TableChange
from windrow.errors import WindrowError
from windrow.physical.expressions import ExpressionCompiler
from windrow.plan.expressions import Value
from windrow.runtime.intake.side_output import SideOutput
from windrow.runtime.intake.typed_rows import typed_rows
from windrow.types import DATE, INTERVAL, TIMESTAMP, Type


@dataclass(frozen=True)
class _Pending:
    effect: int
    change: TableChange | Batch  # a statement, or rows of a source


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
        self._columns = [replace(c, nullable=c.nullable and c.name not in entry.primary_key) for c in entry.columns]
        self.rejected = SideOutput()  # rows of the source
        self.refused: list[tuple[TableChange, str]] = []  # statements that could not be applied, and why

    def apply(self, change: TableChange, watermark: int) -> None:
        """Take a statement; it changes the table when its effect time has come."""
        effect = watermark if change.effect is None else max(change.effect, watermark)
        self._pending.append(_Pending(effect, change))
        self._pending.sort(key=lambda pending: pending.effect)

    def load(self, tables: Iterable[pa.Table], watermark: int) -> None:
        """Take the rows of a source, each at the time in the EFFECTIVE BY column, else at the watermark."""
        for table in tables:
            columns, rows = typed_rows(table, self._columns, self._dictionary, self.rejected)
            if rows.num_rows:
                self._pending += self._by_effect(inserts(tuple(columns), np.full(rows.num_rows, watermark)), watermark)
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
        changes = [self._rows.slice(0, 0)]
        # What took effect before time began was there for the first tuple too, also under later-tuples-only.
        earliest = segment.begin if self.entry.retroactive else segment.begin - 1
        while self._pending and self._pending[0].effect < segment.end:
            pending = self._pending.pop(0)
            moment = max(pending.effect, earliest)
            try:
                changes += self._apply(pending.change, moment)
            except WindrowError as error:
                assert isinstance(pending.change, TableChange), error
                self.refused.append((pending.change, error.message))
        return concat(changes).sorted_by_time()

    def reasons(self) -> dict[str, int]:
        """Why rows and statements were not taken, and how many."""
        reasons = Counter(self.rejected.reasons)
        reasons.update(reason for _, reason in self.refused)
        return dict(reasons)

    def _by_effect(self, rows: Batch, watermark: int) -> list[_Pending]:
        """Rows that take effect together; one that does not say when does so at the watermark."""
        if self.entry.effective is None:
            return [_Pending(watermark, rows)]
        times = rows.columns[self._names.index(self.entry.effective)]
        effects = np.where(times.valid_mask(), np.maximum(times.values, watermark), watermark)
        return [_Pending(int(effect), rows.take(effects == effect)) for effect in np.unique(effects)]

    def _apply(self, change: TableChange | pa.Table, moment: int) -> list[Batch]:
        """Apply one change: what it takes back and what it brings."""
        if isinstance(change, Batch):
            return [self._bring(self._with_new_keys(change).columns, moment)]
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
        self._used_keys.intern(fresh)
        if len(self._used_keys) < before + len(new):
            hint = "a key of a non-retroactive table is not used again: older results refer to it"
            raise WindrowError(f"a row of {self.entry.name} has a key that was deleted", hint)

    def _with_new_keys(self, rows: Batch) -> Batch:
        """Without rows whose key another row has, or has had in a non-retroactive table; of several the first stays."""
        if not self._key:
            return rows
        words = words_of(rows.select(self._key), len(rows))
        there = KeyTable()
        there.intern(words_of(self._rows.select(self._key), len(self._rows)))
        taken = there.find(words) != ABSENT
        deleted = ~taken & (self._used_keys.find(words) != ABSENT)
        ids = KeyTable().intern(words)
        first = np.zeros(len(rows), np.bool_)
        first[np.unique(ids, return_index=True)[1]] = True
        self.rejected.put(rows_to_arrow(rows.take(taken | ~first), self._names), "its key is there already")
        self.rejected.put(rows_to_arrow(rows.take(deleted & first), self._names), "its key was deleted")
        new = first & ~taken & ~deleted
        if not self.entry.retroactive:
            self._used_keys.intern(words[new])
        return rows.take(new)

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
