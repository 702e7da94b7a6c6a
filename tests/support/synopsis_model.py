"""Synopses beside a plain list of elements: what every one of them has to agree with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from windrow.batch import Dictionary, column_from_arrow, column_to_arrow
from windrow.batch.arrays import Int64s
from windrow.batch.column import Column
from windrow.synopses import (
    SharedSynopsis,
    WordAggregate,
    average_of_decimals,
    average_of_doubles,
    average_of_integers,
    count,
    maximum,
    minimum,
    sum_of_doubles,
    sum_of_integers,
)
from windrow.types import BIGINT, DOUBLE, STRING, Type, decimal

DICTIONARY = Dictionary()
CENTS, WIDE_CENTS = decimal(10, 2), decimal(30, 2)


@dataclass(frozen=True)
class Case:
    """An aggregate, the values it is tried on, and what it should give for some of them."""

    name: str
    type: Type
    arrow: pa.DataType
    values: st.SearchStrategy
    make: Callable[[], WordAggregate]
    expected: Callable[[list], object]

    def column(self, values: Sequence) -> Column:
        return column_from_arrow(pa.array(list(values), self.arrow), DICTIONARY, self.type)


def shown(column: Column) -> list:
    return column_to_arrow(column).to_pylist()


def lookup_by_rows(synopsis: SharedSynopsis, group: Int64s, oldest: Int64s, newest: Int64s) -> list[Column]:
    """For each of the synopses its value over the last `oldest` elements without the last `newest`."""
    return synopsis.lookup(synopsis.elements.by_rows(group, oldest, newest))


def exact_sum(values: list[float]) -> float:
    if any(math.isnan(v) for v in values) or (math.inf in values and -math.inf in values):
        return math.nan
    infinite = [v for v in values if math.isinf(v)]
    if infinite:
        return infinite[0]
    total = sum(map(Fraction, values), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return math.copysign(math.inf, total)


def integer_sum(values: list[int]) -> int | None:
    total = sum(values)
    return total if values and -(2**63) <= total < 2**63 else None


def decimal_average(values: list[Decimal], places: int) -> Decimal | None:
    if not values:
        return None
    exact = sum(map(Fraction, values), Fraction(0)) / len(values) * 10**places
    rounded = (2 * abs(exact.numerator) + exact.denominator) // (2 * exact.denominator)
    return Decimal(rounded if exact >= 0 else -rounded).scaleb(-places)


def in_order(value: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(value) else (False, value)


integers = st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1))
doubles = st.one_of(
    st.sampled_from([1e16, -1e16, 1.0, 1e-300, 5e-324, 0.1, -0.1, 1e300, -1e300, -0.0, 1e-6, 1e12]),
    st.floats(-1e6, 1e6),
)
wild = st.one_of(doubles, st.sampled_from([math.inf, -math.inf, math.nan]))
cents = st.decimals(-(10**7), 10**7, places=2)
words = st.sampled_from(["b", "a", "", "z", "ä", "ab"])


def _or_none(function: Callable[[list], object]) -> Callable[[list], object]:
    return lambda values: function(values) if values else None


CASES = (
    Case("count", BIGINT, pa.int64(), integers, count, len),
    Case("sum of integers", BIGINT, pa.int64(), integers, lambda: sum_of_integers(BIGINT), integer_sum),
    Case("sum of doubles", DOUBLE, pa.float64(), wild, sum_of_doubles, _or_none(exact_sum)),
    Case("sum of decimals", CENTS, pa.decimal128(10, 2), cents, lambda: sum_of_integers(decimal(20, 2)), _or_none(sum)),
    Case(
        "sum of wide decimals", WIDE_CENTS, pa.decimal128(30, 2), cents,
        lambda: sum_of_integers(decimal(38, 2)), _or_none(sum),
    ),
    Case(
        "average of integers", BIGINT, pa.int64(), st.integers(-(2**31), 2**31), average_of_integers,
        _or_none(lambda values: sum(values) / len(values)),
    ),
    Case(
        "average of doubles", DOUBLE, pa.float64(), wild, average_of_doubles,
        _or_none(lambda values: exact_sum(values) / len(values)),
    ),
    Case(
        "average of decimals", CENTS, pa.decimal128(10, 2), cents,
        lambda: average_of_decimals(CENTS, decimal(14, 6)), lambda values: decimal_average(values, 6),
    ),
    Case("least integer", BIGINT, pa.int64(), integers, lambda: minimum(BIGINT), _or_none(min)),
    Case(
        "greatest double", DOUBLE, pa.float64(), wild, lambda: maximum(DOUBLE),
        _or_none(lambda values: max(values, key=in_order)),
    ),
    Case("greatest string", STRING, pa.string(), words, lambda: maximum(STRING, DICTIONARY), _or_none(max)),
    Case("least wide decimal", WIDE_CENTS, pa.decimal128(30, 2), cents, lambda: minimum(WIDE_CENTS), _or_none(min)),
)  # fmt: skip
SUBTRACTABLE = tuple(case for case in CASES if case.make().is_subtractable)


def same(found: object, expected: object) -> bool:
    """Equal; NaN equals itself, and doubles that come from a division may differ in their last bit."""
    if isinstance(found, float) and isinstance(expected, float):
        if math.isnan(expected) or math.isinf(expected):
            return found == expected or (math.isnan(found) and math.isnan(expected))
        return math.isclose(found, expected, rel_tol=1e-15, abs_tol=1e-322)
    return found == expected


@dataclass
class Model:
    """Elements by group, in the order of time."""

    elements: list[tuple[int, int, object]] = field(default_factory=list)

    def of_group(self, group: int) -> list[tuple[int, object]]:
        return [(time, value) for g, time, value in self.elements if g == group]

    def by_time(self, group: int, begin: int, end: int) -> list:
        return [v for t, v in self.of_group(group) if begin <= t < end and v is not None]

    def by_rows(self, group: int, oldest: int, newest: int) -> list:
        held = self.of_group(group)
        last = len(held) - newest
        return [v for _, v in held[max(0, len(held) - oldest) : max(0, last)] if v is not None]


def bursts(values: st.SearchStrategy) -> st.SearchStrategy:
    """Batches of (group, ticks since the last element, value)."""
    element = st.tuples(st.integers(0, 3), st.integers(0, 4), st.none() | values)
    return st.lists(st.lists(element, max_size=20), max_size=8)


def int64s(values: Sequence[int]) -> np.ndarray:
    return np.array(values, np.int64)
