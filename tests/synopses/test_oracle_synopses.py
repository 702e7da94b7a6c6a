"""Oracle: every synopsis, aggregate and kind of window equals what is computed from the elements themselves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.baselines.daba import Daba
from benchmarks.baselines.landmark import Landmark
from benchmarks.baselines.materialized import Materialized
from benchmarks.baselines.search_tree import SearchTree
from support.synopsis_model import CASES, SUBTRACTABLE, Case, Model, bursts, int64s, lookup_by_rows, same, shown
from windrow.errors import WindrowError
from windrow.synopses import (
    BasicInterval,
    Interval,
    NestedLandmarks,
    QuantileSynopsis,
    Running,
    SharedSynopsis,
    TwoStacks,
)
from windrow.types import BIGINT
from windrow.units import FOREVER

ANY_WINDOW = (Interval, BasicInterval, NestedLandmarks, TwoStacks, SearchTree)
KEPT = [(kind, case) for kind in ANY_WINDOW for case in CASES] + [(Running, case) for case in SUBTRACTABLE]
ONE_WINDOW = [(Daba, case) for case in CASES]
HORIZON = 15
windows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, HORIZON), st.integers(0, 8)), min_size=1, max_size=6)


def named(pair: tuple) -> str:
    return f"{pair[0].__name__}, {pair[1].name}"


def feed(case: Case, burst: list, now: int, model: Model) -> tuple[int, np.ndarray, np.ndarray, tuple]:
    rows = []
    for group, ticks, value in burst:
        now += ticks
        rows.append((group, now, value))
    model.elements += rows
    columns = (case.column([value for _, _, value in rows]),)
    return now, int64s([g for g, _, _ in rows]), int64s([t for _, t, _ in rows]), columns


@pytest.mark.parametrize("kind, case", KEPT, ids=map(named, KEPT))
@settings(max_examples=12)
@given(data=st.data())
def test_windows_of_any_kind(kind, case, data):
    synopsis, model, now, stored = SharedSynopsis([kind(case.make())]), Model(), 0, {}
    for burst in data.draw(bursts(case.values)):
        now, group, time, columns = feed(case, burst, now, model)
        synopsis.insert(group, time, [columns])
        synopsis.expire_until(now - HORIZON)
        asked = data.draw(windows)
        groups = int64s([g for g, _, _ in asked])
        begin = int64s([now - length for _, length, _ in asked])
        for end in (np.full(len(asked), FOREVER), begin + int64s([width for _, _, width in asked])):
            (found,) = synopsis.lookup_by_time(groups, begin, end)
            wanted = [case.expected(model.by_time(*window)) for window in zip(groups, begin, end, strict=True)]
            assert all(map(same, shown(found), wanted)), (shown(found), wanted)
        if data.draw(st.booleans()):
            snapshot = synopsis.snapshot(set(stored))
            stored |= snapshot.pieces
            synopsis = SharedSynopsis([kind(case.make())])
            synopsis.restore({name: stored[name] for name in snapshot.manifest})


@pytest.mark.parametrize("kind, case", KEPT, ids=map(named, KEPT))
@settings(max_examples=12)
@given(data=st.data())
def test_windows_of_rows(kind, case, data):
    synopsis, model, now, most = SharedSynopsis([kind(case.make())]), Model(), 0, 9
    for burst in data.draw(bursts(case.values)):
        now, group, time, columns = feed(case, burst, now, model)
        synopsis.insert(group, time, [columns])
        synopsis.keep_newest(most)
        asked = [(g, min(oldest, most), min(newest, oldest)) for g, oldest, newest in data.draw(windows)]
        (found,) = lookup_by_rows(synopsis, *(int64s(column) for column in zip(*asked, strict=True)))
        wanted = [case.expected(model.by_rows(*window)) for window in asked]
        assert all(map(same, shown(found), wanted)), (shown(found), wanted)


@pytest.mark.parametrize("kind, case", KEPT, ids=map(named, KEPT))
@settings(max_examples=12)
@given(data=st.data())
def test_windows_of_slices(kind, case, data):
    slice = 5
    synopsis, model, now, stored = SharedSynopsis([kind(case.make())], slice), Model(), 0, {}
    for burst in data.draw(bursts(case.values)):
        now, group, time, columns = feed(case, burst, now, model)
        synopsis.insert(group, time, [columns])
        edge = now // slice * slice
        synopsis.expire_until(edge - 20)
        asked = [(g, edge - length // 4 * slice, edge + slice) for g, length, _ in data.draw(windows)]
        (found,) = synopsis.lookup_by_time(*(int64s(column) for column in zip(*asked, strict=True)))
        wanted = [case.expected(model.by_time(*window)) for window in asked]
        assert all(map(same, shown(found), wanted)), (shown(found), wanted)
        snapshot = synopsis.snapshot(set(stored))
        stored |= snapshot.pieces
        synopsis = SharedSynopsis([kind(case.make())], slice)
        synopsis.restore({name: stored[name] for name in snapshot.manifest})


@pytest.mark.parametrize("kind, case", ONE_WINDOW, ids=map(named, ONE_WINDOW))
@settings(max_examples=12)
@given(data=st.data())
def test_one_window_a_group(kind, case, data):
    synopsis, model, now, stored = SharedSynopsis([kind(case.make())]), Model(), 0, {}
    by_rows = data.draw(st.booleans())
    for burst in data.draw(bursts(case.values)):
        for start in range(0, len(burst), 3):
            now, group, time, columns = feed(case, burst[start : start + 3], now, model)
            synopsis.insert(group, time, [columns])
            groups = np.arange(5)
            if by_rows:
                synopsis.keep_newest(4)
                wanted = [case.expected(model.by_rows(g, 4, 0)) for g in range(5)]
                (found,) = lookup_by_rows(synopsis, groups, np.full(5, 4), np.zeros(5, np.int64))
            else:
                synopsis.expire_until(now - 6)
                wanted = [case.expected(model.by_time(g, now - 6, now + 1)) for g in range(5)]
                (found,) = synopsis.lookup_by_time(groups, np.full(5, now - 6), np.full(5, FOREVER))
            assert all(map(same, shown(found), wanted)), (shown(found), wanted)
        snapshot = synopsis.snapshot(set(stored))
        stored |= snapshot.pieces
        synopsis = SharedSynopsis([kind(case.make())])
        synopsis.restore({name: stored[name] for name in snapshot.manifest})


@pytest.mark.parametrize("kind, case", KEPT + ONE_WINDOW, ids=map(named, KEPT + ONE_WINDOW))
@settings(max_examples=12)
@given(data=st.data())
def test_a_window_that_rolls(kind, case, data):
    synopsis, model, now, stored, length = SharedSynopsis([kind(case.make())]), Model(), 0, {}, 6
    for burst in data.draw(bursts(case.values)):
        before = len(model.elements)
        now, group, time, columns = feed(case, burst, now, model)
        (found,) = synopsis.roll(group, time, [columns], length)
        wanted = []
        for place, (g, t, _) in enumerate(model.elements[before:], before + 1):
            wanted.append(case.expected(Model(model.elements[:place]).by_time(g, t - length + 1, t + 1)))
        assert all(map(same, shown(found), wanted)), (shown(found), wanted)
        synopsis.expire_until(now - length + 1)
        groups, begin = np.arange(5), np.full(5, now - length + 1)
        (found,) = synopsis.lookup_by_time(groups, begin, np.full(5, FOREVER))
        assert all(map(same, shown(found), [case.expected(model.by_time(g, begin[0], now + 1)) for g in range(5)]))
        snapshot = synopsis.snapshot(set(stored))
        stored |= snapshot.pieces
        synopsis = SharedSynopsis([kind(case.make())])
        synopsis.restore({name: stored[name] for name in snapshot.manifest})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("by_rows", [True, False], ids=["rows", "time"])
@pytest.mark.parametrize("longest", [None, 30], ids=["suffix", "historical"])
@settings(max_examples=12)
@given(data=st.data())
def test_windows_of_declared_widths(case, by_rows, longest, data):
    widths = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    synopsis, model, now = Landmark(case.make(), widths, by_rows, longest), Model(), 0
    for burst in data.draw(bursts(case.values)):
        now, group, time, columns = feed(case, burst, now, model)
        synopsis.insert(group, time, columns)
        synopsis.expire(now + 1)
        back = data.draw(st.integers(0, 10)) if longest else 0
        groups = np.repeat(np.arange(5), len(widths))
        width = np.tile(int64s(widths), 5)
        if by_rows:
            found = synopsis.lookup_by_rows(groups, width + back, np.full(len(width), back))
            asked = zip(groups, width + back, np.full(len(width), back), strict=True)
            wanted = [case.expected(model.by_rows(*window)) for window in asked]
        else:
            end = np.full(len(width), now + 1 - back)
            found = synopsis.lookup_by_time(groups, end - width, end)
            wanted = [case.expected(model.by_time(*window)) for window in zip(groups, end - width, end, strict=True)]
        assert all(map(same, shown(found), wanted)), (shown(found), wanted)
        if data.draw(st.booleans()):
            again = Landmark(case.make(), widths, by_rows, longest)
            again.restore(synopsis.snapshot(()).pieces)
            synopsis = again


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@settings(max_examples=12)
@given(data=st.data())
def test_every_answer_at_all_times(case, data):
    widths = [0, 1, 2, 3, 5, 8]
    synopsis, model, now = Materialized(case.make(), widths), Model(), 0
    for burst in data.draw(bursts(case.values)):
        now, group, time, columns = feed(case, burst, now, model)
        synopsis.insert(group, time, columns)
        found = synopsis.lookup(np.repeat(np.arange(5), len(widths)), np.tile(np.arange(len(widths)), 5))
        wanted = [case.expected(model.by_rows(g, width, 0)) for g in range(5) for width in widths]
        assert all(map(same, shown(found), wanted)), (shown(found), wanted)


fractions = st.fractions(0, 1, max_denominator=8)


@given(data=st.data())
def test_quantiles_of_any_fraction_and_window(data):
    synopsis, model, now, stored = SharedSynopsis([QuantileSynopsis(BIGINT)]), Model(), 0, {}
    case = CASES[1]
    values = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))
    for burst in data.draw(bursts(values)):
        now, group, time, columns = feed(case, burst, now, model)
        synopsis.insert(group, time, [columns])
        synopsis.expire_until(now - HORIZON)
        asked = data.draw(windows)
        groups = int64s([g for g, _, _ in asked])
        begin = int64s([now - length for _, length, _ in asked])
        end = np.where(np.arange(len(asked)) % 2, FOREVER, begin + int64s([width for _, _, width in asked]))
        spans = synopsis.elements.by_time(groups, begin, end)
        phi = [data.draw(fractions) for _ in asked]
        (kept,) = synopsis.synopses
        held = [sorted(model.by_time(*window)) for window in zip(groups, begin, end, strict=True)]
        wanted = [
            of[max(1, -(-f.numerator * len(of) // f.denominator)) - 1] if of else None
            for of, f in zip(held, phi, strict=True)
        ]
        assert shown(kept.quantiles(synopsis.elements, spans, phi)) == wanted
        middle = [(Fraction(of[(len(of) - 1) // 2]) + of[len(of) // 2]) / 2 if of else None for of in held]
        medians = shown(kept.medians(synopsis.elements, spans))
        assert all(same(found, exact and float(exact)) for found, exact in zip(medians, middle, strict=True))
        if data.draw(st.booleans()):
            snapshot = synopsis.snapshot(set(stored))
            stored |= snapshot.pieces
            synopsis = SharedSynopsis([QuantileSynopsis(BIGINT)])
            synopsis.restore({name: stored[name] for name in snapshot.manifest})


def test_medians_of_a_window_that_rolls():
    synopsis = SharedSynopsis([QuantileSynopsis(BIGINT)])
    values = (CASES[1].column([5, 1, 9, 2, 7]),)
    (found,) = synopsis.roll(int64s([0, 0, 1, 0, 0]), int64s([1, 2, 3, 4, 6]), [values], 4)
    assert shown(found) == [5, 1, 9, 2, 2]


def test_windows_that_are_not_covered_are_refused():
    case = CASES[1]
    synopsis = SharedSynopsis([Interval(case.make())], slice=10)
    synopsis.insert(int64s([0, 0]), int64s([5, 25]), [(case.column([1, 2]),)])
    synopsis.expire_until(10)
    one = np.zeros(1, np.int64)
    with pytest.raises(WindrowError, match="begins at 0, elements are kept since 10"):
        synopsis.lookup_by_time(one, one, one + 20)
    with pytest.raises(WindrowError, match="inside a slice"):
        synopsis.lookup_by_time(one, one + 15, one + 20)
    with pytest.raises(WindrowError, match="out of the order of time"):
        synopsis.insert(int64s([0]), int64s([5]), [(case.column([1]),)])
    landmark = Landmark(case.make(), [10, 40], by_rows=True)
    with pytest.raises(WindrowError, match="30 wide"):
        landmark.lookup_by_rows(one, one + 30, one)
    with pytest.raises(WindrowError, match="a slice are not told apart"):
        synopsis.roll(int64s([0]), int64s([25]), [(case.column([1]),)], 10)
    rolled = SharedSynopsis([Interval(case.make())])
    rolled.roll(int64s([0, 0]), int64s([5, 25]), [(case.column([1, 2]),)], 10)
    with pytest.raises(WindrowError, match="begins at 0, elements are kept since 16"):
        rolled.lookup_by_time(one, one, one + 20)
    queue = SharedSynopsis([Daba(case.make())])
    queue.insert(int64s([0, 0]), int64s([5, 25]), [(case.column([1, 2]),)])
    with pytest.raises(WindrowError, match="shorter than what is kept"):
        lookup_by_rows(queue, one, one + 1, one)
