"""The unit-time cost model: its terms by hand, and the choices it leads to."""

from __future__ import annotations

import pytest

from support.plans import find, session
from windrow.cql import compile_query
from windrow.optimizer import RULES, Cost, cost_of, optimize
from windrow.optimizer.cost import MAINTENANCE, NEGATIVE, PASSING
from windrow.optimizer.optimize import applied
from windrow.plan.analysis.rates import OVERLAP, Estimate, Rates
from windrow.plan.analysis.state import StateForm
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import AntiJoin, Distinct, Join, Node, Windowed
from windrow.plan.pattern import Pattern
from windrow.session import Session

UPKEEP = {structure: sum(weights) for structure, weights in MAINTENANCE.items()}


def measured(rate: float = 10.0, values: float = 1_000.0, **rates: float) -> Session:
    """Streams s, t, u with `values` different values of a, and a rate that may be given for each."""
    opened = session()
    for stream in ("s", "t", "u"):
        opened.catalog.record_statistics(stream, rates.get(stream, rate), {"a": values, "b": values})
    return opened


def cost(query: str, opened: Session) -> Cost:
    return cost_of(applied(compile_query(query, opened.catalog), RULES), Rates(opened.catalog.statistics))


def estimate(query: str, kind: type[Node], opened: Session) -> Estimate:
    plan = applied(compile_query(query, opened.catalog), RULES)
    return Rates(opened.catalog.statistics).of(find(plan, kind))


JOIN = "SELECT s.b FROM s [RANGE 100 s], t [RANGE 50 s] WHERE s.a = t.a"


def test_a_join_costs_what_kang_says() -> None:
    """λa (probe + insert + invalidate) + λb (the same); a probe touches its matches."""
    left, right = 10.0, 20.0
    results = left * (right * 50) / 1_000 + right * (left * 100) / 1_000
    found = cost(JOIN, measured(s=left, t=right))

    windows = PASSING * (left + right)
    assert found.tuples == pytest.approx(windows + left + right + results)
    kept, answer = UPKEEP[StateForm.FIFO] * (left + right), UPKEEP[StateForm.CALENDAR_QUEUE] * results
    assert found.state == pytest.approx(kept + answer)
    assert found.negatives == 0


def test_without_an_equality_every_pair_is_tried() -> None:
    hashed, tried = (cost(JOIN.replace("=", operator), measured()) for operator in ("=", ">"))

    assert tried.tuples > 10 * (10 * 500 + 10 * 1_000) / 100
    assert tried.total > 100 * hashed.total


def test_negative_tuples_cost_only_over_strict_inputs() -> None:
    counted = cost(JOIN.replace("RANGE 100 s", "ROWS 1000"), measured())

    assert cost(JOIN, measured()).negatives == 0
    assert counted.negatives >= NEGATIVE * 10, "every row of the count window is taken back once"


def test_the_simpler_the_pattern_of_an_input_the_cheaper_its_state() -> None:
    """The same rate and rows alive, by a window of time (WKS), lifetimes of their own (WK), a window of rows (STR)."""
    opened = measured()
    opened.catalog.record_statistics("readings", 10.0, {"a": 1_000.0, "b": 1_000.0})
    inputs = ("s [RANGE 60 s]", "readings [RANGE 60 s] AS s", "s [ROWS 600]")
    rows = [estimate(f"SELECT b FROM {source}", Windowed, opened).rows for source in inputs]
    costs = [cost(JOIN.replace("s [RANGE 100 s]", source), opened) for source in inputs]

    assert rows == [600, 600, 600]
    assert costs[0].state < costs[1].state < costs[2].state


@pytest.mark.parametrize("part", ["tuples", "state", "negatives"])
def test_the_total_is_the_sum_of_its_parts(part: str) -> None:
    one, other = Cost(1, 2, 3), Cost(**{part: 10.0})

    assert (one + other).total == one.total + 10


def test_work_grows_with_the_rates() -> None:
    queries = [
        JOIN,
        "SELECT DISTINCT b FROM s [RANGE 10 s]",
        "SELECT a FROM s [RANGE 10 s] WHERE v > 0",
        "SELECT b, COUNT(*) FROM s [ROWS 10] GROUP BY b",
        "SELECT a FROM s [RANGE 10 s] EXCEPT SELECT a FROM t [NOW]",
        "SELECT a FROM s ORDER BY a LIMIT 3",
    ]
    for query in queries:
        assert cost(query, measured(rate=10)).total < cost(query, measured(rate=20)).total < float("inf")


