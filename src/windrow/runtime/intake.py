"""Intake: rows of one stream on their way in. Bad rows are rejected, late ones put aside, the rest wait.

The watermark of a stream is the largest timestamp seen minus its slack; a row is late when its time is before the
watermark of the engine as it was before the row came. Nothing is lost in silence: both kinds are kept and counted.

Punctuations are taken out of the rows: one of time moves the watermark to itself, whatever the slack; one of a key
closes it, and rows of the key that are later all the same are rejected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

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
from windrow.batch.arrays import Bools, Int64s
from windrow.batch.row_order import in_row_order
from windrow.catalog import ColumnDefinition, StreamEntry
from windrow.errors import WindrowError
from windrow.runtime.punctuation_rows import punctuation_rows
from windrow.state.closed_keys import ClosedKeys
from windrow.units import BEGINNING, FOREVER, parse_duration

MAX_TIMESTAMP = 2**61  # later ones could overflow when a window's length is added
UNPARSABLE = "_unparsable"  # the column in which readers hand over lines that they could not read
KEPT_ASIDE = 10_000  # late and rejected rows kept for looking at; all are counted


@dataclass
class Aside:
    """Rows that were not taken, with the reason; the newest are kept."""

    count: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    rows: list[pa.Table] = field(default_factory=list)

    def put(self, rows: pa.Table, reason: str) -> None:
        if not rows.num_rows:
            return
        self.count += rows.num_rows
        self.reasons[reason] = self.reasons.get(reason, 0) + rows.num_rows
        self.rows.append(rows.append_column("_reason", pa.array([reason] * rows.num_rows, pa.string())))
        while sum(kept.num_rows for kept in self.rows[1:]) >= KEPT_ASIDE:
            self.rows.pop(0)

    def table(self) -> pa.Table | None:
        """The kept rows as they came; columns that came with several types are shown as text."""
        if not self.rows:
            return None
        try:
            return pa.concat_tables(self.rows, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return pa.concat_tables([_as_text(rows) for rows in self.rows], promote_options="permissive")


def _as_text(rows: pa.Table) -> pa.Table:
    columns = [[None if value is None else str(value) for value in column.to_pylist()] for column in rows.columns]
    return pa.table([pa.array(column, pa.string()) for column in columns], names=rows.column_names)


def contradiction(punctuated: Sequence[str]) -> str:
    """Why a row that comes after the punctuation of its key is rejected."""
    return f"a punctuation has closed its {', '.join(punctuated)}"


class Intake:
    def __init__(self, stream: StreamEntry, dictionary: Dictionary) -> None:
        self.stream = stream
        self.punctuations = 0
        self.rejected, self.late = Aside(), Aside()
        self.rows = 0
        self.watermark: int = BEGINNING
        self.newest: int = BEGINNING  # the largest timestamp seen
        self.promised: int = BEGINNING  # what punctuations of time have said: no row before it will come
        self._dictionary = dictionary
        self._types = tuple(column.type for column in stream.columns)
        self._waiting: list[Batch] = []
        self._ties = tuple(self._ordinal(name) for name in stream.ties)
        self._punctuations = punctuation_rows(stream, dictionary)
        key = [self._ordinal(name) for name in stream.punctuated]
        self.closed = ClosedKeys(key, empty([self._types[place] for place in key], dictionary)) if key else None

    def _ordinal(self, name: str) -> int:
        return [column.name for column in self.stream.columns].index(name)

    def take(self, rows: pa.Table, engine_watermark: int, arrival: int) -> None:
        """Rows as they arrived; `arrival` is the time for streams that take it."""
        columns, kept = typed_rows(rows, self.stream.columns, self._dictionary, self.rejected)
        ts, kept = self._times(columns, kept, arrival)
        if len(ts) and int(ts.min()) < engine_watermark:
            late = ts < engine_watermark
            self.late.put(kept.filter(pa.array(late)), "later than the watermark")
            columns = [column.take(~late) for column in columns]
            ts = ts[~late]
        if not len(ts):
            return
        self.newest = max(self.newest, int(ts.max()))
        self.watermark = max(self.watermark, self.newest - self.stream.slack)
        taken = self._without_punctuations(inserts(tuple(columns), ts))
        self.rows += len(taken)
        if len(taken):
            self._waiting.append(taken)

    def _without_punctuations(self, rows: Batch) -> Batch:
        for punctuation, holds in self._punctuations:
            says = holds(rows)
            if says.any():
                self.punctuations += int(np.count_nonzero(says))
                said, rows = rows.take(says), rows.take(~says)
                if punctuation.by:
                    self._close(said.with_columns(said.select(self._ordinals(punctuation.by))))
                else:
                    self._promise(int(said.ts.max()))
        return rows

    def _ordinals(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(self._ordinal(name) for name in names)

    def _close(self, closings: Batch) -> None:
        assert self.closed is not None, self.stream
        self.closed.close(closings)

    def punctuate(self, before: int | None, key: Mapping[str, Any]) -> None:
        """What the stream's own rows could say: no row before a time, no row with a key later than the newest."""
        if key:
            self._close(inserts(tuple(self._key_columns(key)), np.array([self.newest], np.int64)))
        if before is not None:
            self._promise(before)
        self.punctuations += 1

    def _promise(self, before: int) -> None:
        self.promised = max(self.promised, before)
        self.watermark = max(self.watermark, before)

    def _key_columns(self, key: Mapping[str, Any]) -> Iterator[Column]:
        """One value for each column that punctuations close, whatever the case of its name."""
        wanted, given = self.stream.punctuated, {name.lower(): value for name, value in key.items()}
        if {name.lower() for name in wanted} != set(given):
            hint = f"it closes {', '.join(wanted)}" if wanted else "add PUNCTUATION BY column to CREATE STREAM"
            raise WindrowError(f"{', '.join(key)} is not what a punctuation of {self.stream.name} closes", hint)
        for place in self._ordinals(wanted):
            column = self.stream.columns[place]
            array, wrong = _cast(pa.array([given[column.name.lower()]]), arrow_type(column.type))
            if wrong is not None and wrong.any():
                hint = "hand over a value of the column's type"
                raise WindrowError(f"{given[column.name.lower()]!r} is not {column.type}", hint)
            yield column_from_arrow(array, self._dictionary, column.type)

    def finish(self) -> None:
        """The source has ended: nothing more will come."""
        self.watermark = FOREVER

    def advance(self, time: int) -> None:
        """A heartbeat: no row before `time` less the slack will come."""
        self.watermark = max(self.watermark, time - self.stream.slack)

    def until(self, end: int) -> Batch:
        """The waiting rows with ts before `end`, in the order of the stream."""
        none = empty(self._types, self._dictionary)
        if not self._waiting:
            return none
        # Each batch in the order of time is cut without copying it.
        waiting = [batch.sorted_by_time() for batch in self._waiting]
        cuts = [int(np.searchsorted(batch.ts, end)) for batch in waiting]
        parts = list(zip(waiting, cuts, strict=True))
        self._waiting = [batch.slice(cut, len(batch)) for batch, cut in parts if cut < len(batch)]
        due = concat([none, *(batch.slice(0, cut) for batch, cut in parts)])
        return in_row_order(self._uncontradicted(due), self._ties)

    def _uncontradicted(self, rows: Batch) -> Batch:
        """Without rows that come after the punctuation of their key; call `closings` before."""
        if self.closed is None:
            return rows
        after = self.closed.contradicted_by(rows)
        if not after.any():
            return rows
        self.rows -= int(np.count_nonzero(after))
        names = [column.name for column in self.stream.columns]
        self.rejected.put(rows_to_arrow(rows.take(after), names), contradiction(self.stream.punctuated))
        return rows.take(~after)

    def taken(self) -> Batch:
        """All rows that wait, in no order."""
        return concat([empty(self._types, self._dictionary), *self._waiting])

    def first_time(self) -> int | None:
        """The earliest timestamp that waits."""
        return min((int(batch.ts.min()) for batch in self._waiting), default=None)

    def _times(self, columns: list[Column], kept: pa.Table, arrival: int) -> tuple[Int64s, pa.Table]:
        if self.stream.timestamp is None:
            return np.full(kept.num_rows, arrival, np.int64), kept
        times = columns[self._ordinal(self.stream.timestamp)]
        if not len(times) or (times.valid is None and _in_range(times.values)):
            return times.values, kept
        missing = ~times.valid_mask()
        strange = ~missing & ((times.values > MAX_TIMESTAMP) | (times.values < -MAX_TIMESTAMP))
        self.rejected.put(kept.filter(pa.array(missing)), f"{self.stream.timestamp} is null")
        self.rejected.put(kept.filter(pa.array(strange)), f"{self.stream.timestamp} is out of range")
        good = ~missing & ~strange
        if good.all():
            return times.values, kept
        columns[:] = [column.take(good) for column in columns]
        return times.values[good], kept.filter(pa.array(good))


