"""Intake: rows of one stream on their way in. Bad rows are rejected, late ones go to a side output, the rest wait.

A row is late when its time is before the watermark of its own stream as of the step, or micro-batch, before its own.
Nothing is lost in silence: late and rejected rows are kept and counted. What the rows bring for the watermark is an
`IntakeReport` (`progress`).

Punctuations are taken out of the rows: one of time moves the watermark to itself, whatever the slack; one of a key
closes it, and rows of the key that are later all the same are rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.batch import (
    Batch,
    Column,
    Dictionary,
    arrow_type,
    column_from_arrow,
    concat,
    empty,
    inserts,
    rows_to_arrow,
)
from windrow.batch.arrays import Int64s
from windrow.batch.row_order import in_row_order
from windrow.catalog import StreamEntry
from windrow.errors import WindrowError
from windrow.runtime.intake.ahead import MAX_TIMESTAMP, may_be_too_far, too_far
from windrow.runtime.intake.computed_columns import ComputedColumns
from windrow.runtime.intake.punctuation_rows import punctuation_rows
from windrow.runtime.intake.side_output import SideOutput
from windrow.runtime.intake.typed_rows import absent_columns, cast, typed_rows
from windrow.runtime.progress import IntakeReport, Occurrences, StreamProgress, contradicted
from windrow.state.closed_keys import ClosedKeys
from windrow.units import BEGINNING, FOREVER


def contradiction(punctuated: Sequence[str]) -> str:
    """Why a row that comes after the punctuation of its key is rejected."""
    return f"a punctuation has closed its {', '.join(punctuated)}"


class Intake:
    def __init__(
        self,
        stream: StreamEntry,
        dictionary: Dictionary,
        late: SideOutput | None = None,
        rejected: SideOutput | None = None,
    ) -> None:
        self.stream = stream
        self.punctuations = 0
        self.rejected, self.late = rejected or SideOutput(), late or SideOutput()
        self._dictionary = dictionary
        self._types = tuple(column.type for column in stream.columns)
        self._waiting: list[Batch] = []
        self._ties = self._ordinals(stream.ties)
        self._punctuations = punctuation_rows(stream, dictionary)
        self._computed = ComputedColumns(stream, dictionary, self.rejected)
        key = self._ordinals(stream.punctuated)
        self.closed = ClosedKeys(key, empty([self._types[place] for place in key], dictionary)) if key else None

    def take(self, rows: pa.Table, before: StreamProgress, arrival: int) -> IntakeReport:
        """Rows as they arrived, at a time: `before` is how far the stream was when their step or batch began."""
        final = before.final
        known = Counter(self.rejected.reasons)
        absent = absent_columns(rows, self.stream.given)
        warned = {what: Occurrences(count, arrival) for what, count in absent.items()}
        columns, rows = typed_rows(rows, self.stream.given, self._dictionary, self.rejected)
        columns, rows = self._computed(columns, rows)
        if final < FOREVER:
            arrival = max(arrival, final)  # the clock may have been set back: nothing is late by that
        ts, rows = self._times(columns, rows, arrival, before.intake.newest)
        rejected = dict(Counter(self.rejected.reasons) - known)
        came = len(ts)
        if len(ts) and ts.min() < final:
            late = ts < final
            self.late.put(rows.filter(pa.array(late)), "behind the watermark")
            columns = [column.take(~late) for column in columns]
            ts = ts[~late]
        if not len(ts):
            return IntakeReport(late=came, rejected=rejected, warned=warned)
        taken, promised = self._without_punctuations(inserts(tuple(columns), ts))
        if len(taken):
            self._waiting.append(taken)
        first = int(taken.ts.min(initial=FOREVER))
        return IntakeReport(len(taken), first, int(ts.max()), promised, came - len(ts), rejected, warned=warned)

    def _without_punctuations(self, rows: Batch) -> tuple[Batch, int]:
        """The rows, and the time before which punctuations say that no more will come."""
        promised: int = BEGINNING
        for punctuation, holds in self._punctuations:
            says = holds(rows)
            if says.any():
                self.punctuations += int(np.count_nonzero(says))
                said, rows = rows.take(says), rows.take(~says)
                if punctuation.by:
                    self._close(said.with_columns(said.select(self._ordinals(punctuation.by))))
                else:
                    promised = max(promised, int(said.ts.max()))
        return rows, promised

    def _ordinals(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(self._ordinal(name) for name in names)

    def _ordinal(self, name: str) -> int:
        return [column.name for column in self.stream.columns].index(name)

    def _close(self, closings: Batch) -> None:
        assert self.closed is not None, self.stream
        self.closed.close(closings)

    def punctuate(self, before: int | None, key: Mapping[str, Any], newest: int) -> IntakeReport:
        """What the stream's own rows could say: no row before a time, no row with a key later than the newest."""
        if key:
            self._close(inserts(tuple(self._key_columns(key)), np.array([newest], np.int64)))
        self.punctuations += 1
        return IntakeReport(promised=BEGINNING if before is None else before)

    def _key_columns(self, key: Mapping[str, Any]) -> Iterator[Column]:
        """One value for each column that punctuations close, whatever the case of its name."""
        wanted, given = self.stream.punctuated, {name.lower(): value for name, value in key.items()}
        if {name.lower() for name in wanted} != set(given):
            hint = f"it closes {', '.join(wanted)}" if wanted else "add PUNCTUATION BY column to CREATE STREAM"
            raise WindrowError(f"{', '.join(key)} is not what a punctuation of {self.stream.name} closes", hint)
        for place in self._ordinals(wanted):
            column = self.stream.columns[place]
            array, wrong = cast(pa.array([given[column.name.lower()]]), arrow_type(column.type))
            if wrong is not None and wrong.any():
                hint = "hand over a value of the column's type"
                raise WindrowError(f"{given[column.name.lower()]!r} is not {column.type}", hint)
            yield column_from_arrow(array, self._dictionary, column.type)

    def until(self, end: int) -> tuple[Batch, IntakeReport]:
        """The waiting rows with ts before `end`, in the order of the stream, and a report of rejected ones."""
        none = empty(self._types, self._dictionary)
        if not self._waiting:
            return none, IntakeReport()
        # Each batch in the order of time is cut without copying it.
        waiting = [batch.sorted_by_time() for batch in self._waiting]
        cuts = [int(np.searchsorted(batch.ts, end)) for batch in waiting]
        parts = list(zip(waiting, cuts, strict=True))
        self._waiting = [batch.slice(cut, len(batch)) for batch, cut in parts if cut < len(batch)]
        due = concat([none, *(batch.slice(0, cut) for batch, cut in parts)])
        rows, report = self._uncontradicted(due)
        return in_row_order(rows, self._ties), report

    def _uncontradicted(self, rows: Batch) -> tuple[Batch, IntakeReport]:
        """Without rows that come after the punctuation of their key; call `closings` before."""
        if self.closed is None:
            return rows, IntakeReport()
        after = self.closed.contradicted_by(rows)
        if not after.any():
            return rows, IntakeReport()
        names = [column.name for column in self.stream.columns]
        reason = contradiction(self.stream.punctuated)
        self.rejected.put(rows_to_arrow(rows.take(after), names), reason)
        return rows.take(~after), contradicted({reason: int(np.count_nonzero(after))})

    def taken(self) -> Batch:
        """All rows that wait, in no order."""
        return concat([empty(self._types, self._dictionary), *self._waiting])

    def _times(self, columns: list[Column], rows: pa.Table, arrival: int, newest: int) -> tuple[Int64s, pa.Table]:
        if self.stream.timestamp is None:
            return np.full(rows.num_rows, arrival, np.int64), rows
        times = columns[self._ordinal(self.stream.timestamp)]
        if times.valid is None and not may_be_too_far(self.stream, times.values, arrival, newest):
            return times.values, rows
        missing = ~times.valid_mask()
        strange = ~missing & ((times.values > MAX_TIMESTAMP) | (times.values < -MAX_TIMESTAMP))
        self.rejected.put(rows.filter(pa.array(missing)), f"{self.stream.timestamp} is null")
        self.rejected.put(rows.filter(pa.array(strange)), f"{self.stream.timestamp} is out of range")
        good = ~missing & ~strange
        known = np.where(good, times.values, BEGINNING)
        for reason, wrong in too_far(self.stream, known, arrival, newest):
            self.rejected.put(rows.filter(pa.array(wrong)), reason)
            good &= ~wrong
        if good.all():
            return times.values, rows
        columns[:] = [column.take(good) for column in columns]
        return times.values[good], rows.filter(pa.array(good))
