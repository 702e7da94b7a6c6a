"""Classes of aggregates, and which synopsis the planner takes for which workload."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.plan.aggregate_class import AggregateClass, Traits
from windrow.plan.aggregates import AGGREGATES, aggregate_call, traits_of
from windrow.plan.expressions import ColumnReference
from windrow.plan.synopsis_kinds import SynopsisKind
from windrow.sharing.synopsis_choice import Workload, alternatives, chosen, window_monitor
from windrow.types import BIGINT

SUM = Traits(AggregateClass.DISTRIBUTIVE, True, True)
MAX = Traits(AggregateClass.DISTRIBUTIVE, False, False)
MANY = tuple(range(1, 1001))

workloads = st.builds(
    Workload,
    updates=st.floats(0, 1e6),
    lookups=st.floats(0, 1e6),
    widths=st.lists(st.integers(1, 10_000), min_size=1, max_size=20).map(tuple),
    simultaneous=st.integers(1, 100),
    are_suffixes=st.booleans(),
    stored_positions=st.integers(0, 20_000),
    groups=st.integers(1, 1000),
)


def test_classes_of_the_built_in_aggregates():
    """As Arasu and Widom, section 2 and 3.2, and the thesis, 8.3.3, have them."""
    x = ColumnReference("x", BIGINT)
    said = {name: str(traits_of(aggregate_call(name, [x]))) for name in ("SUM", "COUNT", "AVG", "MIN", "MAX", "MEDIAN")}

    assert said == {
        "SUM": "distributive, subtractable",
        "COUNT": "distributive, subtractable",
        "AVG": "algebraic, subtractable",
        "MIN": "distributive, not duplicate-sensitive",
        "MAX": "distributive, not duplicate-sensitive",
        "MEDIAN": "holistic",
    }
    assert str(traits_of(aggregate_call("COUNT", [x], distinct=True))) == "holistic"
    assert all(not one.subtractable for one in AGGREGATES.values() if one.kind is AggregateClass.HOLISTIC)


@pytest.mark.parametrize(
    "traits, workload, expected",
    [
        (SUM, Workload(1e5, 1e5, MANY), SynopsisKind.RUNNING),
        (SUM, Workload(1.0, 1e6, (10, 20)), SynopsisKind.RUNNING),
        (MAX, Workload(1e5, 1e5, (1000,)), SynopsisKind.TWO_STACKS),
        (MAX, Workload(1.0, 1e3, (100,), stored_positions=1000), SynopsisKind.LANDMARKS),  # of a tenth of what is kept
        (MAX, Workload(1e5, 1e5, MANY), SynopsisKind.INTERVAL),
        (MAX, Workload(1e3, 1e5, (900, 1000, 1100, 1200)), SynopsisKind.LANDMARKS),
        (MAX, Workload(1e3, 1e5, (1000,), are_suffixes=False), SynopsisKind.LANDMARKS),
        (MAX, Workload(1e5, 10.0, MANY), SynopsisKind.BASIC_INTERVAL),
        # Thesis 8.3.1: a basic interval synopsis is the better one from b / log b queries at a time.
        (MAX, Workload(1e3, 1e5, MANY, simultaneous=1000), SynopsisKind.BASIC_INTERVAL),
        (MAX, Workload(1e5, 1e5, MANY, memory=20_000), SynopsisKind.BASIC_INTERVAL),
    ],
)
def test_choices(traits, workload, expected):
    found = chosen(traits, workload)

    assert found.kind is expected, found.reason
    assert found.reason.startswith(f"{expected.value}: ")


@given(workload=workloads, subtractable=st.booleans())
def test_a_choice_is_the_cheapest_that_fits_and_says_why(workload, subtractable):
    traits = SUM if subtractable else MAX
    found = chosen(traits, workload)
    others = alternatives(traits, workload)

    assert all(found.cost <= other.cost for other in others)
    assert (found.kind is SynopsisKind.RUNNING) <= subtractable
    assert found.reason.count("elements and") == 1
    tight = chosen(traits, Workload(**{**vars(workload), "memory": 1.0}))
    assert tight.bytes == min(other.bytes for other in others)
    assert "nothing fits into 1 bytes" in tight.reason


def test_the_thesis_break_even_of_the_basic_interval_synopsis():
    """log b merges a query from dyadic intervals, b merges for all queries of a moment: equal at b / log b queries."""
    b = 1024
    for simultaneous, is_basic in ((b // 10 // 2, False), (b // 10 * 2, True)):
        costs = {one.kind: one.cost for one in alternatives(MAX, Workload(0.0, 1e5, (b,), simultaneous))}
        assert (costs[SynopsisKind.BASIC_INTERVAL] < costs[SynopsisKind.INTERVAL]) is is_basic


def test_another_synopsis_takes_over_only_when_the_workload_has_changed_for_long():
    many, few = Workload(1e5, 1e5, MANY), Workload(1e5, 10.0, MANY)
    assert chosen(MAX, many).kind is SynopsisKind.INTERVAL
    watch = window_monitor(MAX, SynopsisKind.INTERVAL)
    assert [watch.poll(few) for _ in range(4)] == [None] * 4
    assert watch.poll(many) is None, "a short change is over"
    *early, last = [watch.poll(few) for _ in range(5)]
    assert early == [None] * 4
    assert last is not None and last.kind is SynopsisKind.BASIC_INTERVAL
    assert watch.poll(few) is None
