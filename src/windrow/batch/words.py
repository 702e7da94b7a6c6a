"""Rows as 64-bit words: two rows have the same words exactly when SQL's grouping calls them equal.

A row of k columns is k words (a wide decimal gives two) and one word of null bits for every 64 columns. Nulls are equal
to nulls, NaN to NaN, -0.0 to 0.0. Strings are codes, so rows can be compared only under the same dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.batch.arrays import Array, Bools, Floats, UInt64s
from windrow.batch.column import WIDE, Column


def key_words(columns: Sequence[Column], length: int) -> UInt64s:
    """The words of rows without nulls: there is no word for these."""
    if any(column.values.dtype == WIDE for column in columns):
        return words_of(columns, length)
    words = np.empty((length, len(columns)), np.uint64)
    for place, column in enumerate(columns):
        words[:, place] = _bits(column.values)
    return words


def words_of(columns: Sequence[Column], length: int, *times: Array) -> UInt64s:
    """A row of words for each of the `length` rows; `times` are further words, such as `exp`."""
    width = sum(2 if column.values.dtype == WIDE else 1 for column in columns)
    null_words = (len(columns) + 63) // 64
    words = np.empty((length, width + null_words + len(times)), np.uint64)
    words[:, width : width + null_words] = 0
    place = 0
    for column in columns:
        if column.values.dtype == WIDE:
            words[:, place] = column.values["hi"].view(np.uint64)
            place += 1
            words[:, place] = column.values["lo"]
        else:
            words[:, place] = _bits(column.values)
        place += 1
    for number, column in enumerate(columns):
        if column.valid is not None:
            words[:, width + number // 64] |= (~column.valid).astype(np.uint64) << np.uint64(number % 64)
    for number, time in enumerate(times):
        words[:, width + null_words + number] = time.view(np.uint64)
    return words


def same_as_before(columns: Sequence[Column], before: Array) -> Bools:
    """Whether the last rows, as many as `before` has, equal the rows at the places it tells.

    A column is looked at only when there are rows that equal in all columns up to it.
    """
    same = np.ones(len(before), np.bool_)
    for column in columns:
        if not same.any():
            break
        wide = column.values.dtype == WIDE
        for values in (column.values["hi"], column.values["lo"]) if wide else (_bits(column.values),):
            same &= values[len(values) - len(before) :] == values.take(before)
        if column.valid is not None:
            same &= column.valid[len(column) - len(before) :] == column.valid.take(before)
    return same


def any_null(columns: Sequence[Column], length: int) -> Array:
    """The rows that have a null in one of the columns: they match nothing in a join."""
    mask = np.zeros(length, np.bool_)
    for column in columns:
        if column.valid is not None:
            mask |= ~column.valid
    return mask


def _bits(values: Array) -> UInt64s:
    if values.dtype.kind == "f":
        doubles: Floats = values + np.float64(0.0)  # of -0.0 it makes 0.0
        doubles[np.isnan(doubles)] = np.nan
        return doubles.view(np.uint64)
    if values.dtype.kind == "b":
        return values.astype(np.uint64)
    return values.astype(np.int64, copy=False).view(np.uint64)
