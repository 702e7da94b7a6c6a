"""A column: an array of fixed-width values and, when there are nulls, a mask of the valid ones.

How the SQL types are held: integers, floats and Booleans as themselves; DATE as days (int32); TIMESTAMP and INTERVAL as
microseconds (int64); DECIMAL as a scaled integer, of 64 bits up to 18 digits and of 128 above (`WIDE`); STRING,
BINARY, ARRAY and STRUCT as codes of a `Dictionary`.

Invariant: the value under a null is zero, so that two columns can be compared value by value and mask by mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.batch.arrays import Array, Bools, Int64s, is_same_memory
from windrow.batch.dictionary import LARGE_BINARY, Dictionary
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
    DecimalType,
    Type,
    is_nested,
)

# A 128-bit integer as Arrow lays it out; compared by `hi` first.
WIDE = np.dtype({"names": ["hi", "lo"], "formats": ["<i8", "<u8"], "offsets": [8, 0], "itemsize": 16})
MAX_NARROW_PRECISION = 18

_DTYPES: dict[Type, np.dtype[np.generic]] = {
    BOOLEAN: np.dtype(np.bool_),
    TINYINT: np.dtype(np.int8),
    SMALLINT: np.dtype(np.int16),
    INT: np.dtype(np.int32),
    BIGINT: np.dtype(np.int64),
    FLOAT: np.dtype(np.float32),
    DOUBLE: np.dtype(np.float64),
    DATE: np.dtype(np.int32),
    TIMESTAMP: np.dtype(np.int64),
    INTERVAL: np.dtype(np.int64),
    STRING: np.dtype(np.int32),
    BINARY: np.dtype(np.int32),
    NULL: np.dtype(np.int8),
}


def dtype_of(type: Type) -> np.dtype[np.generic]:
    """How values of an SQL type are held."""
    if isinstance(type, DecimalType):
        return np.dtype(np.int64) if type.precision <= MAX_NARROW_PRECISION else WIDE
    return np.dtype(np.int32) if is_nested(type) else _DTYPES[type]


@dataclass(frozen=True, eq=False)
class Column:
    type: Type
    values: Array
    valid: Bools | None = None  # None: no nulls
    dictionary: Dictionary | None = None  # of what is coded

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_coded(self) -> bool:
        return self.type in (STRING, BINARY) or is_nested(self.type)

    def take(self, rows: Array) -> Column:
        """The values at positions, or under a mask."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        valid = None if self.valid is None else self.valid.take(rows)
        return Column(self.type, self.values.take(rows), valid, self.dictionary)

    def slice(self, start: int, end: int) -> Column:
        valid = None if self.valid is None else self.valid[start:end]
        return Column(self.type, self.values[start:end], valid, self.dictionary)

    def shares(self, times: Int64s) -> bool:
        """Whether the values are the times of a batch, in the same memory: the column that TIMESTAMP BY names."""
        return self.valid is None and is_same_memory(self.values, times)

    def of_times(self, times: Int64s) -> Column:
        """The same column with other times, which then need not be copied for it."""
        return Column(self.type, times)

    def valid_mask(self) -> Bools:
        return np.ones(len(self), np.bool_) if self.valid is None else self.valid

    def recoded(self, dictionary: Dictionary) -> Column:
        """The same strings as codes of another dictionary."""
        if self.dictionary is dictionary or self.dictionary is None:
            return Column(self.type, self.values, self.valid, dictionary)
        codes, places = np.unique(self.values, return_inverse=True)
        known = codes[codes < len(self.dictionary)]  # a column of nulls may hold a code of an empty dictionary
        moved = np.zeros(len(codes), np.int32)
        moved[: len(known)] = dictionary.encode(self.dictionary.decode(pa.array(known), LARGE_BINARY))
        values = moved[places]
        if self.valid is not None:
            values[~self.valid] = 0
        return Column(self.type, values, self.valid, dictionary)


def column(type: Type, values: Array, valid: Bools | None = None, dictionary: Dictionary | None = None) -> Column:
    """A column of `values`, made to keep the invariant."""
    values = np.ascontiguousarray(values, dtype_of(type))
    if valid is None or valid.all():
        return Column(type, values, None, dictionary)
    values = values.copy()
    values[~valid] = np.zeros((), values.dtype)
    return Column(type, values, valid, dictionary)


def nulls(type: Type, length: int, dictionary: Dictionary | None = None) -> Column:
    """A column of nothing but nulls."""
    return Column(type, np.zeros(length, dtype_of(type)), np.zeros(length, np.bool_), dictionary)


def concat_columns(columns: Sequence[Column]) -> Column:
    """One below the other; strings come under the first dictionary."""
    first = columns[0]
    if len(columns) == 1:
        return first
    dictionary = next((c.dictionary for c in columns if c.dictionary is not None), None)
    if dictionary is not None:
        columns = [c.recoded(dictionary) for c in columns]
    values = np.concatenate([c.values for c in columns], dtype=first.values.dtype)  # keeps the layout of WIDE
    has_nulls = any(c.valid is not None for c in columns)
    valid = np.concatenate([c.valid_mask() for c in columns]) if has_nulls else None
    return Column(first.type, values, valid, dictionary)


def order_of(column: Column) -> Int64s:
    """Integers in the order of the values, for all types but wide decimals; nulls are the caller's affair.

    NaN comes after all other numbers and -0.0 equals 0.0, as in Spark SQL.
    """
    values = column.values
    if column.is_coded:
        ranks = column.dictionary.ranks() if column.dictionary is not None else np.zeros(0, np.int64)
        return ranks[values] if len(ranks) else np.zeros(len(values), np.int64)
    if values.dtype.kind == "f":
        return _order_of_floats(values.astype(np.float64))
    assert values.dtype != WIDE, "a wide decimal has two words"
    return values.astype(np.int64)


def order_words(column: Column) -> list[Int64s]:
    """The same for all types: one word a row, or for a wide decimal two, the more important first."""
    if column.values.dtype != WIDE:
        return [order_of(column)]
    return [column.values["hi"].astype(np.int64), (column.values["lo"] ^ np.uint64(1 << 63)).view(np.int64)]


def from_order(type: Type, words: Sequence[Int64s], valid: Bools) -> Column:
    """The column whose `order_words` these are; not for codes, whose places change."""
    dtype, first = dtype_of(type), words[0]
    if dtype == WIDE:
        wide = np.zeros(len(first), WIDE)
        wide["hi"], wide["lo"] = first, words[1].view(np.uint64) ^ np.uint64(1 << 63)
        return column(type, wide, valid)
    if dtype.kind == "f":
        bits = np.where(first < 0, first ^ np.int64(0x7FFFFFFFFFFFFFFF), first)
        return column(type, bits.view(np.float64).astype(dtype), valid)
    return column(type, first.astype(dtype), valid)


def _order_of_floats(values: Array) -> Int64s:
    bits = (np.where(np.isnan(values), np.nan, values) + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)
