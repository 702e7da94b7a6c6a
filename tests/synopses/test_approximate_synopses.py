"""Exponential histograms within their error, and faded aggregates, against the elements themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.synopsis_model import int64s
from windrow.errors import WindrowError
from windrow.synopses import Decayed, ExponentialHistogram

errors = st.sampled_from([0.5, 0.3, 0.1, 0.05])
elements = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1000)), max_size=200)


def timed(rows: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    group, ticks, value = (int64s([row[n] for row in rows]) for n in range(3))
    return group, np.cumsum(ticks), value


@pytest.mark.parametrize("sums", [False, True], ids=["count", "sum"])
@given(rows=elements, error=errors, begins=st.lists(st.integers(0, 300), min_size=1, max_size=8), data=st.data())
def test_any_suffix_window_is_within_the_error(sums, rows, error, begins, data):
    group, time, value = timed(rows)
    weight = value if sums else np.ones(len(rows), np.int64)
    histogram, cut = ExponentialHistogram(error), min(begins)
    for start in range(0, len(rows), 9):
        part = slice(start, start + 9)
        histogram.insert(group[part], time[part], value[part] if sums else None)
        if data.draw(st.booleans()):
            histogram.expire_until(cut)
        if data.draw(st.booleans()):
            again = ExponentialHistogram(error)
            again.restore(histogram.snapshot(()).pieces)
            histogram = again
    for begin in begins:
        found = histogram.lookup(np.arange(4), np.full(4, begin))
        exact = [int(weight[(group == g) & (time >= begin)].sum()) for g in range(4)]
        for value_, least, most, true in zip(*found, exact, strict=True):
            assert least <= true <= most
            assert abs(value_ - true) <= error * true


def test_space_is_logarithmic():
    histogram = ExponentialHistogram(0.1)
    for start in range(0, 1_000_000, 100_000):
        histogram.insert(np.zeros(100_000, np.int64), np.arange(start, start + 100_000))
    assert int(histogram.count.sum()) <= 12 + 7 * 20
    (value,), *_ = histogram.lookup(int64s([0]), int64s([600_000]))
    assert abs(value - 400_000) <= 40_000
    histogram.insert(int64s([1]), int64s([1_000_000]), int64s([2**40]))
    assert histogram.lookup(int64s([1]), int64s([0])).most.tolist() == [2**40]


@given(rows=elements, power=st.floats(0.5, 3))
def test_decay_by_a_power_of_the_age_is_between_its_bounds(rows, power):
    group, time, value = timed(rows)
    histogram = ExponentialHistogram(0.1)
    histogram.insert(group, time, value)
    now = int(time[-1]) + 5 if len(rows) else 0
    least, most = histogram.decayed(np.arange(3), now, power, 10.0)
    for g in range(3):
        mine = group == g
        exact = float((value[mine] * (1 + (now - time[mine]) / 10.0) ** -power).sum())
        assert least[g] <= exact * (1 + 1e-9)
        assert exact <= most[g] * (1 + 1e-9)


@given(rows=elements, half_life=st.integers(1, 50), later=st.integers(0, 100))
def test_faded_aggregates(rows, half_life, later):
    group, time, value = timed(rows)
    faded, half = Decayed(half_life), len(rows) // 2
    faded.insert(group[:half], time[:half], value[:half].astype(np.float64))
    again = Decayed(half_life)
    again.restore(faded.snapshot(()).pieces)
    again.insert(group[half:], time[half:], value[half:].astype(np.float64))
    now = (int(time[-1]) if len(rows) else 0) + later
    found = again.lookup(np.arange(4), now)
    for g in range(4):
        mine = group == g
        share = 0.5 ** ((now - time[mine]) / half_life)
        assert np.isclose(found.sum[g], (share * value[mine]).sum())
        assert np.isclose(found.weight[g], share.sum())
        if mine.any():
            assert np.isclose(found.average[g], (share * value[mine]).sum() / share.sum())
        else:
            assert np.isnan(found.average[g])


def test_what_cannot_be_is_refused():
    with pytest.raises(WindrowError, match="not between 0 and 1"):
        ExponentialHistogram(0)
    with pytest.raises(WindrowError, match="negative"):
        ExponentialHistogram(0.1).insert(int64s([0]), int64s([0]), int64s([-1]))
    with pytest.raises(WindrowError, match="not positive"):
        Decayed(0)
