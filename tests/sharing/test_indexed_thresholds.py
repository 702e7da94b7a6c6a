"""Periodic queries with HAVING that share a collective index give what SQL gives, and what each gives alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.generated_lookups import bounds
from support.generated_streams import START
from support.local_runs import answers, feed
from support.rows_in_view import Row
from support.shard_runs import ShardsInProcess
from support.sub_windows import DECLARATION, HALF, SCHEMA, moments_of, streams
from support.text_oracle import answer_at
from windrow.plan.running_nodes import PeriodicLookup
from windrow.runtime.local import LocalEngine
from windrow.sharing import indexed_thresholds

lists = st.sampled_from(["", ", SUM(x) AS t", ", COUNT(*) AS n, MAX(x) AS m", ", AVG(x) AS a, MEDIAN(x) AS h"])


@st.composite
def queries(draw: st.DrawFn) -> str:
    length, slide = draw(st.integers(1, 10)), draw(st.integers(1, 4))
    window = f"[RANGE {length * 500} MILLISECONDS SLIDE {slide * 500} MILLISECONDS]"
    where = draw(st.sampled_from(["", "", " WHERE x <> 1"]))
    return f"SELECT k{draw(lists)} FROM s {window}{where} GROUP BY k HAVING {draw(bounds)}"


@settings(max_examples=150)
@given(
    rows=streams(most=60),
    asked=st.lists(queries(), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 24), max_size=6),
    strategy=st.sampled_from(["upa", "upa", "direct", "nt"]),
    shards=st.sampled_from([0, 0, 1, 3]),
)
def test_what_sql_gives(rows: list[Row], asked: list[str], cuts: list[int], strategy: str, shards: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexed_thresholds, "is_indexed", lambda *rates: (True, "always"))
        engine: Any = ShardsInProcess(shards, forgetful=True) if shards else LocalEngine()
        engine.sql(f"{DECLARATION} SET strategy = {strategy}")
        queries = [engine.query(text, name=f"q{number}") for number, text in enumerate(asked)]
        feed(engine, {"s": rows}, {"s": SCHEMA}, [START + cut * HALF for cut in cuts])
        moments = moments_of(rows)
        if not shards and strategy != "nt":
            running = [node for plan in engine._dataflow.plans.values() for node in plan.walk()]
            indexed = sum("MIN(x) > 1" not in text for text in asked)  # that one only a look at every group tells
            assert sum(isinstance(node, PeriodicLookup) for node in running) == indexed
        for text, query in zip(asked, queries, strict=True):
            found = answers(query, moments)
            for moment, answer in zip(moments, found, strict=True):
                assert answer == answer_at(text, {"s": rows}, {"s": SCHEMA}, moment), (text, moment)
        engine.close()


def test_the_planner_shares_an_index_when_many_ask() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    text = "SELECT k FROM s [RANGE {} SECONDS SLIDE 1 SECOND] GROUP BY k HAVING SUM(x) > {}"
    statistics = engine.session.catalog.statistics
    statistics.record("s", 2_000.0, {"k": 5_000.0})

    def shared(windows: int, queries: int) -> list[PeriodicLookup]:
        plans = [engine.session.plan(text.format(60 + n % windows, n)) for n in range(queries)]
        starting = [engine.session.starting(f"q{number}", plan) for number, plan in enumerate(plans)]
        found = engine.session.prepare(starting).values()
        return [node for plan in found for node in plan.walk() if isinstance(node, PeriodicLookup)]

    assert not shared(windows=3, queries=3), "the index costs more than three queries that look at all groups"
    assert not shared(windows=1, queries=100), "with the same window all look at the same groups"
    many = shared(windows=100, queries=100)
    assert len(many) == 100 and len({node.input for node in many}) == 1
