"""Vectors: columns during evaluation. A constant is a column of length one that broadcasts against the others."""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Array, Bools
from windrow.batch.column import Column, column, dtype_of
from windrow.types import BOOLEAN, DecimalType, Type


def both_valid(*columns: Column) -> Bools | None:
    """Where none of the columns is null; None when nowhere is one."""
    masks = [c.valid for c in columns if c.valid is not None]
    if not masks:
        return None
    result = masks[0]
    for mask in masks[1:]:
        result = result & mask
    return result


def shaped(mask: Bools | None, values: Array) -> Bools | None:
    """A mask of the values' own length."""
    return mask if mask is None or mask.shape == values.shape else np.broadcast_to(mask, values.shape).copy()


def vector(of: Type, values: Array, valid: Bools | None, like: Column | None = None) -> Column:
    """A column of computed values, zero under nulls; strings keep the dictionary of `like`."""
    values = np.ascontiguousarray(values, dtype_of(of))
    return column(of, values, shaped(valid, values), None if like is None else like.dictionary)


def booleans(values: Bools, valid: Bools | None) -> Column:
    return vector(BOOLEAN, values, valid)


def spread(result: Column, length: int) -> Column:
    """A result of the batch's length: constants are repeated."""
    if len(result) == length:
        return result
    valid = None if result.valid is None else np.broadcast_to(result.valid, length).copy()
    return Column(result.type, np.broadcast_to(result.values, length).copy(), valid, result.dictionary)


def as_floats(source: Column) -> Array:
    """Numbers as doubles, the nearest there is."""
    if not isinstance(source.type, DecimalType):
        return source.values.astype(np.float64)
    values, unit = unscaled(source), 10**source.type.scale
    floats: Array = values.astype(np.float64) / unit
    exact = np.abs(values) < 2**53 if source.type.scale <= 22 else np.zeros(len(values), np.bool_)
    for place in np.flatnonzero(~np.asarray(exact, np.bool_)):
        floats[place] = int(values[place]) / unit
    return floats


def shortest(source: Column) -> Array:
    """Floats as the doubles that their shortest decimal texts name: 0.1 for the FLOAT nearest to 0.1."""
    if source.values.dtype != np.float32:
        return source.values.astype(np.float64)
    different, places = np.unique(source.values.view(np.int32), return_inverse=True)
    texts = [float(str(value)) for value in different.view(np.float32)]
    return np.array(texts, np.float64)[places]


def unscaled(source: Column) -> Array:
    """The scaled integers of a decimal or integer column: 64 bits where they fit, else Python's."""
    values = source.values
    if values.dtype.names is None:
        return values.astype(np.int64)
    wide: Array = values["hi"].astype(object) * 2**64 + values["lo"].astype(object)
    return wide


def limits_of(of: Type) -> tuple[int, int]:
    """The smallest and largest value of an integer type."""
    bits = 8 * dtype_of(of).itemsize - 1
    return -(2**bits), 2**bits - 1


def from_unscaled(values: Array, valid: Bools | None, of: DecimalType) -> Column:
    """A decimal column of scaled integers; what does not fit its digits becomes null."""
    limit = 10**of.precision
    fits = (values > -limit) & (values < limit)
    valid = np.asarray(fits, np.bool_) if valid is None else np.asarray(fits, np.bool_) & valid
    kept = np.where(valid, values, 0)
    if dtype_of(of) == np.int64:
        return vector(of, kept.astype(np.int64), valid)
    wide = np.zeros(kept.shape, dtype_of(of))
    wide["hi"] = [int(value) >> 64 for value in kept.tolist()]
    wide["lo"] = [int(value) & (2**64 - 1) for value in kept.tolist()]
    return vector(of, wide, valid)
