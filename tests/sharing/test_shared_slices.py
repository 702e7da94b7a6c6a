"""Queries that start together and share slices: each gives what it gives alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.generated_streams import START
from support.local_runs import answers, feed
from support.rows_in_view import Row
from support.shard_runs import ShardsInProcess
from support.sub_windows import DECLARATION, HALF, SCHEMA, moments_of, streams
from windrow.plan.running_nodes import SharedSlices
from windrow.plan.strategy import Strategy
from windrow.runtime.local import LocalEngine
from windrow.sharing.starting import RunningQueryPlan, StartingQuery

lists = st.sampled_from(
    ["COUNT(*) AS n, AVG(x) AS a", "MAX(x) AS m, SUM(w) AS t", "SUM(w) AS t, AVG(w) AS a, MIN(y) AS y, COUNT(y) AS n"]
)


@st.composite
def windows(draw: st.DrawFn) -> str:
    """Half seconds; slides that divide the length, and some that do not."""
    slide, times, off = draw(st.integers(1, 4)), draw(st.integers(1, 5)), draw(st.sampled_from([0, 0, 0, 1]))
    ago = draw(st.sampled_from([0, 0, slide]))
    length = slide * times + off + ago
    extent = (
        f"FROM {length * 500} MILLISECONDS TO {ago * 500} MILLISECONDS AGO" if ago else f"{length * 500} MILLISECONDS"
    )
    return f"[RANGE {extent} SLIDE {slide * 500} MILLISECONDS]"


def run(
    texts: list[str], rows: list[Row], cuts: list[int], strategy: str, moments: list[int], shards: int = 0
) -> list[list[Counter[Any]]]:
    engine: Any = ShardsInProcess(shards, forgetful=True) if shards else LocalEngine()
    engine.sql(f"{DECLARATION} SET strategy = {strategy}")
    queries = [engine.query(text, name=f"q{number}") for number, text in enumerate(texts)]
    feed(engine, {"s": rows}, {"s": SCHEMA}, [START + cut * HALF for cut in cuts])
    found = [answers(query, moments) for query in queries]
    engine.close()
    return found


@settings(max_examples=120)
@given(
    rows=streams(most=60),
    asked=st.lists(st.tuples(windows(), lists), min_size=1, max_size=5),
    keys=st.sampled_from(["", "k"]),
    selected=st.booleans(),
    cuts=st.lists(st.integers(0, 24), max_size=6),
    strategy=st.sampled_from(["upa", "direct", "nt"]),
    shards=st.sampled_from([0, 0, 1, 3]),
)
def test_each_gives_what_it_gives_alone(
    rows: list[Row],
    asked: list[tuple[str, str]],
    keys: str,
    selected: bool,
    cuts: list[int],
    strategy: str,
    shards: int,
) -> None:
    key, group = ("k, ", " GROUP BY k") if keys else ("", "")
    where = " WHERE x <> 1" if selected else ""
    source = "(SELECT ts, k, x, y, CAST(x AS DOUBLE) / 3 AS w FROM s {}) AS q{}"
    texts = [
        f"SELECT {key}{chosen} FROM {source.format(window, number)}{where}{group}"
        for number, (window, chosen) in enumerate(asked)
    ]
    moments = moments_of(rows)
    together = run(texts, rows, cuts, strategy, moments, shards)
    assert together == [run([text], rows, [], "upa", moments)[0] for text in texts]


@settings(max_examples=30)
@given(
    rows=streams(most=40),
    kind=st.sampled_from(["ISTREAM", "RSTREAM"]),
    strategy=st.sampled_from(["upa", "direct", "nt"]),
    shards=st.sampled_from([0, 0, 3]),
)
def test_results_between_refreshes_are_restored_beside_slices(
    rows: list[Row], kind: str, strategy: str, shards: int
) -> None:
    """Slices of refreshes do not show what happens between these."""
    restored = f"SELECT {kind} RESTORE k, SUM(x) AS t FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k"
    others = [f"SELECT k, SUM(x) AS t FROM s [RANGE {n} SECONDS SLIDE 2 SECONDS] GROUP BY k" for n in (6, 8)]
    moments = moments_of(rows)
    beside = run([restored, *others], rows, [], strategy, moments, shards)[0]
    assert beside == run([restored], rows, [], "upa", moments)[0]


def test_slices_of_a_width_are_made_from_the_widest_that_divide_it() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    asked = [
        "60 SECONDS SLIDE 10",
        "40 SECONDS SLIDE 20",
        "60 SECONDS SLIDE 15",
        "5 MINUTES SLIDE 60",
        "61 SECONDS SLIDE 10",
    ]
    texts = [f"SELECT k, COUNT(*) AS n{i} FROM s [RANGE {one} SECONDS] GROUP BY k" for i, one in enumerate(asked)]
    session = engine.session
    queries = [session.starting(f"q{number}", session.plan(text)) for number, text in enumerate(texts)]

    def widths(queries: list[StartingQuery]) -> list[list[int]]:
        plans = session.prepare(queries).values()
        return [[node.width // 1_000_000 for node in plan.walk() if isinstance(node, SharedSlices)] for plan in plans]

    assert widths(queries) == [[10], [20, 10], [15], [60, 20, 10], []]
    assert widths(queries[:1]) == [[10]], "a standing form: whoever comes later finds it"


def slices_of(text: str, *others: str) -> list[SharedSlices]:
    """Those of a query that comes when others run."""
    session = LocalEngine().session
    session.execute(DECLARATION)
    running: list[RunningQueryPlan] = []
    for number, one in enumerate((*others, text)):
        (plan,) = session.prepare([session.starting(f"q{number}", session.plan(one))], running=running).values()
        running.append(RunningQueryPlan(plan, Strategy.UPA))
    return [node for node in plan.walk() if isinstance(node, SharedSlices)]


OFTEN = "SELECT k, AVG(x) AS a, MAX(x) AS m FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY k"


@pytest.mark.parametrize(
    ("text", "widths"),
    [
        ("SELECT k, SUM(x) AS t FROM s [RANGE 5 MINUTES SLIDE 10 SECONDS] GROUP BY k", [10]),
        ("SELECT k AS g, COUNT(x) AS n FROM s [RANGE 1 HOUR SLIDE 10 SECONDS] AS other GROUP BY k", [10]),
        ("SELECT k, MAX(x) AS m FROM s [RANGE 5 MINUTES SLIDE 1 MINUTE] GROUP BY k", [60, 10]),
    ],
)
def test_a_query_that_comes_later_is_written_over_slices_that_run(text: str, widths: list[int]) -> None:
    (running,) = slices_of(OFTEN)
    found = slices_of(text, OFTEN)
    assert [node.width // 1_000_000 for node in found] == widths
    assert found[-1] == running


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, MIN(x) AS m FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY k",  # not among the partials
        "SELECT k, COUNT(*) AS n FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY k",  # nulls are not counted there
        "SELECT k, MAX(x) AS m FROM s [RANGE 1 MINUTE SLIDE 15 SECONDS] GROUP BY k",  # 10 seconds do not divide 15
        "SELECT k, MAX(x) AS m FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] WHERE x > 1 GROUP BY k",  # other rows
        "SELECT y, MAX(x) AS m FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY y",  # other groups
        "SELECT k, MAX(x) AS m FROM s [RANGE 1 MINUTE] GROUP BY k",  # every change is told
        "SELECT k, MAX(x) AS m FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS INTERNAL] GROUP BY k",
        "SELECT k, MEDIAN(x) AS m FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY k",  # counters, not partials
    ],
)
def test_slices_that_run_do_not_serve(text: str) -> None:
    assert not set(slices_of(OFTEN)) & set(slices_of(text, OFTEN))


def test_a_sum_and_its_count_are_kept_once() -> None:
    text = "SELECT SUM(x) AS t, AVG(x) AS a, COUNT(x) AS n, MAX(x) AS m FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS]"
    (slices,) = slices_of(text)
    assert [field.name for field in slices.partials] == ["MAX(s.x) 0", "SUM(s.x) 0", "SUM(s.x) 1"]
