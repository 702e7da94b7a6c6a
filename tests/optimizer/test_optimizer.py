"""The optimizer: what is explored, what is chosen, and that no combination of rules changes an answer."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from support.generated_streams import SCHEMAS, SECOND, START, all_streams, instants
from support.local_runs import answers, feed
from support.planned_runs import planned_engine, run_plans
from support.plans import DECLARATIONS, find, session
from support.queries import predicates, queries, windows
from support.rows_in_view import Row, stream_order
from support.rule_files import sketch
from windrow.cql import compile_query
from windrow.errors import CqlMeaningError, WindrowError
from windrow.optimizer import ALTERNATIVES, FINISHING, REQUIRED, RULES, optimize
from windrow.optimizer.explore import BOUND, explore
from windrow.optimizer.optimize import applied
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import AntiJoin, Distinct, Join, Node, OutputStream, Table
from windrow.plan.pattern import Pattern
from windrow.runtime.local import LocalEngine
from windrow.session import Session

PLANS_A_CASE = 3


def measured() -> Session:
    """A session in which the rates of all streams are known: costs decide."""
    opened = session()
    for name in ("s", "t", "u", "readings"):
        opened.catalog.record_statistics(name, rate=1000.0)
    return opened


STATISTICS = measured().catalog.statistics


def bound(query: str) -> Node:
    return compile_query(query, session().catalog)


def test_which_tuple_a_table_is_looked_up_for_does_not_change() -> None:
    """Above a DISTINCT the table is looked up for the row that is shown, so nothing may choose another one."""
    query = (
        "SELECT q.a, n.name FROM (SELECT DISTINCT s.a FROM s [NOW], t [NOW] WHERE s.a = t.a) AS q JOIN n ON q.a = n.a"
    )
    found = optimize(bound(query), STATISTICS)

    assert len(found.considered) == 1
    assert find(found.plan, Distinct)


def test_both_directions_lead_to_the_same_plans() -> None:
    negation = "NOT EXISTS (SELECT * FROM u [NOW] WHERE u.a = s.a)"
    above = f"SELECT s.b, t.v FROM s [NOW], t [NOW] WHERE s.a = t.a AND {negation}"
    below = f"SELECT s.b, t.v FROM (SELECT * FROM s [NOW] WHERE {negation}) AS s, t [NOW] WHERE s.a = t.a"
    one, other = (optimize(bound(query), STATISTICS) for query in (above, below))

    assert one.plan == other.plan
    assert {considered.plan for considered in one.considered} == {considered.plan for considered in other.considered}


def test_every_combination_is_explored_up_to_the_bound() -> None:
    memberships = "".join(f" AND NOT EXISTS (SELECT * FROM u [NOW] AS u{i} WHERE u{i}.a = s.a)" for i in range(2))
    some = explore(
        applied(bound(f"SELECT s.b FROM s [NOW], t [NOW] WHERE s.a = t.a{memberships}"), RULES), ALTERNATIVES
    )
    assert len(some) == 3, "the lower negation, then the upper one too, or none"
    streams = ", ".join(f"s [NOW] AS s{i}" for i in range(12))
    wide = bound(f"SELECT DISTINCT s0.a FROM {streams} WHERE {' AND '.join(f's0.a = s{i}.a' for i in range(1, 12))}")

    assert len(explore(applied(wide, RULES), ALTERNATIVES)) == BOUND


def test_exactly_one_plan_is_chosen_and_it_is_about_the_cheapest() -> None:
    found = optimize(bound("SELECT DISTINCT s.b, t.v FROM s [NOW], t [RANGE 9 s] WHERE s.a = t.a"), STATISTICS)
    chosen = [considered for considered in found.considered if considered.chosen]

    assert [considered.plan for considered in chosen] == [found.plan]
    assert chosen[0].cost.total <= 1.1 * min(considered.cost.total for considered in found.considered)
    assert len({considered.plan for considered in found.considered}) == len(found.considered) == 4


QUERY_4 = """SELECT s.a, t.v FROM s [RANGE 1 MINUTE], t [RANGE 1 MINUTE] WHERE s.a = t.a
             AND NOT EXISTS (SELECT * FROM u [RANGE 1 MINUTE] WHERE u.a = s.a)"""


def test_nothing_moves_by_cost_before_anything_was_measured() -> None:
    above = session().explain(QUERY_4)[0]
    below = session().explain(
        """SELECT s.a, t.v FROM (SELECT * FROM s [RANGE 1 MINUTE] AS s
           WHERE NOT EXISTS (SELECT * FROM u [RANGE 1 MINUTE] WHERE u.a = s.a)) AS s,
           t [RANGE 1 MINUTE] WHERE s.a = t.a"""
    )[0]
    for explanation in (above, below):
        (chosen,) = (considered for considered in explanation.alternatives if considered.chosen)
        assert chosen.steps == ()
        assert chosen.why == "nothing was measured to choose by"


def test_explain_shows_the_alternatives() -> None:
    opened = measured()
    (tree,) = opened.execute(f"EXPLAIN {QUERY_4}")
    (data,) = json.loads(opened.execute(f"EXPLAIN JSON {QUERY_4}")[0].message)

    lines = tree.message.splitlines()
    shown = lines[lines.index("plans considered, with the work for a second of the streams:") + 1 :]
    assert [line[0] for line in shown] == ["→", " "]
    assert shown[0].endswith("negation (NOT EXISTS u.a = s.a) below the join (ON s.a = t.a): the cheapest")
    assert "as written: " in shown[1] and " times the cost, most of it more " in shown[1]
    assert [one["chosen"] for one in data["alternatives"]] == [False, True]
    assert all(one.keys() == {"steps", "cost", "chosen", "why"} for one in data["alternatives"])


def test_nothing_is_said_where_there_was_no_choice() -> None:
    (result,) = session().execute("EXPLAIN SELECT a FROM s [NOW]")

    assert "considered" not in result.message
    assert result.explanation is not None
    assert [one.why for one in result.explanation.alternatives] == ["the only one"]


def test_measured_statistics_decide() -> None:
    """Few values: the join is large, negation goes below it. Many values: hardly any pair, negation stays above."""
    chosen = {}
    for values in (100, 1_000_000):
        opened = session()
        for stream in ("s", "t", "u"):
            opened.catalog.record_statistics(stream, 1_000.0, {"a": float(values)})
        chosen[values] = opened.plan(QUERY_4)

    assert update_pattern(find(chosen[100], Join)) is Pattern.STR
    assert update_pattern(find(chosen[1_000_000], Join)) is Pattern.WK


def test_the_local_engine_measures_what_explain_then_uses() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATIONS)
    engine.query("SELECT a FROM s [RANGE 1 MINUTE]")
    moments = range(START, START + 20 * SECOND, SECOND // 50)
    stream = [{"ts": at, "a": i % 700, "b": f"b{i % 3}", "v": None} for i, at in enumerate(moments)]
    feed(engine, {"s": stream}, {"s": SCHEMAS["s"]}, [START + 7 * SECOND])

    rate, distinct = engine.session.catalog.statistics.of("s")
    assert rate == pytest.approx(50, rel=0.05)
    assert distinct["a"] == pytest.approx(700, rel=0.25), "estimated from 256 hashes"
    assert distinct["b"] == 3 and distinct["v"] == 1
    (result,) = engine.sql("EXPLAIN SELECT a FROM s [RANGE 10 SECONDS] WHERE b = 'b1'")
    assert result.explanation is not None
    assert result.explanation.plan.estimate.rows == pytest.approx(50 * 10 / 3, rel=0.05)
    assert not result.explanation.plan.estimate.assumed


@st.composite
def movable(draw: st.DrawFn) -> str:
    """Queries in which something can move: joins under DISTINCT and negation, unions, sub-queries, unused columns."""
    slide = draw(st.sampled_from(["", "", " SLIDE 2 SECONDS"]))
    left, right, inner, other = (draw(windows(slide)) for _ in range(4))
    negation = draw(
        st.sampled_from(
            [
                "",
                "NOT EXISTS (SELECT * FROM u {w} WHERE u.a = {x}.a)",
                "NOT EXISTS (SELECT * FROM u {w} WHERE u.a = {x}.a AND u.v < {x}.v)",
                "{x}.a NOT IN (SELECT a FROM u {w})",
                "{x}.v NOT IN (SELECT u.v FROM u {w} WHERE u.b = {x}.b)",
                "NOT EXISTS (SELECT * FROM u {w} WHERE u.b = 'x')",
                "EXISTS (SELECT * FROM u {w} WHERE u.a = {x}.a)",
            ]
        )
    )
    on = draw(st.sampled_from(["s.a = t.a", "s.a = t.a AND s.v <= t.v", "s.b = t.b AND s.a = t.a", "s.v > t.v"]))
    kind = draw(st.sampled_from(["JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))
    below = draw(st.booleans())
    source = f"s {left}"
    if below and negation:
        source = f"(SELECT * FROM s {left} WHERE {negation.format(w=inner, x='s')}) AS s"
    conditions = [draw(predicates(draw(st.sampled_from(["s", "t"])), 1))] if draw(st.integers(0, 3)) == 0 else []
    if negation and not below:
        conditions.append(negation.format(w=inner, x=draw(st.sampled_from(["s", "t"]))))
    if draw(st.integers(0, 3)) == 0:
        conditions.append(f"NOT EXISTS (SELECT * FROM u {other} AS w WHERE w.v = t.v)")
    where = f" WHERE {' AND '.join(f'({c})' for c in conditions)}" if conditions else ""
    body = f"FROM {source} {kind} t {right} ON {on}{where}"
    return draw(
        st.sampled_from(
            [
                f"SELECT DISTINCT s.b {body}",
                f"SELECT DISTINCT s.b, t.b AS c {body}",
                f"SELECT DISTINCT s.a, s.b, s.v, t.a AS d, t.v + 1 AS w {body}",
                f"SELECT s.b, t.v {body}",
                f"SELECT t.b, COUNT(*) AS n, MAX(s.v) AS m {body} GROUP BY t.b",
                f"SELECT FIRST(s.a) AS f, LAST(s.b) AS l {body}",
                f"SELECT q.n FROM (SELECT s.a, t.b, COUNT(*) AS n, SUM(s.v) AS m {body} GROUP BY s.a, t.b) AS q",
                f"SELECT q.b FROM (SELECT DISTINCT s.a, s.b {body}) AS q",
                f"SELECT s.b {body} UNION SELECT b FROM u {inner}",
                f"SELECT q.b FROM (SELECT s.b, t.v {body} UNION ALL SELECT b, v FROM u {inner}) AS q",
            ]
        )
    )


def without_each_rule(plan: Node) -> list[Node]:
    """The plan as written, the plan by all rules, the plans without one rule each, and every alternative."""
    found = [applied(plan, REQUIRED), optimize(plan, STATISTICS).plan]
    for left_out in (*RULES, *FINISHING):
        if left_out not in REQUIRED:
            rules, finishing = (tuple(rule for rule in of if rule is not left_out) for of in (RULES, FINISHING))
            found.append(optimize(plan, STATISTICS, rules, finishing=finishing).plan)
    found += [considered.plan for considered in optimize(plan, STATISTICS).considered]
    found += [candidate.plan for candidate in explore(applied(plan, RULES), ALTERNATIVES)]
    return list(dict.fromkeys(found))


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    query=st.one_of(movable(), movable(), queries()),
    streams=all_streams(),
    cuts=st.lists(st.integers(0, 24), max_size=4),
    chosen=st.lists(st.integers(0, 40), min_size=1, max_size=4),
    order=st.randoms(use_true_random=False),
)
def test_no_rule_changes_an_answer(
    query: str, streams: dict[str, list[Row]], cuts: list[int], chosen: list[int], order: random.Random
) -> None:
    """The plan as written and some of the others, side by side in one engine."""
    engine = planned_engine()
    try:
        plan = compile_query(query, engine.session.catalog)
    except CqlMeaningError:
        assume(False)
    assume(not any(isinstance(node, OutputStream | Table) for node in plan.walk()))
    as_written, *others = without_each_rule(plan)
    plans = [as_written, *order.sample(others, min(PLANS_A_CASE, len(others)))]
    try:
        running = run_plans(engine, query, plans)
    except WindrowError as error:
        event(f"not run: {error.message}")
        assume(False)
    event(f"{len(plans)} plans")
    ordered = {name: stream_order(of, ["a"] if name == "t" else []) for name, of in streams.items()}
    feed(engine, ordered, SCHEMAS, [START + cut * SECOND // 2 for cut in cuts])
    moments = instants(plan, streams, chosen)
    expected = answers(running[0], moments)
    for planned, found in zip(plans[1:], running[1:], strict=True):
        assert answers(found, moments) == expected, sketch(planned)


def test_generated_queries_have_something_to_move() -> None:
    """Otherwise the test above would say nothing of the alternatives."""
    negation = "NOT EXISTS (SELECT * FROM u [NOW] WHERE u.a = s.a)"
    plans = without_each_rule(bound(f"SELECT DISTINCT s.b FROM s [NOW] JOIN t [NOW] ON s.a = t.a WHERE {negation}"))

    assert len(plans) > 10
    assert any(isinstance(node, AntiJoin) and isinstance(node.left, Distinct) for plan in plans for node in plan.walk())
