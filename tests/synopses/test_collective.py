"""Collective indexes against plain counting, the bounds of Lemma 4.1, and Example 4.1 of Arasu and Widom."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.synopsis_model import int64s
from windrow.batch.column import Column
from windrow.errors import WindrowError
from windrow.synopses import Collective, CollectiveExtremes, CollectiveIndex
from windrow.synopses.collective.collective_index import _last_level_within, _level_of, _start
from windrow.types import BIGINT

elements = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 40)), max_size=120)


def timed(rows: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    group, ticks, value = (int64s([row[n] for row in rows]) for n in range(3))
    return group, np.cumsum(ticks), value


def epsilon(p: int) -> float:
    """How far below a threshold a group that is returned may be."""
    return 0.75 if p == 1 else 2 / (p + 2)


def since(group, time, value, begin: int) -> dict[int, int]:
    """What each group with elements since `begin` adds up to."""
    alive = time >= begin
    return {int(g): int(value[alive & (group == g)].sum()) for g in np.unique(group[alive])}


@given(rows=elements, p=st.integers(1, 7), begin=st.integers(-1, 200), threshold=st.integers(0, 60))
def test_counts_are_bounded_as_in_lemma_4_1(rows, p, begin, threshold):
    group, time, _ = timed(rows)
    index = CollectiveIndex(p)
    index.insert(group, time)
    counts = since(group, time, np.ones(len(group), np.int64), begin)

    found = set(index.above(begin, threshold).tolist())

    assert {g for g, n in counts.items() if n > threshold} <= found, "a superset"
    assert all(counts.get(g, 0) > (1 - epsilon(index.p)) * threshold for g in found), "within the relaxed range"
    low = set(index.below(begin, threshold).tolist())
    assert {g for g, n in counts.items() if n < threshold} <= low
    assert all(0 < counts.get(g, 0) < (1 + 2 * epsilon(index.p)) * max(threshold, 1) for g in low)


@given(rows=elements, p=st.integers(1, 7), begin=st.integers(-1, 200), threshold=st.integers(-1, 300))
def test_sums_are_bounded_and_exact_after_the_check(rows, p, begin, threshold):
    group, time, value = timed(rows)
    exact = Collective(p, BIGINT)
    for start in range(0, len(rows), 7):
        part = slice(start, start + 7)
        exact.insert(group[part], time[part], Column(BIGINT, value[part]))
    sums = since(group, time, value, begin)

    if threshold >= 0:
        found = set(exact.index.above(begin, threshold).tolist())
        assert {g for g, total in sums.items() if total > threshold} <= found
        assert all(sums.get(g, 0) > (1 - epsilon(exact.index.p)) * threshold for g in found)
    assert exact.above(begin, threshold).tolist() == sorted(g for g, total in sums.items() if total > threshold)
    assert exact.below(begin, threshold).tolist() == sorted(g for g, total in sums.items() if total < threshold)


@given(rows=elements, p=st.integers(1, 4), gone=st.integers(0, 5), begin=st.integers(0, 200))
def test_groups_are_forgotten_and_snapshots_restored(rows, p, gone, begin):
    group, time, value = timed(rows)
    index, half = CollectiveIndex(p), len(rows) // 2
    index.insert(group[:half], time[:half], value[:half])
    if len(index.length) > gone:
        index.forget(int64s([gone]))
    again = CollectiveIndex(p)
    again.restore(index.snapshot(()).pieces)
    fresh = CollectiveIndex(p)
    others = group != gone
    others[half:] = True
    fresh.insert(group[others], time[others], value[others])
    for one in (index, again):
        one.insert(group[half:], time[half:], value[half:])
        for threshold in (0, 3, 20, 100):
            assert sorted(one.above(begin, threshold)) == sorted(fresh.above(begin, threshold))


@given(rows=elements, largest=st.booleans(), begin=st.integers(0, 200), data=st.data())
def test_extremes_are_exact(rows, largest, begin, data):
    group, time, value = timed(rows)
    index = CollectiveExtremes(largest)
    for start in range(0, len(rows), 11):
        part = slice(start, start + 11)
        index.insert(group[part], time[part], value[part])
        if data.draw(st.booleans()):
            index.expire_until(min(begin, int(time[part][-1])))
        if data.draw(st.booleans()):
            again = CollectiveExtremes(largest)
            again.restore(index.snapshot(()).pieces)
            index = again
    for threshold in (-1, 0, 7, 20, 39, 40):
        beyond = (value > threshold if largest else value < threshold) & (time >= begin)
        assert index.beyond(begin, threshold).tolist() == sorted({int(g) for g in group[beyond]})
    index.forget(np.arange(len(index.groups)))
    assert len(index) == 0 and not index.roots.any()


@pytest.mark.parametrize("p", [1, 2, 3, 4, 8, 16, 64])
def test_levels_hold_the_stated_error(p):
    """The paper: 3/4 for p = 1, 1/2 for p = 2, about 2/p in general; its level for p = 1 is never the better one."""
    error = epsilon(p)
    for threshold in range(20_000):
        level = _last_level_within(threshold + 1, p)
        assert _start(level, p) > (1 - error) * threshold
        assert _start(level + 1, p) - 1 <= threshold + 1, "no distance beyond threshold + 1"
        if p == 1:
            assert level >= max(0, max(threshold, 1).bit_length() - 2)


@given(distance=st.integers(1, 10**9), p=st.integers(1, 20))
def test_every_distance_has_one_level(distance, p):
    level = _level_of(distance, p)
    assert _start(level, p) <= distance < _start(level + 1, p)


def example_4_1() -> tuple[np.ndarray, np.ndarray]:
    """Three streams whose eleventh elements from the end came at 90, 85 and 68."""
    streams = {
        0: [70, 88, 90, 91, 92, 93, 94, 95, 96, 98, 100, 103, 105],
        1: [60, 85, 86, 87, 88, 89, 90, 92, 95, 97, 101, 104],
        2: [50, 68, 70, 72, 75, 77, 80, 85, 88, 90, 99, 106],
    }
    rows = sorted((time, group) for group, times in streams.items() for time in times)
    return int64s([group for _, group in rows]), int64s([time for time, _ in rows])


def test_example_4_1():
    group, time = example_4_1()
    exact = Collective(p=1)
    exact.insert(group, time)
    now, length, threshold = 106, 20, 11
    begin = now - length + 1

    assert [int(time[group == g][-11]) for g in range(3)] == [90, 85, 68]
    assert _last_level_within(threshold + 1, 1) == 2
    third_level = 3  # behind the heap of the newest elements
    assert exact.index.time[third_level, exact.index.place[third_level, 2]] == 85
    assert sorted(exact.index.above(begin, threshold)) == [0, 1]
    assert exact.above(begin, threshold).tolist() == [0]


def test_one_tick_makes_the_difference():
    """A window of T ticks at τ begins at τ − T + 1: an element at τ − T has left."""
    index = CollectiveIndex(1)
    index.insert(int64s([0]), int64s([80]))
    assert index.above(100 - 20 + 1, 0).tolist() == []
    assert index.above(100 - 21 + 1, 0).tolist() == [0]


def test_negative_values_are_refused():
    with pytest.raises(WindrowError, match="negative values"):
        CollectiveIndex().insert(int64s([0]), int64s([1]), int64s([-1]))
