"""Rows as they come get the columns and types that were declared; those that do not fit are rejected."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute

from windrow.batch import Column, Dictionary, arrow_type, column_from_arrow
from windrow.batch.arrays import Bools
from windrow.catalog import ColumnDefinition
from windrow.errors import close_names, did_you_mean
from windrow.runtime.intake.side_output import SideOutput
from windrow.sources.declared_columns import not_declared
from windrow.sources.rows import UNPARSABLE
from windrow.units import parse_duration


def typed_rows(
    rows: pa.Table, columns: Sequence[ColumnDefinition], dictionary: Dictionary, rejected: SideOutput
) -> tuple[list[Column], pa.Table]:
    """Columns of the declared types; rows with values that do not fit go to the side output instead."""
    rows = _readable(rows, rejected)
    arrays, bad = [], np.zeros(rows.num_rows, np.bool_)

    def reject(wrong: Bools, reason: str) -> None:
        wrong = wrong & ~bad  # a row is rejected once, for the first thing that is wrong with it
        rejected.put(rows.filter(pa.array(wrong)), reason)
        np.logical_or(bad, wrong, out=bad)

    for column in columns:
        values = rows.column(column.name) if column.name in rows.column_names else pa.nulls(rows.num_rows)
        array, wrong = cast(values, arrow_type(column.type))
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


def absent_columns(rows: pa.Table, columns: Sequence[ColumnDefinition]) -> dict[str, int]:
    """What is to be said of declared columns that rows do not have, and that are NULL therefore; of how many rows."""
    if UNPARSABLE in rows.column_names:
        rows = rows.filter(pa.compute.invert(_unreadable(rows)))
    if not rows.num_rows:
        return {}
    absent = (column.name for column in columns if column.name not in rows.column_names)
    return {_absent(name, not_declared(rows)): rows.num_rows for name in absent}


def _absent(name: str, others: Sequence[str]) -> str:
    close = close_names(name, others)
    if close:
        return f"there is no column {name}, it is NULL: {did_you_mean(close)}"
    beside = f"; not declared: {', '.join(others)}" if others else ""
    return f"there is no column {name}, it is NULL{beside}"


def _unreadable(rows: pa.Table) -> pa.ChunkedArray:
    return rows.column(UNPARSABLE).is_valid()


def _readable(rows: pa.Table, rejected: SideOutput) -> pa.Table:
    """Without lines that could not be read at all, which readers hand over as text."""
    if UNPARSABLE not in rows.column_names:
        return rows
    bad = _unreadable(rows)
    rejected.put(rows.filter(bad).select([UNPARSABLE]), "it cannot be read")
    return rows.filter(pa.compute.invert(bad)).drop_columns([UNPARSABLE])


def cast(values: pa.Array | pa.ChunkedArray, wanted: pa.DataType) -> tuple[pa.Array, Bools | None]:
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
