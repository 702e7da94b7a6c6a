"""Tables: their contents, and their changes as a changelog with effect times.

A change takes effect at the time it names, or at the one that it is logged with (`Progress.tables`) when it names none
or an earlier one: nobody who reads the table is further, so answers that are final stay so. Readers are at different
times; each sees the changes of its own segment, and at its beginning the contents as of then. The changelog is kept for
the slowest of them. What is inserted before time begins has always been there.

Rows of a source that do not fit, or whose key is there already, are rejected as those of streams are; a statement that
cannot be applied is refused as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy, deepcopy
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
    consolidate,
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
from windrow.physical.physical_node import contents_of
from windrow.plan.expressions import Value
from windrow.runtime.intake.side_output import SideOutput
from windrow.runtime.intake.typed_rows import typed_rows
from windrow.runtime.progress import Progress
from windrow.runtime.readers import Reader
from windrow.types import DATE, INTERVAL, TIMESTAMP, Type
from windrow.units import FOREVER


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
        self._rows = self._before = self._changelog = empty(self._types, dictionary)  # before it, and since
        self._used_keys = KeyTable()  # of a non-retroactive table: a deleted key is not inserted again
        self._pending: list[_Pending] = []
        self._columns = [replace(c, nullable=c.nullable and c.name not in entry.primary_key) for c in entry.columns]
        self.rejected = SideOutput()  # rows of the source
        self.refused: list[tuple[TableChange, str]] = []  # statements that could not be applied, and why

    def apply(self, change: TableChange, logged: int) -> None:
        """Take a statement; it changes the table when its effect time has come."""
        effect = logged if change.effect is None else max(change.effect, logged)
        self._pending.append(_Pending(effect, change))
        self._take_effect(logged)

    def load(self, tables: Iterable[pa.Table], logged: int) -> None:
        """Take the rows of a source, each at the time in the EFFECTIVE BY column, else at the one it is logged with."""
        for table in tables:
            columns, rows = typed_rows(table, self._columns, self._dictionary, self.rejected)
            if rows.num_rows:
                self._pending += self._by_effect(inserts(tuple(columns), np.full(rows.num_rows, logged)), logged)
        self._take_effect(logged)

    def contents(self) -> Batch:
        """The rows as of the last change that has taken effect, as tuples that never end."""
        return self._rows

    def present(self, waiting: Sequence[TableChange], logged: int) -> pa.Table:
        """The rows with statements that are still to take effect, at the time they will be logged with."""
        store = self._copied() if waiting else self
        for change in waiting:
            store.apply(change, logged)
        return rows_to_arrow(store._rows, self._names)

    def contents_before(self, time: int) -> Batch:
        """The rows as they were just before a time that somebody may still be at."""
        early = self._changelog.slice(0, self._cut(time))
        if not len(early):
            return self._before
        rows = concat([self._before, early])
        if rows.is_positive:
            return rows
        level = np.zeros(len(rows), np.int64)
        return consolidate(rows.with_lifetimes(level, rows.exp))

    def changes(self, segment: Segment) -> Batch:
        """The changes that took effect in a segment."""
        return self._changelog.slice(self._cut(segment.begin), self._cut(segment.end))

    def until(self, time: int) -> TableStore:
        """With what takes effect before a time that is final for somebody.

        When time has run out for some, others may still see changes before those that wait for their time: what is
        seen at the end is not what the table will be.
        """
        store = self if time != FOREVER else self._at_the_end()
        store._take_effect(time - 1)
        return store

    def forget(self, slowest: int) -> None:
        """Nobody is before this time any more; when time has run out for all, nothing waits any longer."""
        if slowest == FOREVER:
            self._take_effect(FOREVER - 1)
        elif self._cut(slowest):
            self._before = self.contents_before(slowest)
            self._changelog = self._changelog.slice(self._cut(slowest), len(self._changelog))

    @property
    def size(self) -> tuple[int, int]:
        """How many changes wait for their time, and how many for readers."""
        return len(self._pending), len(self._changelog)

    def _take_effect(self, until: int) -> None:
        """Nobody is further than this time, and changes that come later take effect later."""
        self._pending.sort(key=lambda pending: pending.effect)
        changes = [self._changelog]
        while self._pending and self._pending[0].effect <= until:
            pending = self._pending.pop(0)
            try:
                changes += self._apply(pending.change, pending.effect)
            except WindrowError as error:
                assert isinstance(pending.change, TableChange), error
                self.refused.append((pending.change, error.message))
        self._changelog = concat(changes).sorted_by_time()

    def _at_the_end(self) -> TableStore:
        """As it will be for who does not wait for changes that may still come."""
        return self._copied() if self._pending else self

    def _copied(self) -> TableStore:
        store = copy(self)
        store._pending, store._used_keys = list(self._pending), deepcopy(self._used_keys)
        store.rejected, store.refused = SideOutput(), []
        return store

    def _cut(self, time: int) -> int:
        return int(np.searchsorted(self._changelog.ts, time))

    def reasons(self) -> dict[str, int]:
        """Why rows and statements were not taken, and how many."""
        reasons = Counter(self.rejected.reasons)
        reasons.update(reason for _, reason in self.refused)
        return dict(reasons)

    def _by_effect(self, rows: Batch, logged: int) -> list[_Pending]:
        """Rows that take effect together; one that does not say when does so when it is logged."""
        if self.entry.effective is None:
            return [_Pending(logged, rows)]
        times = rows.columns[self._names.index(self.entry.effective)]
        effects = np.where(times.valid_mask(), np.maximum(times.values, logged), logged)
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
        columns = zip(*rows, strict=True) if rows else [()] * len(self._types)
        return tuple(
            column_from_arrow(_array(values, of), self._dictionary, of)
            for values, of in zip(columns, self._types, strict=True)
        )


def _array(values: Sequence[Value], of: Type) -> pa.Array:
    """Times and intervals are whole microseconds, dates whole days."""
    if of in (TIMESTAMP, INTERVAL, DATE):
        return pa.array(values, pa.int32() if of == DATE else pa.int64()).view(arrow_type(of))
    return pa.array(values, arrow_type(of))


def table_rows(store: TableStore, source: str, segment: Segment) -> Batch:
    """What a source that is fed from a table gives to an operator in a segment."""
    seen = store.until(segment.end)
    is_contents = source == contents_of(store.entry.name)
    return seen.contents_before(segment.begin) if is_contents else seen.changes(segment)


def slowest_reader(table: str, readers: Iterable[Reader], progress: Progress) -> int:
    """How far everybody is who reads a table."""
    reading = (reader for reader in readers if table in reader.tables)
    return min((progress.watermark_of(reader.streams) for reader in reading), default=progress.tables[table])
