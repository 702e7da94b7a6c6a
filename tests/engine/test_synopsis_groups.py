"""Differential: groups of periodic windows looked up in a shared synopsis are those of a group-by over each window."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import Node, Source, answer, run, stream
from strategies import few_cuts

from windrow.batch import Dictionary
from windrow.operators import GroupBy, RangeLifetime, TimeWindow
from windrow.operators.aggregates import Count, FloatSum, IntegerAverage, IntegerSum, maximum
from windrow.operators.synopsis_groups import KeepElements, KeptColumn, WindowLookups
from windrow.synopses import (
    BasicInterval,
    Interval,
    Running,
    average_of_integers,
    count,
    sum_of_doubles,
    sum_of_integers,
)
from windrow.synopses import maximum as kept_maximum
from windrow.types import BIGINT, STRING

SCHEMA = pa.schema([("k", pa.int64()), ("x", pa.int64()), ("d", pa.float64()), ("s", pa.string())])
DICTIONARY = Dictionary()
rows = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.integers(0, 2),
        st.none() | st.integers(-(2**40), 2**40),
        st.none() | st.floats(allow_nan=False),
        st.none() | st.sampled_from(["a", "b", "c"]),
    ),
    max_size=40,
)
KEPT = (
    KeptColumn(lambda: Running(count()), ()),
    KeptColumn(lambda: Running(sum_of_integers(BIGINT)), (1,)),
    KeptColumn(lambda: Running(average_of_integers()), (1,)),
    KeptColumn(lambda: Interval(sum_of_doubles()), (2,)),
    KeptColumn(lambda: Interval(kept_maximum(BIGINT)), (1,)),
    KeptColumn(lambda: BasicInterval(kept_maximum(STRING, DICTIONARY)), (3,)),
)
PLACES = tuple(range(len(KEPT)))


def plain(keys: tuple[int, ...], length: int, slide: int) -> Node:
    window = Node(TimeWindow(RangeLifetime(length, slide=slide)), Source("l"))
    aggregates = (Count(None), IntegerSum(1, BIGINT), IntegerAverage(1), FloatSum(2), maximum(1), maximum(3))
    return Node(GroupBy(keys, aggregates), window)


@pytest.mark.parametrize("keys", [(0,), ()], ids=["by key", "in all"])
@given(
    rows=rows,
    cuts=few_cuts,
    restarts=st.booleans(),
    windows=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 3)), min_size=1, max_size=3),
)
def test_every_query_gives_what_its_own_group_by_gives(keys, rows, cuts, restarts, windows):
    slice, streams = 2, {"l": stream(rows, DICTIONARY, SCHEMA)}
    for length, slide in windows:
        keep = Node(KeepElements(keys, KEPT, slice), Source("l"))
        looked_up = run(
            Node(WindowLookups(keys, PLACES, 0, length * slice, slide * slice), keep), streams, cuts, restarts
        )
        alone = run(plain(keys, length * slice, slide * slice), streams, cuts)
        for instant in range(70):
            assert answer(looked_up, instant) == answer(alone, instant), (length, slide, instant)


def test_queries_share_one_synopsis_as_long_as_their_longest_window():
    streams = {"l": stream([(t, t % 3, t, float(t), "a") for t in range(60)], DICTIONARY, SCHEMA)}
    keep = Node(KeepElements((0,), KEPT, 2), Source("l"))
    short, long = (Node(WindowLookups((0,), PLACES, 0, length, 2), keep) for length in (4, 20))
    from running import _step, segments

    for segment in segments(range(0, 60, 4), 60):
        inputs = (_step(keep, streams, segment),)
        for query in (short, long):
            query.operator.step(query.state, inputs, segment)
        assert len(keep.state) <= 20 / 2 * 3 + 12
    assert keep.state.reach == 22
