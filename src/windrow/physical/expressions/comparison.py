"""Comparisons: a null on either side gives null; NaN equals NaN and is above every number, as in Spark SQL."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.batch.arrays import Array, Bools
from windrow.batch.column import WIDE, Column, order_of, order_words
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.casts import cast
from windrow.physical.expressions.vectors import booleans, both_valid, vector
from windrow.types import BOOLEAN, NULL, Type, common_type

Test = Callable[[Array, Array], Bools]


def comparable(source: Column) -> Array:
    """What compares as the values do: numbers, or for wide decimals their bytes, the highest first."""
    if source.values.dtype == WIDE:
        words = np.stack(order_words(source), axis=1).view(np.uint64) ^ np.uint64(1 << 63)
        rows: Array = words.astype(">u8").view("S16")[:, 0]
        return rows
    return order_of(source) if source.is_coded or source.values.dtype.kind == "f" else source.values


def comparables(left: Column, right: Column) -> tuple[Array, Array]:
    """Numbers in the order of the values of both; doubles as they are where none is NaN."""
    if left.values.dtype.kind == right.values.dtype.kind == "f" and not (_has_nan(left) or _has_nan(right)):
        return left.values, right.values
    return comparable(left), comparable(right)


def _has_nan(source: Column) -> bool:
    return len(source) > 0 and bool(np.isnan(source.values.max()))


def as_common_type(columns: list[Column], dictionary: Dictionary) -> list[Column]:
    """The columns as their common type."""
    of: Type = NULL
    for column in columns:
        of = common_type(of, column.type) or of
    return [cast(column, of, dictionary) for column in columns]


def comparison(test: Test) -> Kernel:
    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        left, right = as_common_type(arguments, dictionary)
        return booleans(test(*comparables(left, right)), both_valid(left, right))

    return kernel


def equality(test: Test) -> Kernel:
    """= and <>: what is coded is compared by its codes."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        left, right = as_common_type(arguments, dictionary)
        if left.is_coded:
            return booleans(test(left.values, right.values), both_valid(left, right))
        return booleans(test(*comparables(left, right)), both_valid(left, right))

    return kernel


def is_distinct_from(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """Never null: two nulls are the same."""
    left, right = as_common_type(arguments, dictionary)
    one, other = left.valid_mask(), right.valid_mask()
    differ = np.asarray(comparable(left) != comparable(right), np.bool_)
    return booleans((differ & one & other) | (one != other), None)


def is_in(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """True when a value is equal; else null when the value or a list member is null."""
    value, *members = as_common_type(arguments, dictionary)
    found = np.zeros(1, np.bool_)
    unknown = ~value.valid_mask()
    for member in members:
        equal = np.asarray(comparable(value) == comparable(member), np.bool_)
        found = found | (equal & value.valid_mask() & member.valid_mask())
        unknown = unknown | ~member.valid_mask()
    valid = found | ~unknown
    return vector(BOOLEAN, np.broadcast_to(found, valid.shape), None if valid.all() else valid)


def extreme(smallest: bool) -> Kernel:
    """GREATEST and LEAST: nulls are skipped."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        columns = [cast(argument, of, dictionary) for argument in arguments]
        best = columns[0]
        for other in columns[1:]:
            a, b = comparable(best), comparable(other)
            better = b < a if smallest else b > a
            take = (better & other.valid_mask() & best.valid_mask()) | (~best.valid_mask() & other.valid_mask())
            values = np.where(take, other.values, best.values)
            best = vector(of, values, best.valid_mask() | other.valid_mask(), columns[0])
        return best

    return kernel
