"""Approximate aggregates: inside their stated bounds, and the same whatever way they are run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.rows_in_view import Row
from support.sub_windows import SlidingWindow, Way, answers_of, moments_of, sliding_windows, streams, ways
from windrow.aggregates.sketches.rank_blocks import RankBlocks
from windrow.aggregates.sketches.slice_counters import SliceCounters
from windrow.runtime.local import LocalEngine

USUAL = Way((), "upa", "on", 0)
errors = st.sampled_from(["0.01", "0.1", "0.2", "0.5"])


def in_view(rows: Sequence[Row], window: SlidingWindow, moment: int, key: str | None) -> list[Any]:
    parts = window.sub_windows(rows, moment)
    return [row["x"] for part in parts for row in part if row["x"] is not None and key in (None, row["k"])]


def is_near(value: float, values: Sequence[float], position: int, slack: Fraction) -> bool:
    """Whether a value's rank is within the slack of a position, counted from 1."""
    below, upto = sum(one < value for one in values), sum(one <= value for one in values)
    return below <= position - 1 + slack and upto >= position - slack


@settings(max_examples=200)
@given(
    rows=streams(most=80),
    window=sliding_windows(),
    fraction=st.sampled_from(["0", "0.25", "0.5", "0.9", "1"]),
    error=errors,
    grouped=st.booleans(),
    way=ways,
)
def test_bounds(rows: list[Row], window: SlidingWindow, fraction: str, error: str, grouped: bool, way: Way) -> None:
    key, group = ("k, ", " GROUP BY k") if grouped else ("'all' AS k, ", "")
    text = (
        f"SELECT {key}APPROX_QUANTILE(x, {fraction}, {error}) AS q, APPROX_MEDIAN(x, {error}) AS m,"
        f" APPROX_TOP(2, x, {error}) AS t, APPROX_COUNT_DISTINCT(x, {error}) AS d, COUNT(x) AS n, MEDIAN(x) AS exact"
        f" FROM s {window.text}{group}"
    )
    moments = moments_of(rows)
    found_at = answers_of(text, rows, way, moments)
    assert found_at == answers_of(text, rows, USUAL, moments), "another answer than one batch in one process gives"
    for moment, found in zip(moments, found_at, strict=True):
        for name, quantile, median, top, distinct, count, exact in found:
            values = in_view(rows, window, moment, name if grouped else None)
            slack = Fraction(error) * len(values)
            assert count == len(values)
            if not values:
                assert (quantile, median, top, distinct) == (None, None, (), 0)
                continue
            assert is_near(quantile, values, max(1, math.ceil(Fraction(fraction) * len(values))), slack)
            assert any(is_near(one, values, (len(values) + 1) // 2, slack + 1) for one in (median, exact))
            check_top(top, values, slack)
            assert abs(distinct - len(set(values))) <= max(1, float(error) * len(set(values)))


def check_top(top: Sequence[tuple[int, int, int]], values: Sequence[int], slack: Fraction) -> None:
    true = Counter(values)
    assert all(count <= true[item] <= most <= count + slack for item, count, most in top)
    assert [(count, item) for item, count, _ in top] == sorted(
        ((count, item) for item, count, _ in top), key=lambda one: (-one[0], one[1])
    )
    told = {item for item, _, _ in top}
    if len(top) == 2:  # nothing that was left out has more rows than the last one may have, and the error
        assert all(true[item] <= top[-1][1] + slack for item in true if item not in told)


@settings(max_examples=200)
@given(
    slices=st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=60), min_size=1, max_size=4),
    error=st.sampled_from([Fraction(1, 50), Fraction(1, 10), Fraction(1, 3)]),
)
def test_ranks_of_what_is_kept(slices: list[list[int]], error: Fraction) -> None:
    """Of every slice, the number of values up to any other is off by at most the error."""
    counted = [sorted(Counter(values).items()) for values in slices]
    firsts = np.cumsum([0, *map(len, counted)])[:-1]
    counts = np.array([count for one in counted for _, count in one])
    owner = np.repeat(np.arange(len(slices)), [len(one) for one in counted])
    kept = RankBlocks(error)(SliceCounters(owner, counts, firsts))
    flat = [value for one in counted for value, _ in one]
    for number, values in enumerate(slices):
        own = [(flat[p], w) for p, w in zip(kept.places, kept.counts, strict=True) if owner[p] == number]
        assert sum(weight for _, weight in own) == len(values)
        assert len(own) <= math.ceil(1 / error)
        for edge in range(-1, 32):
            estimate = sum(weight for value, weight in own if value <= edge)
            assert abs(estimate - sum(value <= edge for value in values)) <= error * len(values)


@pytest.mark.parametrize("kind", ["BIGINT", "STRING", "DOUBLE"])
@pytest.mark.parametrize("error", ["0.02", "0.05"])
def test_distinct_values_are_within_the_error(kind: str, error: str) -> None:
    """In windows of very different sizes; the error is stated for 95 of 100."""
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s (ts TIMESTAMP, k BIGINT, x {kind}) TIMESTAMP BY ts")
    query = engine.query(
        f"SELECT k, APPROX_COUNT_DISTINCT(x, {error}) AS d FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k"
    )
    random = np.random.default_rng(5)
    sizes = np.array([1, 2, 10, 100, 1_000, 3_000, 10_000, 30_000, *random.integers(50, 20_000, 32)])
    k = np.repeat(np.arange(len(sizes)), sizes)
    x = np.arange(len(k)) * 7 + 3
    values = {"BIGINT": pa.array(x), "STRING": pa.array(x).cast(pa.string()), "DOUBLE": pa.array(x / 8)}[kind]
    times = pa.array(random.integers(0, 20_000_000, len(k)), pa.timestamp("us", "UTC"))
    rows = pa.table({"ts": times, "k": k, "x": values}).sort_by("ts")
    engine.push("s", rows)
    engine.push("s", [{"ts": "1970-01-01 00:00:21", "k": None, "x": None}])
    engine.step()
    found = {row["k"]: row["d"] for row in engine_answer(query)}
    wrong = [abs(found[key] - size) > float(error) * size + 0.5 for key, size in enumerate(sizes)]
    assert sum(wrong) <= 0.1 * len(sizes)
    assert [found[key] for key in range(3)] == [1, 2, 10]


def engine_answer(query: Any) -> list[dict[str, Any]]:
    return [row for row in query.answer().to_pylist() if row["k"] is not None]
