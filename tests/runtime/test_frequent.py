"""FREQUENT: the answer of Algorithm 6, whatever way it is run, and what is guaranteed of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.rows_in_view import Row
from support.sub_windows import SlidingWindow, Way, answers_of, moments_of, sliding_windows, streams, ways

Answer = tuple[tuple[tuple[Any, int, int], ...], int, bool]


def algorithm_6(parts: Sequence[Sequence[Row]], column: str, k: int) -> Answer:
    """Straight from the thesis: lists, counters, threshold; and the upper bounds that follow from them."""
    lists = []
    for part in parts:
        counts = Counter(row[column] for row in part if row[column] is not None)
        top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:k]
        lists.append((dict(top), top[-1][1] if len(top) == k else 0))
    counters = sum((Counter(top) for top, _ in lists), Counter())
    threshold = sum(floor for _, floor in lists)
    most = {item: count + sum(floor for top, floor in lists if item not in top) for item, count in counters.items()}
    told = sorted((item for item in counters if counters[item] > threshold), key=lambda item: (-counters[item], item))
    complete = all(most[item] <= threshold for item in counters if item not in told)
    return tuple((item, counters[item], most[item]) for item in told), threshold, complete


def by_group(parts: Sequence[Sequence[Row]], grouped: bool) -> dict[Any, list[list[Row]]]:
    keys = {row["k"] for part in parts for row in part} if grouped else {None}
    return {key: [[row for row in part if not grouped or row["k"] == key] for part in parts] for key in keys}


@settings(max_examples=250)
@given(
    rows=streams(),
    window=sliding_windows(),
    k=st.integers(1, 4),
    column=st.sampled_from("xy"),
    grouped=st.booleans(),
    selected=st.booleans(),
    way=ways,
)
def test_answers_are_those_of_algorithm_6(
    rows: list[Row], window: SlidingWindow, k: int, column: str, grouped: bool, selected: bool, way: Way
) -> None:
    key, group = ("k, ", " GROUP BY k") if grouped else ("", "")
    where = " WHERE x IS NULL OR x <> 1" if selected else ""
    text = f"SELECT {key}FREQUENT({column}, {k}) AS f, COUNT(*) AS n, MAX(x) AS m FROM s {window.text}{where}{group}"
    moments = moments_of(rows)
    for moment, found in zip(moments, answers_of(text, rows, way, moments), strict=True):
        parts = [[row for row in part if not selected or row["x"] != 1] for part in window.sub_windows(rows, moment)]
        expected: Counter[Any] = Counter()
        for name, own in by_group(parts, grouped).items():
            alive = [row for part in own for row in part]
            largest = max((row["x"] for row in alive if row["x"] is not None), default=None)
            answer = (algorithm_6(own, column, k), len(alive), largest)
            if alive or not grouped:
                expected[(name, *answer) if grouped else answer] += 1
        assert found == expected


@settings(max_examples=150)
@given(rows=streams(most=80), window=sliding_windows(), k=st.integers(1, 4), way=ways)
def test_what_is_guaranteed(rows: list[Row], window: SlidingWindow, k: int, way: Way) -> None:
    moments = moments_of(rows)
    text = f"SELECT FREQUENT(x, {k}) AS f FROM s {window.text}"
    for moment, found in zip(moments, answers_of(text, rows, way, moments), strict=True):
        for ((items, threshold, complete),) in found:
            alive = [row["x"] for part in window.sub_windows(rows, moment) for row in part]
            true = Counter(value for value in alive if value is not None)
            assert all(true[item] > threshold for item, _, _ in items), "a false positive"
            assert all(count <= true[item] <= most for item, count, most in items)
            told = {item for item, _, _ in items}
            missed = {item for item, count in true.items() if count > threshold} - told
            assert not (complete and missed)
