"""Hypothesis strategies: streams with ties, bursts, nulls and skew, and cuts of time."""

from __future__ import annotations

from hypothesis import strategies as st

END = 30

keys = st.one_of(st.none(), st.integers(0, 3))
values = st.one_of(st.none(), st.integers(-3, 6))
strings = st.one_of(st.none(), st.sampled_from(["", "a", "b", "ab", "é"]))
times = st.one_of(st.integers(0, END), st.sampled_from([7, 7, 20]))  # bursts
streams = st.lists(st.tuples(times, keys, values, strings), max_size=25).map(
    lambda rows: [(*row, row[0]) for row in rows]
)
cuts = st.one_of(
    st.just(range(1, 50)),
    st.just([]),
    st.lists(st.integers(1, 50), max_size=8),
)
few_cuts = st.lists(st.integers(1, 50), max_size=8)
