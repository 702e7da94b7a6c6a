"""Laws of operators that are told of closed keys: they answer like those that are not, however time is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.batch_strategies import END, cuts, few_cuts, streams
from support.operator_cases import CALENDAR, FIFO, HASH, LIST, own
from support.operator_runs import Node, Source, answers, interesting_instants, run, stream
from windrow.aggregates import Count, IntegerSum, Median, OverDistinct, Top, Variance, maximum
from windrow.batch import Batch, Dictionary
from windrow.operators import (
    GroupBy,
    Join,
    PartitionWindow,
    PredicateWindow,
    RangeLifetime,
    TimeWindow,
)
from windrow.operators.punctuated import ClosedOnBoth, PunctuatedGroupBy, PunctuatedJoin, PunctuatedPartitions
from windrow.types import BIGINT

L, R, CL, CR = (Source(name) for name in ("l", "r", "closed l", "closed r"))
GROUPS = GroupBy(
    (0,), (Count(), IntegerSum(1, BIGINT), Median(1), OverDistinct(Count(1)), Variance(1), maximum(2)), HASH
)
TWO_KEYS = GroupBy((1, 0), (Count(), OverDistinct(IntegerSum(1, BIGINT))), HASH)
OWN_AND_TOP = GroupBy((0,), (Top(2, 2, Dictionary()), own("SQUARES", 1), own("MERGED_SQUARES", 1)), HASH)
JOINS = {
    kind.name: Join((0,), (0,), None, left_structure=kind, right_structure=kind) for kind in (CALENDAR, HASH, LIST)
}
LAST = PartitionWindow((0,), 2, 2)
POSITIVE = PredicateWindow((1, 0), lambda rows: rows.columns[1].values > 0)


def windowed(join: Join, *closings: Source) -> Node:
    window = TimeWindow(RangeLifetime(10))
    operator = PunctuatedJoin(join, True, True) if closings else join
    return Node(operator, Node(window, L), Node(window, R), *closings)


def grouped_pairs(*closings: Node | Source) -> Node:
    pairs = Node(PunctuatedJoin(JOINS["HASH"], True, True), L, R, CL, CR) if closings else Node(JOINS["HASH"], L, R)
    return Node(PunctuatedGroupBy(GROUPS, (0,)), pairs, *closings) if closings else Node(GROUPS, pairs)


FIFO_JOIN = Join((0,), (0,), None, left_structure=FIFO, right_structure=FIFO)
PLANS = {
    **{
        f"join, {name}": (
            lambda join=join: Node(join, L, R),
            lambda join=join: Node(PunctuatedJoin(join, True, True), L, R, CL, CR),
        )
        for name, join in JOINS.items()
    },
    "join, one side": (
        lambda: Node(JOINS["HASH"], L, R),
        lambda: Node(PunctuatedJoin(JOINS["HASH"], False, True), L, R, CR),
    ),
    "join of windows": (lambda: windowed(FIFO_JOIN), lambda: windowed(FIFO_JOIN, CL, CR)),
    "groups": (lambda: Node(GROUPS, L), lambda: Node(PunctuatedGroupBy(GROUPS, (0,)), L, CL)),
    "groups with one's own aggregates and TOP": (
        lambda: Node(OWN_AND_TOP, L),
        lambda: Node(PunctuatedGroupBy(OWN_AND_TOP, (0,)), L, CL),
    ),
    "groups, a part of the key": (
        lambda: Node(TWO_KEYS, L),
        lambda: Node(PunctuatedGroupBy(TWO_KEYS, (1,)), L, CL),
    ),
    "groups of pairs": (grouped_pairs, lambda: grouped_pairs(Node(ClosedOnBoth(), CL, CR))),
    "partitions": (lambda: Node(LAST, L), lambda: Node(PunctuatedPartitions(LAST, (0,)), L, CL)),
    "partitions, a part of the key": (
        lambda: Node(POSITIVE, L),
        lambda: Node(PunctuatedPartitions(POSITIVE, (1,)), L, CL),
    ),
}
closed_keys = st.dictionaries(st.one_of(st.none(), st.integers(0, 3)), st.integers(0, END), max_size=3)


def closings(closed: dict[int | None, int], dictionary: Dictionary) -> Batch:
    batch = stream([(time, key, 0, "", time) for key, time in sorted(closed.items(), key=lambda c: c[1])], dictionary)
    return batch.with_columns(batch.select((0,)))


@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=15)
@given(l=streams, r=streams, shut_l=closed_keys, shut_r=closed_keys, cuts=cuts, stops=few_cuts)
def test_answers_as_if_nothing_was_said(name, l, r, shut_l, shut_r, cuts, stops):  # noqa: E741
    dictionary = Dictionary()
    left = [row for row in l if row[0] <= shut_l.get(row[1], END)]
    right = [row for row in r if row[0] <= shut_r.get(row[1], END)]
    sources = {
        "l": stream(left, dictionary),
        "r": stream(right, dictionary),
        "closed l": closings(shut_l, dictionary),
        "closed r": closings(shut_r, dictionary),
    }
    plain, punctuated = PLANS[name]
    whole = run(plain(), sources)
    instants = interesting_instants(whole, *sources.values())
    expected = answers(whole, instants)
    assert answers(run(punctuated(), sources, cuts), instants) == expected
    told = punctuated()
    assert answers(run(told, sources, stops, restarts=True), instants) == expected
    kept = plain()
    run(kept, sources, stops)
    assert len(told.state) <= len(kept.state)
