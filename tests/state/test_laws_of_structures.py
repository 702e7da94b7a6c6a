"""Laws of every state structure: each is run beside a plain list of tuples, and must agree with it at all times."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.batch import Batch, Dictionary, column_from_arrow
from windrow.state import STRUCTURES, KeyedRows, Structure, StructureKind
from windrow.units import FOREVER

tuples = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 30))  # key, value, length of life
bursts = st.lists(st.lists(tuples, max_size=12), max_size=12)


def batch(rows: list[tuple[int, int, int, int, int]], dictionary: Dictionary) -> tuple[np.ndarray, Batch]:
    """Rows (key, value, ts, exp, sign) as a structure takes them."""
    key, value, ts, exp, sign = (np.array([row[i] for row in rows], np.int64) for i in range(5))
    strings = pa.array([None if v == 0 else str(v) for v in value], pa.string())
    columns = (column_from_arrow(pa.array(value), dictionary), column_from_arrow(strings, dictionary))
    return key, Batch(columns, ts, exp, sign.astype(np.int8))


def bag(kept: KeyedRows) -> Counter:
    rows = kept.rows
    values = rows.columns[0].values.tolist() if len(rows) else []
    every = zip(kept.keys.tolist(), values, rows.exp.tolist(), rows.sign.tolist(), strict=True)
    return Counter(every)


def net(of: Counter) -> Counter:
    """Signs summed by row and end: what a structure stands for."""
    total: Counter = Counter()
    for (key, value, exp, sign), count in of.items():
        total[key, value, exp] += sign * count
    return Counter({row: count for row, count in total.items() if count})


def lifetimes(kind: StructureKind, now: int, rows: list[tuple[int, int, int]]) -> list[tuple]:
    """Ends as the structure's pattern has them: in order for the FIFO, sometimes open for the others."""
    if kind is StructureKind.FIFO:
        return [(key, value, now, now + 10, 1) for key, value, _ in rows]
    return [(key, value, now, FOREVER if life == 30 else now + life, 1) for key, value, life in rows]


def restored(structure: Structure, kind: StructureKind, stored: dict) -> Structure:
    snapshot = structure.snapshot(set(stored))
    assert not set(snapshot.pieces) & set(stored)
    stored.update(snapshot.pieces)
    again = STRUCTURES[kind]()
    again.restore({name: stored[name] for name in snapshot.manifest})
    return again


@pytest.mark.parametrize("kind", StructureKind)
@given(bursts=bursts, steps=st.lists(st.integers(0, 9), min_size=12, max_size=12))
def test_rows_leave_exactly_when_their_end_comes(kind, bursts, steps):
    structure, dictionary, now = STRUCTURES[kind](), Dictionary(), 0
    model: Counter = Counter()
    for burst, step in zip(bursts, steps, strict=False):
        now += step
        rows = lifetimes(kind, now, burst)
        structure.insert(*batch(rows, dictionary))
        model.update((key, value, exp, sign) for key, value, _, exp, sign in rows)
        ended = Counter({row: count for row, count in model.items() if row[2] <= now})
        assert bag(structure.expire_until(now)) == ended
        model -= ended
        assert bag(structure.scan()) == model
        assert len(structure) == model.total()
        assert not len(structure.expire_until(now).rows), "expiry is idempotent"


@pytest.mark.parametrize("kind", StructureKind)
@given(bursts=bursts, steps=st.lists(st.integers(0, 9), min_size=12, max_size=12))
def test_snapshot_then_restore_is_identity(kind, bursts, steps):
    structure, dictionary, now, stored = STRUCTURES[kind](), Dictionary(), 0, {}
    for burst, step in zip(bursts, steps, strict=False):
        now += step
        structure.insert(*batch(lifetimes(kind, now, burst), dictionary))
        structure.expire_until(now)
        again = restored(structure, kind, stored)
        assert bag(again.scan()) == bag(structure.scan())
        assert not restored(again, kind, stored).snapshot(set(stored)).pieces, "nothing new, nothing written"
        structure = again


@pytest.mark.parametrize("kind", StructureKind)
@given(rows=st.lists(tuples, max_size=30), cuts=st.lists(st.integers(0, 30), max_size=5))
def test_one_big_insert_equals_many_small_ones(kind, rows, cuts):
    dictionary, edges = Dictionary(), sorted({0, *cuts, len(rows)})
    every = lifetimes(kind, 0, rows)
    one, many = STRUCTURES[kind](), STRUCTURES[kind]()
    one.insert(*batch(every, dictionary))
    for start, end in itertools.pairwise(edges):
        many.insert(*batch(every[start:end], dictionary))
    assert bag(one.scan()) == bag(many.scan())
    for time in (5, 12, 40):
        assert bag(one.expire_until(time)) == bag(many.expire_until(time))


@pytest.mark.parametrize("kind", StructureKind)
@given(rows=st.lists(tuples, max_size=20), asked=st.lists(tuples, max_size=8), now=st.integers(0, 20))
def test_probe_finds_overlapping_rows_of_the_key(kind, rows, asked, now):
    structure, dictionary = STRUCTURES[kind](), Dictionary()
    every = lifetimes(kind, 5, rows)
    structure.insert(*batch(every[: len(every) // 2], dictionary))
    structure.probe(np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1, np.int64))  # builds the index
    structure.insert(*batch(every[len(every) // 2 :], dictionary))
    structure.expire_until(now)
    keys = np.array([key for key, _, _ in asked], np.int64)
    ts = np.array([now + value for _, value, _ in asked], np.int64)
    exp = ts + np.array([life for _, _, life in asked], np.int64)
    found = structure.probe(keys, ts, exp)
    pairs = Counter(zip(found.positions.tolist(), found.rows.exp.tolist(), strict=True))
    expected = Counter(
        (i, min(row[3], int(exp[i])))
        for i in range(len(asked))
        for row in every
        if row[3] > now and row[0] == keys[i] and max(row[2], ts[i]) < min(row[3], exp[i])
    )
    assert pairs == expected


@pytest.mark.parametrize("kind", [kind for kind in StructureKind if kind is not StructureKind.FIFO])
@given(rows=st.lists(tuples, max_size=30), taken=st.lists(st.booleans(), min_size=30, max_size=30))
def test_negative_tuples_take_rows_back(kind, rows, taken):
    structure, dictionary = STRUCTURES[kind](), Dictionary()
    every = [(key, value, 0, FOREVER, 1) for key, value, _ in rows]
    back = [(key, value, 1, FOREVER, -1) for (key, value, _), gone in zip(rows, taken, strict=False) if gone]
    structure.insert(*batch(every, dictionary))
    structure.expire_until(0)
    structure.insert(*batch(back, dictionary))
    left = structure.expire_until(1)
    assert net(bag(left)) == Counter(), "what leaves before its end cancels"
    assert net(bag(structure.scan())) == net(
        Counter((key, value, exp, sign) for key, value, _, exp, sign in every + back)
    )
    assert len(structure) <= max(64, 2 * (len(every) - len(back)) + 1), "pairs do not pile up"


@given(lives=st.lists(st.integers(1, 10**6), min_size=1, max_size=400))
def test_calendar_adapts_its_partitions_to_its_size(lives):
    calendar, dictionary = STRUCTURES[StructureKind.CALENDAR](), Dictionary()
    calendar.insert(*batch([(0, 0, 0, life, 1) for life in lives * 20], dictionary))
    assert calendar.partitions * 128 >= len(calendar)
    calendar.expire_until(10**6 - 1)
    assert len(calendar) == 20 * lives.count(10**6)
