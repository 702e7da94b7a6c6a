"""The border to Arrow: tables come in as columns and go out again; nowhere else are Arrow's layouts known.

Values are taken over without a copy where Arrow's layout is ours. Timestamps come in any unit and go out in
microseconds, UTC; unsigned integers, large and view strings come in as the nearest SQL type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.arrays import Array, Bools
from windrow.batch.batch import Batch
from windrow.batch.column import WIDE, Column, column, dtype_of
from windrow.batch.dictionary import LARGE_BINARY, Dictionary
from windrow.batch.nested import decoded, encoded
from windrow.errors import WindrowError
from windrow.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    DecimalType,
    MapType,
    StructType,
    Type,
    array,
    decimal,
    is_nested,
    map_of,
    struct,
)
from windrow.units import FOREVER

_ARROW: dict[Type, pa.DataType] = {
    BOOLEAN: pa.bool_(),
    TINYINT: pa.int8(),
    SMALLINT: pa.int16(),
    INT: pa.int32(),
    BIGINT: pa.int64(),
    FLOAT: pa.float32(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    BINARY: pa.binary(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us", "UTC"),
    INTERVAL: pa.duration("us"),
    NULL: pa.null(),
}
_WIDER: dict[pa.DataType, Type] = {
    pa.uint8(): SMALLINT,
    pa.uint16(): INT,
    pa.uint32(): BIGINT,
    pa.float16(): FLOAT,
    pa.date64(): DATE,
}


def arrow_type(type: Type) -> pa.DataType:
    """Arrow's name for an SQL type."""
    if isinstance(type, DecimalType):
        return pa.decimal128(type.precision, type.scale)
    if isinstance(type, MapType):
        return pa.map_(arrow_type(type.key), arrow_type(type.value))
    if isinstance(type, ArrayType):
        return pa.list_(arrow_type(type.element))
    if isinstance(type, StructType):
        return pa.struct([(name, arrow_type(of)) for name, of in type.fields])
    return _ARROW[type]


def sql_type(type: pa.DataType) -> Type:
    """The SQL type that values of an Arrow type have here."""
    if pa.types.is_dictionary(type):
        return sql_type(type.value_type)
    if pa.types.is_decimal(type) and type.precision <= 38:
        return decimal(type.precision, type.scale)
    if pa.types.is_timestamp(type):
        return TIMESTAMP
    if pa.types.is_duration(type):
        return INTERVAL
    if pa.types.is_large_string(type) or pa.types.is_string_view(type):
        return STRING
    if pa.types.is_large_binary(type) or pa.types.is_binary_view(type) or pa.types.is_fixed_size_binary(type):
        return BINARY
    if pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type):
        return array(sql_type(type.value_type))
    if pa.types.is_map(type):
        return map_of(sql_type(type.key_type), sql_type(type.item_type))
    if pa.types.is_struct(type) and type.num_fields:
        return struct(*((field.name, sql_type(field.type)) for field in type))
    known = {ours: sql for sql, ours in _ARROW.items()} | _WIDER
    if type not in known:
        raise WindrowError(f"columns of Arrow type {type} are not supported", "cast the column to an SQL type first")
    return known[type]


