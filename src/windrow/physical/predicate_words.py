"""Bounds of columns as the words of a predicate index: codes of strings, else integers in the order of the values.

A bound on exact numbers is rounded to the column's own numbers, inwards; one on floating-point numbers is compared as
doubles, as the comparison itself would be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from windrow.batch.column import Column, order_of
from windrow.batch.dictionary import Dictionary
from windrow.operators.selections.predicate_table import Bound
from windrow.physical.expressions.casts import cast
from windrow.physical.expressions.constants import constant
from windrow.plan.analysis.column_bounds import ColumnBound
from windrow.plan.expressions import Literal
from windrow.plan.schema import Schema
from windrow.types import BINARY, DOUBLE, FLOAT, STRING, DecimalType, Type

_SMALLEST, _LARGEST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


def bounds_of(demanded: Iterable[ColumnBound], schema: Schema, dictionary: Dictionary) -> list[Bound]:
    """One for each column that has to be within an interval, and one for each set of values."""
    places = {name: place for place, name in enumerate(schema.names)}
    intervals: dict[int, tuple[int, int]] = {}
    found = []
    for bound in demanded:
        ordinal = places[bound.column.name]
        if bound.operator in ("=", "IN"):
            words = {word for one in bound.constants for word in _equal(one, bound.column.type, dictionary)}
            found.append(Bound(ordinal, tuple(sorted(words)), is_set=True))
        else:
            low, high = _interval(bound, dictionary)
            known = intervals.get(ordinal, (_SMALLEST, _LARGEST))
            intervals[ordinal] = max(low, known[0]), min(high, known[1])
    return found + [Bound(ordinal, ends, is_set=False) for ordinal, ends in intervals.items()]


def _equal(value: Literal, column: Type, dictionary: Dictionary) -> list[int]:
    """The word of a value; none when the column never has it."""
    if column in (STRING, BINARY):
        return [int(constant(value, dictionary).values[0])]
    exact = _position(value, column, dictionary)
    return [int(exact)] if exact.denominator == 1 and _SMALLEST <= exact <= _LARGEST else []


def _interval(bound: ColumnBound, dictionary: Dictionary) -> tuple[int, int]:
    exact = _position(bound.constants[0], bound.column.type, dictionary)
    low, high = _SMALLEST, _LARGEST
    if bound.operator == ">":
        low = math.floor(exact) + 1
    elif bound.operator == ">=":
        low = math.ceil(exact)
    elif bound.operator == "<":
        high = math.ceil(exact) - 1
    else:
        high = math.floor(exact)
    return _clipped(low, high)


def _clipped(low: int, high: int) -> tuple[int, int]:
    """Words that can be held; what no value is within stays so."""
    if low > _LARGEST or high < _SMALLEST:
        return 1, 0
    return max(low, _SMALLEST), min(high, _LARGEST)


def _position(value: Literal, column: Type, dictionary: Dictionary) -> Fraction:
    """Where a constant lies among the words of a column, perhaps between two of them."""
    if column in (DOUBLE, FLOAT):
        as_double: Column = cast(constant(value, dictionary), DOUBLE, dictionary)
        return Fraction(int(order_of(as_double)[0]))
    assert value.value is not None and not isinstance(value.value, str | bytes), value
    scale = column.scale if isinstance(column, DecimalType) else 0
    return Fraction(value.value) * Fraction(10**scale)