NEGATION = "SELECT s.b FROM s [RANGE 100 s] WHERE NOT EXISTS (SELECT * FROM u [RANGE {length} s] WHERE u.a = s.a)"


def test_premature_ends_of_a_negation() -> None:
    """Rare while matches are always there or never; otherwise each appearance takes back the rows with that value."""
    never = estimate(NEGATION.format(length=100), AntiJoin, measured(u=0.0))
    always = estimate(NEGATION.format(length=100_000), AntiJoin, measured())
    between = estimate(NEGATION.format(length=10), AntiJoin, measured())

    assert never.negatives == 0 and never.rows == pytest.approx(1_000)
    assert always.negatives < 1e-3 and always.rows == pytest.approx((1 - OVERLAP) * 1_000)
    assert 1 < between.negatives < 10
    assert between.rate > between.negatives, "what is taken back comes again"


def test_distinct_gives_one_result_a_value_and_lifetime() -> None:
    few = estimate("SELECT DISTINCT a FROM s [RANGE 100 s]", Distinct, measured(values=20))
    many = estimate("SELECT DISTINCT a FROM s [RANGE 100 s]", Distinct, measured(values=1e9))

    assert few.rate == pytest.approx(20 / 100) and few.rows == 20
    assert many.rate == pytest.approx(10) and many.rows == pytest.approx(1_000)


def test_timestamps_hardly_repeat() -> None:
    assert estimate("SELECT DISTINCT ts FROM s [RANGE 100 s]", Distinct, measured()).rows == pytest.approx(1_000)


QUERY_4 = """SELECT s.b, t.v FROM s [RANGE {length} s], t [RANGE {length} s] WHERE s.a = t.a
             AND NOT EXISTS (SELECT * FROM u [RANGE {length} s] WHERE u.a = s.a)"""


def chosen_pattern(length: int, opened: Session) -> Pattern:
    """Of the join: WK with the negation above it, STR with the negation below."""
    return update_pattern(find(opened.plan(QUERY_4.format(length=length)), Join))


@pytest.mark.parametrize("length", [2_000, 20_000, 200_000])
def test_query_4_negation_is_pulled_up_over_a_selective_join(length: int) -> None:
    """Thesis 3.6.5: a join with few results (t is what the selection leaves of a link), windows of all its sizes."""
    opened = measured(rate=1.0, values=100_000.0, t=0.01)

    assert chosen_pattern(length, opened) is Pattern.WK


@pytest.mark.parametrize("length", [20_000, 200_000])
def test_query_4_negation_goes_below_a_join_with_many_results(length: int) -> None:
    """Thesis 3.6.5: then pushing the join below the negation would be highly sub-optimal."""
    opened = measured(rate=1.0, values=2_000.0)

    assert chosen_pattern(length, opened) is Pattern.STR


def test_simpler_patterns_win_where_costs_agree() -> None:
    opened = measured(rate=1.0, values=50_000.0)
    query = compile_query(QUERY_4.format(length=40_000), opened.catalog)
    found = optimize(query, opened.catalog.statistics)
    costs = {considered.chosen: considered.cost.total for considered in found.considered}

    assert update_pattern(find(found.plan, Join)) is Pattern.WK
    assert costs[False] < costs[True] <= 1.1 * costs[False], "this query is one where the two are close"
    why = {considered.chosen: considered.why for considered in found.considered}
    assert why == {
        True: "about as cheap as the cheapest, with simpler patterns",
        False: "about as cheap, without simpler patterns",
    }


def test_distinct_goes_down_where_rows_repeat() -> None:
    query = "SELECT DISTINCT s.b FROM s [RANGE 100 s], t [RANGE 100 s] WHERE s.a = t.a"
    repeated, unique = (measured(values=values).plan(query) for values in (5.0, 1e7))

    assert sum(isinstance(node, Distinct) for node in repeated.walk()) == 3
    assert sum(isinstance(node, Distinct) for node in unique.walk()) == 1
