"""Vectors: columns during evaluation. A constant is a column of length one that broadcasts against the others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.batch.arrays import Array, Bools
from windrow.batch.arrow import column_to_arrow
from windrow.batch.column import MAX_NARROW_PRECISION, WIDE, Column, column, dtype_of
from windrow.batch.wide import HALF_UP, narrowed, rescaled, widened
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
    values, scale = source.values, source.type.scale
    if values.dtype != WIDE and scale <= 22 and bool((np.abs(values) < 2**53).all()):
        exact: Array = values.astype(np.float64) / 10**scale  # of two exact doubles, rounded once
        return exact
    # Arrow reads texts to the nearest double; its own way from decimals to doubles rounds more than once.
    texts = column_to_arrow(Column(source.type, values)).cast(pa.string())
    nearest: Array = np.asarray(texts.cast(pa.float64()))
    return nearest


def shortest(source: Column) -> Array:
    """Floats as the doubles that their shortest decimal texts name: 0.1 for the FLOAT nearest to 0.1."""
    if source.values.dtype != np.float32:
        return source.values.astype(np.float64)
    different, places = np.unique(source.values.view(np.int32), return_inverse=True)
    texts = [float(str(value)) for value in different.view(np.float32)]
    return np.array(texts, np.float64)[places]


def limits_of(of: Type) -> tuple[int, int]:
    """The smallest and largest value of an integer type."""
    bits = 8 * dtype_of(of).itemsize - 1
    return -(2**bits), 2**bits - 1


def decimals(values: Array, valid: Bools | None, of: DecimalType) -> Column:
    """A column of scaled integers that have the digits of their type, of 64 or 128 bits."""
    if dtype_of(of) == WIDE:
        return vector(of, widened(values), valid)
    return vector(of, narrowed(values)[0] if values.dtype == WIDE else values, valid)


def among(valid: Bools | None, fits: Bools) -> Bools | None:
    """The rows that were valid and fit; None when all are."""
    if fits.all():
        return valid
    return fits if valid is None else fits & valid


def rescaled_to(source: Column, digits: int, of: DecimalType, rounding: int = HALF_UP) -> Column:
    """An exact number with fewer digits after the point, or more when `digits` is negative; null what does not fit."""
    values, limit = source.values, 10**of.precision
    if values.dtype != WIDE and rounding == HALF_UP and abs(digits) <= MAX_NARROW_PRECISION:
        whole, unit = values.astype(np.int64), 10 ** abs(digits)
        largest = max(-int(whole.min()), int(whole.max())) if len(whole) else 0
        if largest * (unit if digits < 0 else 2) < 2**62:
            if digits > 0:
                half_up = (np.abs(whole) + unit // 2) // unit
                whole = np.where(whole < 0, -half_up, half_up)
            else:
                whole = whole * unit
            fits = np.abs(whole) < limit if limit < 2**62 else np.ones(len(whole), np.bool_)
            return decimals(whole, among(source.valid, fits), of)
    wide, fits = rescaled(values, digits, limit, rounding)
    return decimals(wide, among(source.valid, fits), of)