def typed_rows(
    rows: pa.Table, columns: Sequence[ColumnDefinition], dictionary: Dictionary, rejected: Aside
) -> tuple[list[Column], pa.Table]:
    """Columns of the declared types, without the rows that have values which do not fit; those are put aside."""
    rows = _readable(rows, rejected)
    arrays, bad = [], np.zeros(rows.num_rows, np.bool_)

    def reject(wrong: Bools, reason: str) -> None:
        wrong = wrong & ~bad  # a row is rejected once, for the first thing that is wrong with it
        rejected.put(rows.filter(pa.array(wrong)), reason)
        np.logical_or(bad, wrong, out=bad)

    for column in columns:
        values = rows.column(column.name) if column.name in rows.column_names else pa.nulls(rows.num_rows)
        array, wrong = _cast(values, arrow_type(column.type))
        if wrong is not None:
            reject(wrong, f"{column.name} is not {column.type}")
        if not column.nullable and array.null_count:
            reject(np.asarray(array.is_null()), f"{column.name} is null")
        arrays.append(array)
    if bad.any():
        keep = pa.array(~bad)
        arrays, rows = [array.filter(keep) for array in arrays], rows.filter(keep)
    types = (column.type for column in columns)
    return [column_from_arrow(array, dictionary, of) for array, of in zip(arrays, types, strict=True)], rows


