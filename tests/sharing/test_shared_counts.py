"""How often rows are sent and how much keeps state, for many queries over one stream, counted with the shards' code."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from support.shard_runs import ShardsInProcess
from windrow.batch import Dictionary
from windrow.operators.joins.join import Join
from windrow.runtime.local import LocalEngine
from windrow.runtime.shards.graph import Graph
from windrow.state.snapshot import NoState

STREAMS = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, j BIGINT, x BIGINT) TIMESTAMP BY ts;
    CREATE STREAM t (ts TIMESTAMP, k STRING, j BIGINT, x BIGINT) TIMESTAMP BY ts;
"""
MANY = 20


class Counted(NamedTuple):
    """Exchanges of rows as they are read, operators that keep something, and joins among these."""

    exchanges: int
    stateful: int
    joins: int = 0


def counted(queries: list[str], strategy: str = "upa") -> Counted:
    """Of queries that are created together."""
    engine = ShardsInProcess(2)
    engine.sql(f"{STREAMS} SET strategy = {strategy};")
    for text in queries:
        engine.query(text)
    engine.step()
    plan = engine.driver.plans.current
    graph = Graph(plan, Dictionary())
    operators = [node for stage in range(1, plan.stages + 1) for node in graph.states(stage).values()]
    stateful = [node for node in operators if not isinstance(node.state, NoState)]
    engine.close()
    return Counted(len(graph.at_stage(0)), len(stateful), sum(isinstance(node.operator, Join) for node in stateful))


def test_rows_of_continuous_windows_are_sent_once() -> None:
    counts = counted([f"SELECT k, SUM(x) AS n FROM s [RANGE {n + 1} MINUTES] GROUP BY k" for n in range(MANY)])
    assert counts.exchanges == 1


@pytest.mark.parametrize("strategy", ["upa", "direct", "nt"])
def test_rows_of_joins_are_sent_once_a_side(strategy: str) -> None:
    text = "SELECT s.x, t.x AS y FROM s [RANGE {} MINUTES], t [RANGE 5 MINUTES] WHERE s.j = t.j"
    assert counted([text.format(n + 1) for n in range(MANY)], strategy).exchanges == 2


def test_negative_tuples_are_made_where_rows_arrive() -> None:
    """Windows keep rows under NT, but rows go straight to where they meet."""
    assert counted(["SELECT k, SUM(x) AS n FROM s [RANGE 1 MINUTE] GROUP BY k"], "nt").exchanges == 1
    engine = ShardsInProcess(2)
    engine.sql(f"{STREAMS} SET strategy = nt;")
    engine.query("SELECT k, SUM(x) AS n FROM s [RANGE 1 MINUTE] GROUP BY k")
    engine.step()
    assert engine.driver.plans.current.stages == 1
    engine.close()


def test_windows_that_count_rows_share_no_exchange_with_other_partitions() -> None:
    texts = [f"SELECT * FROM s [PARTITION BY {key} ROWS 5]" for key in ("k", "j")]
    assert counted(texts).exchanges == 2


def test_four_queries_over_one_join_are_one_join() -> None:
    text = "SELECT {} FROM s [RANGE 1 MINUTE], t [RANGE 5 MINUTES] WHERE s.j = t.j{}"
    grouped = "s.k, COUNT(*) AS n", " GROUP BY s.k"
    counts = counted([text.format(*one) for one in (("s.x", ""), ("t.x", ""), ("s.k, t.k AS l", ""), grouped)])
    assert (counts.exchanges, counts.joins) == (2, 1)


@pytest.mark.parametrize("shards", [0, 2])
def test_what_is_shared_is_listed(shards: int) -> None:
    engine: Any = ShardsInProcess(shards) if shards else LocalEngine()
    engine.sql(STREAMS)
    for number, length in enumerate((1, 2)):
        text = f"SELECT k, SUM(x) AS n FROM s [RANGE {length} MINUTES SLIDE 1 MINUTE] GROUP BY k"
        engine.query(text, name=f"q{number}")
    engine.push("s", [{"ts": 1, "k": "a", "j": 1, "x": 1}])
    engine.step()
    (listed,) = engine.sql("SHOW SHARING")
    assert listed.columns == ("part", "rule", "queries", "since")
    slices = "SharedSlices s.k computes SUM(s.x) in slices of 1 MINUTE"
    sent = ("Exchange BY s.k", "rows sent once", "q0, q1", "the first row")
    assert listed.rows == ((sent,) if shards else ((slices, "slices of one width", "q0, q1", "the first row"),))
    (explained,) = engine.sql("EXPLAIN q0")
    assert f"shared with q1: {'Exchange BY s.k (rows sent once)' if shards else slices}" in explained.message
    engine.sql("DROP QUERY q1")
    engine.push("s", [{"ts": 2, "k": "a", "j": 1, "x": 1}])
    engine.step()
    assert engine.sql("SHOW SHARING")[0].rows == ()
    engine.close()
