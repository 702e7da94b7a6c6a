"""Oracle: sums and what is made of them, against exact rational arithmetic, with rows that come and go."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.batch_strategies import few_cuts
from support.operator_runs import Node, Source, answer, run, stream
from windrow.aggregates import (
    Aggregate,
    Count,
    DecimalAverage,
    FloatAverage,
    FloatSum,
    IntegerSum,
    Median,
    Quantile,
    StandardDeviation,
    Top,
    Variance,
    maximum,
)
from windrow.batch import Dictionary
from windrow.operators import GroupBy, RangeLifetime, TimeWindow
from windrow.types import BIGINT, bounded_decimal, decimal

LENGTH = 8
doubles = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300),
    st.sampled_from([1e16, -1e16, 1.0, 1e-300, 5e-324, 0.1, -0.1, 1e300, -0.0]),
)
times = st.integers(0, 30)


def values_over_time(rows: list, type: pa.DataType, aggregate: Aggregate, cuts=()) -> dict[int, object]:
    """The aggregate's value at every instant; rows are (time, value)."""
    schema = pa.schema([("x", type)])
    plan = Node(GroupBy((), (aggregate,)), Node(TimeWindow(RangeLifetime(LENGTH)), Source("l")))
    changes = run(plan, {"l": stream(rows, Dictionary(), schema)}, cuts)
    return {t: next(iter(answer(changes, t)))[0] for t in range(45)}


def alive(rows: list, instant: int) -> list:
    return [value for ts, value in rows if instant - LENGTH < ts <= instant and value is not None]


def close(found: float, exact: Fraction) -> bool:
    return found == exact or abs(Fraction(found) - exact) <= abs(exact) * Fraction(1, 10**9) + Fraction(5e-324)


@given(rows=st.lists(st.tuples(times, doubles | st.none()), max_size=30), cuts=few_cuts)
@example(rows=[(6, -6e16), (10, 5e-324), (16, -8e-276), (23, -1e156)], cuts=[8, 17, 20])
def test_float_sums_do_not_drift(rows, cuts):
    found = values_over_time(rows, pa.float64(), FloatSum(0), cuts)
    for instant, value in found.items():
        exact = sum(map(Fraction, alive(rows, instant)), Fraction(0))
        assert (value is None) if not alive(rows, instant) else close(value, exact)


def test_long_runs_leave_nothing_behind():
    random = np.random.default_rng(7)
    values = random.normal(size=20_000) * 10.0 ** random.integers(-12, 13, 20_000)
    rows = [
        *((int(t), float(v)) for t, v in zip(np.sort(random.integers(0, 20, 20_000)), values, strict=True)),
        (30, 0.1),
    ]
    found = values_over_time(rows, pa.float64(), FloatSum(0))
    assert found[19] == pytest.approx(math.fsum(alive(rows, 19)), rel=1e-12)
    assert found[30] == 0.1


strange = st.one_of(
    st.sampled_from([math.inf, -math.inf, math.nan, -0.0, 0.0, 5e-324, -5e-324, 2.3e-308, 1e12, 1e-6, -1e12]),
    st.sampled_from([1e12, 1e-6, -1e-6, 1e308, -1e308]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-1e6, 1e6),
)


def sum_of(present: list[float]) -> float:
    """Rounded once; NaN when there is one or infinities of both signs."""
    odd = {str(x) for x in present if not math.isfinite(x)}
    if odd:
        return math.nan if "nan" in odd or len(odd) == 2 else float(odd.pop())
    return _double(sum(map(Fraction, present), Fraction(0)))


def variance_of(present: list[float]) -> float:
    if not all(map(math.isfinite, present)):
        return math.nan
    exact = [Fraction(x) for x in present]
    mean = sum(exact, Fraction(0)) / len(exact)
    return _double(sum((x - mean) ** 2 for x in exact) / (len(exact) - 1))


def _double(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def as_close(found: float, expected: float) -> bool:
    """Within 1e-9, or where there are no more digits within some of the smallest steps."""
    if math.isnan(expected) or math.isinf(expected):
        return str(found) == str(expected)
    return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-322)


@pytest.mark.parametrize("type", [pa.float64(), pa.float32()], ids=str)
@given(data=st.data(), cuts=few_cuts)
def test_strange_numbers_leave_with_their_tuples(type, data, cuts):
    """Infinities, NaN, negative zero, denormals, large beside small: sums, means and spreads are of what is left."""
    rows = data.draw(st.lists(st.tuples(times, strange | st.none()), max_size=25))
    with np.errstate(over="ignore"):
        rows = [(time, None if x is None else float(type.to_pandas_dtype()(x))) for time, x in rows]
    sums, means, spreads, deviations, largest, count = (
        values_over_time(rows, type, aggregate, cuts)
        for aggregate in (FloatSum(0), FloatAverage(0), Variance(0), StandardDeviation(0), maximum(0), Count(0))
    )
    for instant in range(45):
        present = alive(rows, instant)
        assert count[instant] == len(present)
        if not present:
            assert (sums[instant], means[instant], largest[instant]) == (None, None, None)
            continue
        assert as_close(sums[instant], sum_of(present))
        assert as_close(means[instant], sum_of(present) / len(present))
        top = math.nan if any(map(math.isnan, present)) else max(present)
        assert str(largest[instant] + 0.0) == str(top + 0.0), "NaN is above everything"
        if len(present) < 2:
            assert (spreads[instant], deviations[instant]) == (None, None)
        else:
            variance = variance_of(present)
            assert as_close(spreads[instant], variance)
            assert as_close(deviations[instant], math.sqrt(variance))