def _readable(rows: pa.Table, rejected: Aside) -> pa.Table:
    """Without lines that could not be read at all, which readers hand over as text."""
    if UNPARSABLE not in rows.column_names:
        return rows
    bad = rows.column(UNPARSABLE).is_valid()
    rejected.put(rows.filter(bad).select([UNPARSABLE]), "it cannot be read")
    return rows.filter(pa.compute.invert(bad)).drop_columns([UNPARSABLE])


def _in_range(times: Int64s) -> bool:
    return bool(times.min() >= -MAX_TIMESTAMP and times.max() <= MAX_TIMESTAMP)


def _cast(values: pa.Array | pa.ChunkedArray, wanted: pa.DataType) -> tuple[pa.Array, Bools | None]:
    """The values as a type, and a mask of those that do not fit it (null among the values) when there are any."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    if pa.types.is_dictionary(values.type):
        if values.type.value_type == wanted:
            return values, None
        values = values.dictionary_decode()
    if values.type == wanted:
        return values, None
    try:
        return _checked_cast(values, wanted), None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return _cast_each(values, wanted)


def _checked_cast(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """ArrowInvalid and its kin when a value does not fit; only what is finer than a microsecond is cut off."""
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(values.type):
        finer = values.type.unit == "ns"
        return values.cast(pa.timestamp("us", values.type.tz), safe=not finer).view(pa.int64()).view(wanted)
    if pa.types.is_timestamp(wanted) and pa.types.is_string(values.type):
        return _read_times(values).view(wanted)
    if pa.types.is_duration(wanted):
        return _read_durations(values)
    if pa.types.is_nested(wanted) and pa.types.is_string(values.type):
        return _read_json(values, wanted)
    return values.cast(wanted)


def _read_json(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Arrays and structs as JSON, which is how they stand in CSV files; read once for each different text."""
    texts = values.dictionary_encode()
    try:
        return pa.array([json.loads(text) for text in texts.dictionary.to_pylist()], wanted).take(texts.indices)
    except ValueError as error:
        raise pa.ArrowInvalid(str(error)) from None


def _read_durations(values: pa.Array) -> pa.Array:
    """Numbers are microseconds, as sinks write them; texts are numbers or intervals such as `90 seconds`."""
    if pa.types.is_duration(values.type):
        return values.cast(pa.duration("us"), safe=values.type.unit != "ns")
    if not pa.types.is_string(values.type):
        return values.cast(pa.int64()).view(pa.duration("us"))
    texts = values.dictionary_encode()  # our own words for units: read once for each different text
    return pa.array([_duration(text) for text in texts.dictionary.to_pylist()], pa.duration("us")).take(texts.indices)


def _duration(text: str) -> int:
    try:
        return int(text) if text.strip().lstrip("+-").isdigit() else parse_duration(text)
    except ValueError as error:
        raise pa.ArrowInvalid(str(error)) from None


def _read_times(values: pa.Array) -> pa.Array:
    """Texts with a zone as they say, without one as UTC."""
    try:
        return values.cast(pa.timestamp("us")).view(pa.int64())
    except pa.ArrowInvalid:
        return values.cast(pa.timestamp("us", "UTC")).view(pa.int64())


def _cast_each(values: pa.Array, wanted: pa.DataType) -> tuple[pa.Array, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Halves, and halves of those that do not fit, down to the wrong values: a few casts for each of them."""
    try:
        return _checked_cast(values, wanted), np.zeros(len(values), np.bool_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        if len(values) == 1:
            return pa.nulls(1, wanted), np.ones(1, np.bool_)
    half = len(values) // 2
    (one, wrong), (other, also_wrong) = (_cast_each(part, wanted) for part in (values[:half], values[half:]))
    return pa.concat_arrays([one, other]), np.concatenate([wrong, also_wrong])
