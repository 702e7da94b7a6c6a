"""Laws of synopses, the worked examples of Arasu and Widom, and sums that do not drift."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.baselines.daba import Daba
from benchmarks.baselines.landmark import Landmark, partitions
from benchmarks.baselines.search_tree import SearchTree
from support.synopsis_model import CASES, SUBTRACTABLE, bursts, int64s, lookup_by_rows, shown
from windrow.batch.column import Column
from windrow.synopses import (
    BasicInterval,
    Interval,
    NestedLandmarks,
    Running,
    SharedSynopsis,
    TwoStacks,
    maximum,
    sum_of_doubles,
    sum_of_integers,
)
from windrow.synopses.positions.interval import covering
from windrow.types import BIGINT, DOUBLE

SUM = next(case for case in CASES if case.name == "sum of integers")
KINDS = (Running, Interval, BasicInterval, NestedLandmarks, SearchTree, TwoStacks, Daba)


def whole(synopsis: SharedSynopsis) -> list:
    zeros = np.zeros(5, np.int64)
    return shown(lookup_by_rows(synopsis, np.arange(5), zeros + 10**6, zeros)[0])


def inserted(synopsis: SharedSynopsis, rows: list) -> None:
    group, time, value = ([row[i] for row in rows] for i in range(3))
    synopsis.insert(int64s(group), int64s(time), [(SUM.column(value),)])


@pytest.mark.parametrize("kind", KINDS)
@given(rows=bursts(st.integers(-9, 9)), cut=st.integers(0, 40))
def test_one_big_insert_equals_many_small_ones_and_expiry_is_idempotent(kind, rows, cut):
    one, many = SharedSynopsis([kind(SUM.make())]), SharedSynopsis([kind(SUM.make())])
    flat, now = [], 0
    for burst in rows:
        for group, ticks, value in burst:
            now += ticks
            flat.append((group, now, value))
    inserted(one, flat)
    for row in flat:
        inserted(many, [row])
    assert whole(one) == whole(many)
    one.expire_until(cut)
    once = whole(one)
    one.expire_until(cut)
    many.expire_until(cut)
    assert whole(one) == once == whole(many)


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_writes_only_what_is_new_and_leaves_out_what_has_gone(kind):
    synopsis, stored = SharedSynopsis([kind(SUM.make())]), set()
    for step in range(4):
        inserted(synopsis, [(n % 3, 10_000 * step + n, n) for n in range(5_000)])
        snapshot = synopsis.snapshot(stored)
        assert len([name for name in snapshot.pieces if name.startswith("elements")]) == 1
        stored |= set(snapshot.pieces)
        assert not synopsis.snapshot(stored).pieces, "nothing new, nothing written"
    synopsis.expire_until(25_000)
    manifest = synopsis.snapshot(stored).manifest
    assert len([name for name in manifest if name.startswith("elements")]) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_elements_that_come_and_go_between_two_snapshots_leave_a_gap(kind):
    synopsis, stored = SharedSynopsis([kind(SUM.make())]), {}
    for rows in ([(n % 3, n, 1) for n in range(5_000)], [(0, 5_000 + n, n) for n in range(300)], [(1, 6_000, 7)]):
        inserted(synopsis, rows)
        synopsis.keep_newest(100)
        stored |= synopsis.snapshot(set(stored)).pieces
    again = SharedSynopsis([kind(SUM.make())])
    again.restore({name: stored[name] for name in synopsis.snapshot(set(stored)).manifest})
    assert whole(again) == whole(synopsis) == [sum(range(200, 300)), 106, 100, None, None]
    inserted(again, [(0, 7_000, 5)])
    inserted(synopsis, [(0, 7_000, 5)])
    assert whole(again) == whole(synopsis)


@pytest.mark.parametrize("kind", KINDS)
def test_memory_follows_what_is_kept(kind):
    synopsis = SharedSynopsis([kind(SUM.make())])
    for step in range(30):
        inserted(synopsis, [(n % 100, 1_000 * step + n, n) for n in range(1_000)])
        synopsis.expire_until(1_000 * step)
    steady = synopsis.nbytes
    for step in range(30, 60):
        inserted(synopsis, [(n % 100, 1_000 * step + n, n) for n in range(1_000)])
        synopsis.expire_until(1_000 * step)
    assert synopsis.nbytes <= 1.5 * steady
    synopsis.expire_until(10**9)
    assert synopsis.nbytes < steady / 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", [Interval, BasicInterval, NestedLandmarks, TwoStacks, Running])
@given(rows=bursts(st.integers(-9, 9)), cut=st.integers(0, 30))
def test_one_synopsis_becomes_another_without_a_wrong_answer(kind, other, rows, cut):
    synopsis, now = SharedSynopsis([kind(SUM.make())]), 0
    stays = SharedSynopsis([other(SUM.make())])
    for number, burst in enumerate(rows):
        flat = []
        for group, ticks, value in burst:
            now += ticks
            flat.append((group, now, value))
        inserted(synopsis, flat)
        inserted(stays, flat)
        if number == 2:
            synopsis.expire_until(cut)
            stays.expire_until(cut)
            synopsis = synopsis.converted([other(SUM.make())])
        assert whole(synopsis) == whole(stays)


@pytest.mark.parametrize("kind", [Interval, BasicInterval, NestedLandmarks, TwoStacks])
def test_spans_of_long_rings(kind):
    random, synopsis = np.random.default_rng(3), SharedSynopsis([kind(maximum(BIGINT))])
    values = random.integers(-(10**6), 10**6, (3, 6_000))
    for begin in range(0, 6_000, 500):
        group, time = np.repeat(np.arange(3), 500), np.tile(np.arange(begin, begin + 500), 3)
        synopsis.insert(group, time, [(Column(BIGINT, values[:, begin : begin + 500].ravel()),)])
        synopsis.expire_until(begin - 3_000)
        lowest, end = max(0, begin - 3_000), begin + 500
        begins = random.integers(lowest, end, 200)
        ends = np.where(random.integers(0, 2, 200), end, random.integers(begins + 1, end + 1))
        groups = random.integers(0, 3, 200)
        (found,) = synopsis.lookup_by_time(groups, begins, ends)
        assert found.values.tolist() == [values[g, b:e].max() for g, b, e in zip(groups, begins, ends, strict=True)]


def test_example_3_1_an_interval_is_a_union_of_base_intervals():
    """The paper numbers positions from 1 and includes both ends, and one of its intervals can be put together."""
    found = [(begin + 1, end) for begin, end in covering(0, 43)]

    printed = [(1, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 40), (41, 42), (43, 43)]
    assert found == [(1, 32), (33, 40), (41, 42), (43, 43)]
    assert set(found) - set(printed) == {(1, 32)}
    assert [begin for begin, _ in printed] == [1, *(end + 1 for _, end in printed[:-1])]


@given(begin=st.integers(0, 10**6), width=st.integers(1, 10**6))
def test_theorem_3_1_few_base_intervals_cover_an_interval(begin, width):
    found = covering(begin, begin + width)

    assert found[0][0] == begin and found[-1][1] == begin + width
    assert all(left[1] == right[0] for left, right in itertools.pairwise(found))
    assert all(start % (end - start) == 0 and (end - start).bit_count() == 1 for start, end in found)
    assert len(found) <= 2 * max(1, width.bit_length())


def test_example_3_2_a_window_of_two_landmark_intervals():
    """(3257, 5164) is (3257, 3999) and (4000, 5164), for widths from 1000 to 2000."""
    landmark, values = Landmark(sum_of_integers(BIGINT), [1000, 2000], by_rows=True, longest=8000), np.arange(5165) + 7
    landmark.insert(np.zeros(5165, np.int64), np.arange(5165), (Column(BIGINT, values),))
    (partition,) = landmark.partitions

    (found,) = shown(landmark.lookup_by_rows(int64s([0]), int64s([5165 - 3257]), int64s([0])))

    place = partition.elements.offset[0]
    assert partition.back[place + 3257, 1] == values[3257:4000].sum()
    assert partition.forward[2 * (place + 5164) + 1, 1] == values[4000:].sum()
    assert found == values[3257:].sum()


def test_widths_are_dealt_to_few_partitions():
    assert partitions([5, 10, 7]) == [(5, 10)]
    assert partitions([1, 2, 3, 4, 100, 150, 200, 201]) == [(1, 2), (3, 4), (100, 200), (201, 201)]
    assert len(partitions(range(1, 1001))) <= 10


def test_windows_that_end_now_need_no_partition_as_long_as_the_longest():
    widths, rows = [2**n for n in range(4, 13)], 20_000
    kept = {}
    for longest in (None, 2**12):
        landmark = Landmark(sum_of_integers(BIGINT), widths, by_rows=True, longest=longest)
        for start in range(0, rows, 500):
            landmark.insert(np.zeros(500, np.int64), np.arange(start, start + 500), (Column(BIGINT, np.arange(500)),))
        kept[longest] = landmark.nbytes
    assert kept[None] < kept[2**12] / 6


@pytest.mark.parametrize("kind", [Running, Interval])
def test_sums_of_ten_million_doubles_do_not_drift(kind):
    random, length, longest = np.random.default_rng(5), 500_000, 300
    synopsis = SharedSynopsis([kind(sum_of_doubles())])
    updates = 10_000_000 if kind is Running else 1_000_000
    for start in range(0, updates, length):
        values = random.choice([-1.0, 1.0], length) * 10.0 ** random.uniform(-6, 12, length)
        values[random.integers(0, length, 3)] = [math.inf, -math.inf, math.nan]
        values[-400:] = random.choice([-1.0, 1.0], 400) * 10.0 ** random.uniform(-6, 12, 400)
        synopsis.insert(np.zeros(length, np.int64), np.arange(start, start + length), [(Column(DOUBLE, values),)])
        synopsis.keep_newest(longest)
        oldest = random.integers(1, longest + 1, 50)
        newest = (oldest * random.uniform(0, 1, 50)).astype(np.int64)
        (found,) = lookup_by_rows(synopsis, np.zeros(50, np.int64), oldest, newest)
        exact = [math.fsum(values[length - a : length - b]) for a, b in zip(oldest, newest, strict=True)]
        assert np.allclose(found.values, exact, rtol=1e-15, atol=0)


@pytest.mark.parametrize("case", SUBTRACTABLE, ids=lambda case: case.name)
def test_infinities_and_overflow_leave_with_their_tuples(case):
    synopsis = SharedSynopsis([Running(case.make())])
    zero = np.zeros(1, np.int64)
    if case.type == DOUBLE:
        values, last = [math.inf, math.nan, 2.0], 2.0
    elif case.type == BIGINT and "sum" in case.name:
        values, last = [2**63 - 1, 2**63 - 1, 5], 5
        synopsis.insert(zero[[0] * 3], np.arange(3), [(case.column(values),)])
        assert shown(lookup_by_rows(synopsis, zero, zero + 3, zero)[0]) == [None]
        assert shown(lookup_by_rows(synopsis, zero, zero + 1, zero)[0]) == [last]
        return
    else:
        return
    synopsis.insert(zero[[0] * 3], np.arange(3), [(case.column(values),)])
    assert math.isnan(shown(lookup_by_rows(synopsis, zero, zero + 3, zero)[0])[0])
    assert shown(lookup_by_rows(synopsis, zero, zero + 3, zero + 2)[0]) == [math.inf]
    assert shown(lookup_by_rows(synopsis, zero, zero + 1, zero)[0]) == [last]