def column_from_arrow(values: pa.Array | pa.ChunkedArray, dictionary: Dictionary, type: Type | None = None) -> Column:
    """A column of Arrow values; strings become codes of `dictionary`."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    type = sql_type(values.type) if type is None else type
    valid = np.asarray(values.is_valid()) if values.null_count else None
    if type in (STRING, BINARY):
        return column(type, _codes(values, dictionary), valid, dictionary)
    if is_nested(type):
        return column(
            type, dictionary.encode(encoded(_cast(values, arrow_type(type)), type, _plain_column)), valid, dictionary
        )
    if isinstance(type, DecimalType):
        return column(type, _unscaled(values.cast(arrow_type(type)), type), valid)
    return column(type, _plain(values, type), valid)


def _plain_column(values: pa.Array, type: Type) -> Column:
    return column_from_arrow(values, Dictionary(), type)


def _cast(values: pa.Array, type: pa.DataType) -> pa.Array:
    return values if values.type == type else values.cast(type)


def columns_from_arrow(table: pa.Table | pa.RecordBatch, dictionary: Dictionary) -> tuple[Column, ...]:
    return tuple(column_from_arrow(values, dictionary) for values in table.columns)


def column_to_arrow(column: Column) -> pa.Array:
    """A column as an Arrow array of its type."""
    mask = None if column.valid is None else ~column.valid
    type = arrow_type(column.type)
    if column.type == NULL:
        return pa.nulls(len(column))
    if is_nested(column.type):
        return _nested(column, mask, type)
    if column.is_coded:
        return _strings(column, mask, type)
    if isinstance(column.type, DecimalType):
        return _decimals(column, type)
    values = column.values
    if column.type in (TIMESTAMP, INTERVAL, DATE):
        storage = pa.int32() if column.type == DATE else pa.int64()
        return pa.array(values, storage, mask=mask).view(type)
    return pa.array(values, type, mask=mask)


def changelog_to_arrow(batch: Batch, names: Sequence[str]) -> pa.Table:
    """The columns under `names`, and `_ts`, `_exp` (null when open) and `_sign`."""
    ends = pa.array(batch.exp, mask=batch.exp == FOREVER).view(_ARROW[TIMESTAMP])
    arrays = [column_to_arrow(column) for column in batch.columns]
    arrays += [pa.array(batch.ts).view(_ARROW[TIMESTAMP]), ends, pa.array(batch.sign)]
    return pa.table(arrays, names=[*names, "_ts", "_exp", "_sign"])


def rows_to_arrow(batch: Batch, names: Sequence[str]) -> pa.Table:
    """The columns alone."""
    return pa.table([column_to_arrow(column) for column in batch.columns], names=list(names))


def _codes(values: pa.Array, dictionary: Dictionary) -> Array:
    if not pa.types.is_dictionary(values.type):
        return dictionary.encode(values)
    codes = dictionary.encode(values.dictionary)
    places = pc.fill_null(values.indices, 0).to_numpy(zero_copy_only=False)
    return codes[places] if len(codes) else np.zeros(len(values), np.int32)


def _plain(values: pa.Array, type: Type) -> Array:
    if type == NULL:
        return np.zeros(len(values), np.int8)
    if type == BOOLEAN:
        return np.asarray(pc.fill_null(values, False))
    if type in (TIMESTAMP, INTERVAL, DATE):
        target = {TIMESTAMP: pa.timestamp("us"), INTERVAL: pa.duration("us"), DATE: pa.date32()}[type]
        if pa.types.is_timestamp(values.type):
            target = pa.timestamp("us", values.type.tz)
        values = values.cast(target, safe=False).view(pa.int32() if type == DATE else pa.int64())
    else:
        values = _cast(values, arrow_type(type))
    return np.frombuffer(values.buffers()[1], dtype_of(type), len(values), values.offset * dtype_of(type).itemsize)


def _unscaled(values: pa.Array, type: DecimalType) -> Array:
    wide = np.frombuffer(values.buffers()[1], WIDE, len(values), values.offset * 16)
    return wide if dtype_of(type) == WIDE else wide["lo"].view(np.int64)


def _decimals(column: Column, type: pa.DataType) -> pa.Array:
    wide = column.values
    if wide.dtype != WIDE:
        wide = np.zeros(len(column), WIDE)
        wide["lo"] = column.values.view(np.uint64)
        wide["hi"] = column.values >> 63
    return pa.Array.from_buffers(type, len(column), [_validity(column.valid), pa.py_buffer(wide.tobytes())])


def _strings(column: Column, mask: Bools | None, type: pa.DataType) -> pa.Array:
    if column.dictionary is None or not len(column.dictionary):
        return pa.nulls(len(column), type)
    return column.dictionary.decode(pa.array(column.values, mask=mask), type)


def _nested(column: Column, mask: Bools | None, type: pa.DataType) -> pa.Array:
    """Decoded once for each different value."""
    if column.dictionary is None or not len(column.dictionary):
        return pa.nulls(len(column), type)
    codes, places = np.unique(column.values if mask is None else column.values[~mask], return_inverse=True)
    different = decoded(column.dictionary.decode(pa.array(codes), LARGE_BINARY), column.type, column_to_arrow)
    if mask is not None:
        present, places = places, np.zeros(len(column), np.int64)
        places[~mask] = present
    return _cast(different.take(pa.array(places, mask=mask)), type)


def _validity(valid: Bools | None) -> pa.Buffer | None:
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
