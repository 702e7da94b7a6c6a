"""Oracle: arithmetic of 128-bit integers, against Python's integers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.batch import wide
from windrow.batch.wide import CEILING, FLOOR, HALF_UP, TRUNCATED

EDGE = 10**38 - 1
numbers = st.one_of(
    st.integers(-EDGE, EDGE),
    st.integers(-(10**5), 10**5),
    st.sampled_from([0, 1, -1, EDGE, -EDGE, 2**32, 2**64, -(2**64), 2**64 - 1, 2**96, 2**96 - 1, (2**64 - 1) << 32]),
)
powers = st.integers(0, 38)


def integers(values) -> list[int]:
    return [int(hi) * 2**64 + int(lo) for hi, lo in zip(values["hi"], values["lo"], strict=True)]


def half_up(number: int, divisor: int) -> int:
    size = (2 * abs(number) + abs(divisor)) // (2 * abs(divisor))
    return -size if (number < 0) != (divisor < 0) else size


def shifted(number: int, digits: int) -> int:
    return half_up(number, 10**digits) if digits > 0 else number * 10**-digits


@pytest.mark.parametrize("operator", "+-*/%")
@given(
    pairs=st.lists(st.tuples(numbers, numbers), max_size=20), shifts=st.tuples(powers, powers),
    digits=st.integers(-20, 38), most=st.integers(1, 38),
)  # fmt: skip
def test_results_are_those_of_whole_numbers(operator, pairs, shifts, digits, most):
    if operator == "*":
        shifts = (0, 0)
    left, right = wide.wide_of([a for a, _ in pairs]), wide.wide_of([b for _, b in pairs])
    found, fits = wide.computed(operator, left, right, shifts, digits, 10**most)
    for (a, b), number, fit in zip(pairs, integers(found), fits, strict=True):
        a, b = a * 10 ** shifts[0], b * 10 ** shifts[1]
        if operator in "/%" and b == 0:
            assert not fit
            continue
        if operator == "/":
            exact = half_up(a, b)
        else:
            remainder = 0 if operator != "%" else (abs(a) % abs(b)) * (-1 if a < 0 else 1)
            exact = shifted({"+": a + b, "-": a - b, "*": a * b, "%": remainder}[operator], digits)
        assert fit == (abs(exact) < 10**most)
        assert number == (exact if fit else 0)


@given(values=st.lists(numbers, max_size=20), digits=st.integers(-38, 38), most=st.integers(1, 38))
def test_rounding_goes_the_way_it_says(values, digits, most):
    unit, factor = 10 ** max(digits, 0), 10 ** max(-digits, 0)
    ways = {
        HALF_UP: lambda v: half_up(v, unit),
        TRUNCATED: lambda v: abs(v) // unit * (1 if v >= 0 else -1),
        FLOOR: lambda v: v // unit,
        CEILING: lambda v: -(-v // unit),
    }
    for way, rounded in ways.items():
        found, fits = wide.rescaled(wide.wide_of(values), digits, 10**most, way)
        exact = [rounded(value) * factor for value in values]
        assert fits.tolist() == [abs(number) < 10**most for number in exact]
        assert integers(found) == [number if abs(number) < 10**most else 0 for number in exact]
    assert integers(wide.opposite(wide.wide_of(values))) == [-value for value in values]