@given(rows=st.lists(st.tuples(times, st.floats(-1e6, 1e6).map(lambda x: 1e9 + x)), max_size=20), cuts=few_cuts)
def test_variance_keeps_its_digits_where_they_cancel(rows, cuts):
    for instant, value in values_over_time(rows, pa.float64(), Variance(0), cuts).items():
        present = [Fraction(v) for v in alive(rows, instant)]
        if len(present) < 2:
            assert value is None
            continue
        mean = sum(present) / len(present)
        assert value == pytest.approx(float(sum((v - mean) ** 2 for v in present) / (len(present) - 1)), rel=1e-9)


large = st.integers(-(2**63), 2**63 - 1)


@given(rows=st.lists(st.tuples(times, large | st.none()), max_size=20), cuts=few_cuts)
def test_integer_sums_are_exact_and_null_while_they_do_not_fit(rows, cuts):
    found = values_over_time(rows, pa.int64(), IntegerSum(0, BIGINT), cuts)
    for instant, value in found.items():
        total = sum(alive(rows, instant))
        fits = alive(rows, instant) and -(2**63) <= total < 2**63
        assert value == (total if fits else None)


@pytest.mark.parametrize("precision", [8, 9, 15, 26, 34, 38])
@given(data=st.data(), cuts=few_cuts)
def test_decimal_sums_and_averages_are_exact(precision, data, cuts):
    of = decimal(precision, 2)
    wider, finer = bounded_decimal(precision + 10, 2), bounded_decimal(precision + 4, 6)
    edge = 10**precision - 1
    units = st.one_of(st.integers(-edge, edge), st.sampled_from([edge, -edge, 2**64, -(2**64), 2**32, 0, 1]))
    units = units.filter(lambda unit: abs(unit) <= edge)
    rows = data.draw(
        st.lists(st.tuples(times, units.map(lambda u: Decimal((u < 0, tuple(map(int, str(abs(u)))), -2)))), max_size=15)
    )
    type = pa.decimal128(precision, 2)
    sums = values_over_time(rows, type, IntegerSum(0, wider), cuts)
    means = values_over_time(rows, type, DecimalAverage(0, of, finer), cuts)
    for instant in range(45):
        present = alive(rows, instant)
        total = sum(map(Fraction, present), Fraction(0))
        fits = present and abs(total) * 100 < 10**wider.precision
        assert (None if sums[instant] is None else Fraction(sums[instant])) == (total if fits else None)
        units_of_mean = total / max(len(present), 1) * 10**6
        rounded = int((abs(units_of_mean) + Fraction(1, 2)) // 1) * (1 if units_of_mean >= 0 else -1)
        fits = present and abs(rounded) < 10**finer.precision
        assert (None if means[instant] is None else Fraction(means[instant]) * 10**6) == (rounded if fits else None)


@given(
    rows=st.lists(st.tuples(times, st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-3, 3)), max_size=15),
    cuts=few_cuts,
)
def test_wide_decimals_have_an_order(rows, cuts):
    rows = [(time, Decimal(unit)) for time, unit in rows]
    type = pa.decimal128(38, 0)
    least, most = Quantile(0, Fraction(0)), Quantile(0, Fraction(1))
    low, high = (values_over_time(rows, type, aggregate, cuts) for aggregate in (least, most))
    third, middle = (
        values_over_time(rows, type, aggregate, cuts) for aggregate in (Quantile(0, Fraction(1, 3)), Median(0))
    )
    top = values_over_time(rows, type, Top(0, 2, Dictionary()), cuts)
    for instant in range(45):
        present = sorted(alive(rows, instant))
        if not present:
            assert (low[instant], high[instant], third[instant], middle[instant], top[instant]) == (None,) * 4 + ((),)
            continue
        assert (low[instant], high[instant]) == (present[0], present[-1])
        assert third[instant] == present[max(1, -(-len(present) // 3)) - 1]
        exact = Fraction(present[(len(present) - 1) // 2] + present[len(present) // 2]) / 2
        assert close(middle[instant], exact)
        counted = sorted(Counter(present).items(), key=lambda item: (-item[1], item[0]))
        assert top[instant] == tuple(counted[:2])
