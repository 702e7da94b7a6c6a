"""Oracle: synopses of aggregates of the user's own, also where a function fails on a row."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.synopsis_model import DICTIONARY, Model, bursts, int64s, shown
from windrow.aggregates.user.user_functions import UserFunctions
from windrow.batch import column_from_arrow
from windrow.errors import AggregateError
from windrow.synopses import IntervalStates, RunningStates, SharedSynopsis
from windrow.types import BIGINT
from windrow.units import FOREVER

UNLUCKY = 13


class Squares:
    def initial(self):
        return Fraction(0)

    def add(self, state, x):
        if x == UNLUCKY:
            raise ValueError("thirteen")
        return state + x * x

    def merge(self, state, other):
        return state + other

    def subtract(self, state, part):
        return state - part

    def finish(self, state):
        return int(state)


class OnArrays:
    def initial(self, length):
        return np.zeros(length, np.int64)

    def add(self, states, x):
        if (x == UNLUCKY).any():
            raise ValueError("thirteen")
        return states + x * x

    def merge(self, states, others):
        return states + others

    def subtract(self, states, parts):
        return states - parts

    def finish(self, states):
        return states


def expected(values: list[int]) -> int | None:
    return None if UNLUCKY in values else sum(x * x for x in values)


@pytest.mark.parametrize("kind", [IntervalStates, RunningStates])
@pytest.mark.parametrize("functions", [Squares(), OnArrays()], ids=["single states", "arrays"])
@pytest.mark.parametrize("slice", [0, 5])
@settings(max_examples=20)
@given(data=st.data())
def test_windows_of_any_length(kind, functions, slice, data):
    failures: list[AggregateError] = []

    def fresh() -> SharedSynopsis:
        own = UserFunctions("SQUARES", functions, isinstance(functions, OnArrays), BIGINT, DICTIONARY, failures.append)
        return SharedSynopsis([kind(own)], slice)

    synopsis, model, now, stored = fresh(), Model(), 0, {}
    for burst in data.draw(bursts(st.integers(-20, 20))):
        rows = []
        for group, ticks, value in burst:
            now += ticks
            rows.append((group, now, value))
        model.elements += rows
        values = column_from_arrow(pa.array([v for _, _, v in rows], pa.int64()), DICTIONARY, BIGINT)
        synopsis.insert(int64s([g for g, _, _ in rows]), int64s([t for _, t, _ in rows]), [(values,)])
        edge = now // slice * slice if slice else now
        synopsis.expire_until(edge - 15)
        groups, back = np.arange(5), int64s([data.draw(st.integers(0, 3)) * 5 for _ in range(5)])
        ends = np.full(5, FOREVER) if data.draw(st.booleans()) else np.full(5, edge - 5)
        (found,) = synopsis.lookup_by_time(groups, edge - back, ends)
        assert shown(found) == [expected(model.by_time(g, edge - back[g], ends[g])) for g in range(5)]
        if data.draw(st.booleans()):
            snapshot = synopsis.snapshot(set(stored))
            stored |= snapshot.pieces
            synopsis = fresh()
            synopsis.restore({name: stored[name] for name in snapshot.manifest})
