"""Columns as integers in the order of their values, and back."""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Bools, Int64s
from windrow.batch.column import WIDE, Column, column, dtype_of, order_of
from windrow.errors import WindrowError

NO_RANKS: Int64s = np.zeros((0, 1), np.int64)


def in_order(values: Column) -> Int64s:
    """Integers in the order of values; codes as they are, their order being looked up in `ranks_of`."""
    if dtype_of(values.type) == WIDE:
        raise WindrowError(f"{values.type} cannot be put in order here", "cast it to at most 18 digits")
    return values.values.astype(np.int64) if values.is_coded else order_of(values)


def ranks_of(values: Column) -> Int64s:
    """The order of codes, nothing for other columns."""
    if not values.is_coded or values.dictionary is None:
        return NO_RANKS
    return values.dictionary.ranks()[:, None]


def column_like(like: Column, found: Int64s, present: Bools) -> Column:
    """The column whose values in order are `found`; null where nothing is present."""
    dtype = dtype_of(like.type)
    if dtype.kind == "f":
        bits = np.where(found < 0, found ^ np.int64(0x7FFFFFFFFFFFFFFF), found)
        return column(like.type, bits.view(np.float64).astype(dtype), present)
    return column(like.type, found.astype(dtype), present, like.dictionary)
