"""A changelog whose negative tuples have become ends gives the same answers."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windrow.batch import Batch, Column
from windrow.batch.consolidation import closed_by_negatives
from windrow.types import BIGINT
from windrow.units import FOREVER

Tuple = tuple[int, int, int, int]  # a value, its begin and end, its sign


@st.composite
def changelogs(draw: st.DrawFn) -> list[Tuple]:
    """Tuples, some of which are taken back at or after their begin, for good or for a stretch of time, in any order."""
    given_tuples = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.sampled_from([10, 12, FOREVER]))))
    tuples: list[Tuple] = [(value, begin, end, 1) for value, begin, end in given_tuples]
    for value, begin, end in given_tuples:
        if draw(st.booleans()):
            tuples.append((value, draw(st.integers(begin, 9)), draw(st.sampled_from([end, end, 10])), -1))
    return draw(st.permutations(tuples))


def answer(tuples: list[Tuple], instant: int) -> Counter[int]:
    bag: Counter[int] = Counter()
    for value, begin, end, sign in tuples:
        if begin <= instant < end:
            bag[value] += sign
    return Counter({value: count for value, count in bag.items() if count})


@given(changelogs())
def test_the_same_answers_at_every_instant(tuples: list[Tuple]) -> None:
    value, ts, exp, sign = (
        np.array(column, np.int64) for column in (zip(*tuples, strict=True) if tuples else [()] * 4)
    )
    found = closed_by_negatives(Batch((Column(BIGINT, value),), ts, exp, sign.astype(np.int8)))
    columns = (found.columns[0].values, found.ts, found.exp, found.sign)
    closed = [(int(a), int(b), int(c), int(d)) for a, b, c, d in zip(*columns, strict=True)]

    if all(end != 10 for _, _, end, _ in tuples):  # all is taken back for good
        assert all(sign > 0 for *_, sign in closed)
    for instant in range(14):
        assert answer(closed, instant) == answer(tuples, instant)
