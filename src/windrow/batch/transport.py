"""Batches on their way to another process: bytes that hold the rows by value.

An Arrow stream of the columns, `_ts`, `_exp` and `_sign`; strings go as indices into the strings that occur, and a
lifetime or sign that is the same for all rows goes once, in the schema's metadata.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.batch.arrays import Array
from windrow.batch.arrow import column_from_arrow, column_to_arrow
from windrow.batch.batch import Batch
from windrow.batch.column import Column
from windrow.batch.dictionary import LARGE_BINARY, Dictionary
from windrow.types import BINARY, Type

_TIMES = ("_ts", "_exp", "_sign")


def to_bytes(batch: Batch) -> bytes:
    arrays = [_strings_apart(column) for column in batch.columns]
    names = [str(place) for place in range(len(arrays))]
    constants: dict[str, str] = {"rows": str(len(batch))}
    times: list[Array] = [batch.ts, batch.exp, batch.sign]
    for name, values in zip(_TIMES, times, strict=True):
        if len(values) and bool((values == values[0]).all()):
            constants[name] = str(values[0])
        else:
            arrays.append(pa.array(values))
            names.append(name)
    table = pa.table(arrays, names=names).replace_schema_metadata(constants)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def from_bytes(content: bytes, types: Sequence[Type], dictionary: Dictionary) -> Batch:
    """The batch under this process's dictionary."""
    table = pa.ipc.open_stream(content).read_all()
    constants = {key.decode(): int(value) for key, value in table.schema.metadata.items()}
    columns = tuple(_column(table.column(str(place)), type, dictionary) for place, type in enumerate(types))
    ts, exp, sign = (_times(table, name, constants) for name in _TIMES)
    return Batch(columns, ts, exp, sign.astype(np.int8))


def _times(table: pa.Table, name: str, constants: dict[str, int]) -> Array:
    if name in constants:
        return np.full(constants["rows"], constants[name], np.int64)
    return np.asarray(table.column(name).to_numpy())


def _strings_apart(column: Column) -> pa.Array:
    """What is coded goes as indices into the bytes that occur."""
    if not column.is_coded:
        return column_to_arrow(column)
    if column.dictionary is None or not len(column.dictionary):
        return pa.nulls(len(column), pa.dictionary(pa.int32(), LARGE_BINARY))
    used = np.zeros(len(column.dictionary), np.bool_)
    used[column.values] = True
    places = np.cumsum(used, dtype=np.int32) - 1
    indices = pa.array(places[column.values], mask=None if column.valid is None else ~column.valid)
    codes = pa.array(np.flatnonzero(used), pa.int32())
    return pa.DictionaryArray.from_arrays(indices, column.dictionary.decode(codes, LARGE_BINARY))


def _column(values: pa.ChunkedArray, type: Type, dictionary: Dictionary) -> Column:
    if not pa.types.is_dictionary(values.type):
        return column_from_arrow(values, dictionary, type)
    codes = column_from_arrow(values, dictionary, BINARY)  # bytes are bytes, whatever they stand for
    return Column(type, codes.values, codes.valid, dictionary)
