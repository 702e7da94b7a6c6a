"""EXPLAIN shows what runs: operator by operator, on both engines and on the command line."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.own_aggregates import OWN
from support.plans import DECLARATIONS
from support.queries import STREAMS, queries
from support.shard_runs import ShardsInProcess
from windrow.errors import WindrowError
from windrow.plan.analysis.bounds import bounds_of
from windrow.plan.explain import Distribution, ExplainedNode
from windrow.plan.explain.operators import describe_operator, operator_name
from windrow.plan.nodes import Node
from windrow.plan.running_nodes import Exchange, MergeGroups, SharedSlices
from windrow.runtime.local import LocalEngine
from windrow.session import Session

Shape = tuple[str, str, tuple[Any, ...]]
PERIODIC = "SELECT b, SUM(a) AS n FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY b"
INTERNAL = (
    "SELECT s.a, t.b FROM s [RANGE 5 SECONDS INTERNAL], t [RANGE 9 SECONDS] WHERE s.a = t.a",
    "SELECT s.a FROM s [ROWS 5 INTERNAL], t [ROWS 9] WHERE s.a = t.a",
    "SELECT WSTREAM [ROWS 4] s.a FROM s [RANGE 5 SECONDS INTERNAL] WHERE s.a IN (SELECT a FROM t [ROWS 9])",
)
RESTORED = (
    "SELECT RSTREAM RESTORE b, SUM(a) AS n FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY b",
    "SELECT ISTREAM RESTORE s.a FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS], t [ROWS 9] WHERE s.a = t.a",
    "SELECT a FROM (SELECT RSTREAM RESTORE a FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS]) [ROWS 4] AS q",
)
LOOKED_UP = (
    "SELECT b, SUM(v) AS x FROM s [RANGE 30 SECONDS] GROUP BY b",
    "SELECT b, SUM(v) AS x, MIN(v) AS y FROM s [RANGE 60 SECONDS] GROUP BY b",
)


def shown(node: ExplainedNode) -> Shape:
    return node.operator, node.detail, tuple(map(shown, node.inputs))


def shape(node: Node) -> Shape:
    return operator_name(node), describe_operator(node), tuple(map(shape, node.inputs))


def explained(engine: Any, name: str) -> Shape:
    (result,) = engine.sql(f"EXPLAIN {name}")
    return shown(result.explanation.plan)


def started(engine: Any) -> Any:
    """After the first step: what queries share has been decided."""
    for stream in (*STREAMS, "readings"):
        own = {"ttl": timedelta(seconds=1)} if stream == "readings" else {}
        rows = [{"ts": 1_000_000 * second, "a": 1, "b": "x", "v": 1.0, **own} for second in (1, 2)]
        engine.push(stream, rows)
    engine.step()
    return engine


def local_plans(engine: LocalEngine) -> dict[str, Node]:
    plans = dict(engine._dataflow.plans)
    return plans | {name: engine._running._lookups.plan_of(name) for name in engine._running._lookups.names}


def plans_on_shards(engine: ShardsInProcess) -> dict[str, Node]:
    return {query.name.lower(): query.lookup or query.plan for query in engine.driver.plans.current.queries}


@st.composite
def workloads(draw: st.DrawFn) -> str:
    """Statements: settings, then queries of which some are looked up."""
    optimizer, strategy = draw(st.sampled_from(["on", "on", "off"])), draw(st.sampled_from(["upa", "direct", "nt"]))
    texts = draw(st.lists(queries(), min_size=1, max_size=3)) + draw(st.lists(st.just(PERIODIC), max_size=1))
    texts += draw(st.lists(st.sampled_from(INTERNAL + RESTORED), max_size=1))
    asked = draw(st.lists(st.sampled_from(LOOKED_UP), max_size=2, unique=True))
    created = [f"CREATE QUERY q{number} AS {text}" for number, text in enumerate(texts)]
    created += [f"CREATE QUERY l{number} AS {text} REFRESH ON LOOKUP" for number, text in enumerate(asked)]
    return f"SET strategy = {strategy}; SET optimizer = {optimizer}; {'; '.join(created)}"


@settings(max_examples=100)
@given(workload=workloads(), shards=st.sampled_from([0, 0, 2]))
def test_explain_shows_what_runs(workload: str, shards: int) -> None:
    command = Session(aggregates=OWN, distribution=Distribution(shards) if shards else None)
    command.execute(DECLARATIONS)
    try:
        on_command_line = {found.query: shown(found.plan) for found in command.explain(workload)}
    except WindrowError:
        assume(False)
    engine: Any = ShardsInProcess(shards) if shards else LocalEngine()
    for own in OWN:
        engine.session.catalog.aggregates[own.name] = own
    engine.sql(DECLARATIONS)
    try:
        engine.sql(workload)
    except WindrowError:
        assume(False)
    assert {name: explained(engine, name) for name in on_command_line} == on_command_line
    started(engine)
    running = plans_on_shards(engine) if shards else local_plans(engine)
    assert {name: explained(engine, name) for name in on_command_line} == {n: shape(p) for n, p in running.items()}
    engine.close()


def test_what_is_lowered_is_what_is_shown() -> None:
    """Lowering adds no nodes of its own that say how a plan runs."""
    engine = LocalEngine()
    engine.sql(DECLARATIONS)
    engine.query("SELECT b, FIRST(a) AS x FROM (SELECT ISTREAM a, b FROM s [RANGE 5 SECONDS]) [ROWS 3] AS q GROUP BY b")
    for text in (*INTERNAL, *RESTORED, PERIODIC):
        engine.query(text)
    started(engine)
    planned = {type(node) for plan in engine._dataflow.plans.values() for node in plan.walk()}
    assert {type(operator.plan) for operator in engine._dataflow.operators()} <= planned
    shown = {node for plan in engine._dataflow.plans.values() for node in plan.walk()}
    assert {operator.plan for operator in engine._dataflow.operators()} <= shown
    engine.close()


def test_a_periodic_aggregate_is_shown_with_its_slices() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATIONS)
    engine.sql(f"CREATE QUERY q AS {PERIODIC}")
    (result,) = engine.sql("EXPLAIN q")
    assert result.explanation is not None
    merged = result.explanation.plan.inputs[0]
    assert merged.operator == "MergeGroups" and merged.inputs[0].inputs[0].operator == "SharedSlices"
    assert max(entry.rows for entry in merged.state) == 600, "100 groups in 6 slices, not 60,000 rows of a window"
    engine.close()


@pytest.mark.parametrize(
    ("setting", "exchanges", "is_sliced"), [("strategy = nt", 1, True), ("optimizer = off", 1, False)]
)
def test_settings_hold_on_the_command_line(setting: str, exchanges: int, is_sliced: bool) -> None:
    engine, command = ShardsInProcess(4), Session(distribution=Distribution(4))
    for where in (engine.sql, command.execute):
        where(f"{DECLARATIONS}; SET {setting}")
    (found,) = command.explain(f"CREATE QUERY q AS {PERIODIC}")
    engine.sql(f"CREATE QUERY q AS {PERIODIC}")
    plan = plans_on_shards(started(engine))["q"]
    assert shown(found.plan) == shape(plan)
    assert any(isinstance(node, MergeGroups) for node in plan.walk()) == is_sliced
    assert sum(isinstance(node, Exchange) for node in plan.walk()) >= exchanges
    engine.close()


def test_a_running_query_is_shown_as_it_runs_whatever_is_measured_later() -> None:
    """The one that joins first by the smaller rate would be planned otherwise today."""
    text = "SELECT DISTINCT s.a, t.b FROM s [RANGE 1 MINUTE], t [RANGE 1 MINUTE] WHERE s.a = t.a"
    engine = LocalEngine()
    engine.sql(DECLARATIONS)
    engine.sql(f"CREATE QUERY q AS {text}")
    before = explained(started(engine), "q")
    today = set()
    for distinct in (2.0, 50_000.0):
        for stream in ("s", "t"):
            engine.session.catalog.statistics.record(stream, 1_000.0, {"a": distinct, "b": 10.0})
        today.add(str(shown(engine.session.explain(f"EXPLAIN {text}")[0].plan)))
        assert explained(engine, "q") == before == shape(engine._dataflow.plans["q"])
    assert len(today) == 2, "today's statistics choose"
    assert before[2]
    engine.close()


@pytest.mark.parametrize("shards", [0, 2])
@pytest.mark.parametrize(("at_create", "later"), [("off", "on"), ("on", "off")])
def test_a_query_is_planned_under_the_optimizer_of_its_create(at_create: str, later: str, shards: int) -> None:
    engine: Any = ShardsInProcess(shards) if shards else LocalEngine()
    command = Session(distribution=Distribution(shards) if shards else None)
    for where in (engine.sql, command.execute):
        where(f"{DECLARATIONS}; SET optimizer = {at_create}; CREATE QUERY q AS {PERIODIC}; SET optimizer = {later}")
    before = explained(engine, "q")
    (on_command_line,) = command.explain("EXPLAIN q")
    running = (plans_on_shards if shards else local_plans)(started(engine))["q"]
    assert before == shown(on_command_line.plan) == shape(running) == explained(engine, "q")
    assert any(isinstance(node, SharedSlices) for node in running.walk()) == (at_create == "on")
    engine.close()


@pytest.mark.parametrize(("optimizer", "is_sliced"), [("on", True), ("off", False)])
def test_counters_of_slices_are_shown_where_there_are_slices(optimizer: str, is_sliced: bool) -> None:
    session = Session()
    session.execute(f"{DECLARATIONS}; SET optimizer = {optimizer}")
    (found,) = session.explain("SELECT b, MEDIAN(a) AS m FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY b")
    groups = found.plan.inputs[0]
    assert groups.operator == ("MergeGroups" if is_sliced else "GroupBy")
    assert any("of each slice" in note for note in groups.notes) == is_sliced


@pytest.mark.parametrize("optimizer", ["on", "off"])
def test_what_is_subtracted_is_exact_beside_summaries(optimizer: str) -> None:
    session = Session()
    session.execute(f"{DECLARATIONS}; SET optimizer = {optimizer}")
    text = "SELECT APPROX_COUNT(a, 0.1) AS c, APPROX_MEDIAN(a, 0.1) AS m FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS]"
    plan = session.plan(text)
    (running,) = session.prepare([session.starting("", plan)]).values()
    for bounds in (bounds_of(plan), bounds_of(running)):
        assert bounds == {"c": "exact", "m": "within 10% of all rows in rank"}
