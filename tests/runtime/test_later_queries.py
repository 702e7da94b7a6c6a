"""Queries that come later: they take part in what runs, and say since when they have their rows.

From `complete_from` on an answer is that of the same query in an engine of its own that had it from the beginning;
before, that of one which got the rows since `covered_from`.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from windrow.runtime.local import LocalEngine
from windrow.units import BEGINNING, FOREVER, SECOND

STREAMS = """
CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;
CREATE STREAM u (ts TIMESTAMP, k BIGINT, w BIGINT) TIMESTAMP BY ts;
"""
TEXTS = (
    "SELECT k, v FROM s [RANGE 5 SECONDS]",
    "SELECT k, v FROM s [RANGE 9 SECONDS] WHERE v > 2",
    "SELECT DISTINCT k FROM s [RANGE 5 SECONDS]",
    "SELECT DISTINCT k FROM s [RANGE 9 SECONDS] WHERE v > 2",
    "SELECT k, COUNT(*) AS n, SUM(v) AS t FROM s [RANGE 5 SECONDS] GROUP BY k",
    "SELECT COUNT(*) AS n, MAX(v) AS m FROM s [RANGE 9 SECONDS]",
    "SELECT k, MAX(v) AS m FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "SELECT k, COUNT(*) AS n FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE v > 2 GROUP BY k",
    "SELECT k, v FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS]",
    "SELECT k, v FROM s [RANGE FROM 6 SECONDS TO 2 SECONDS AGO]",
    "SELECT v FROM s [ROWS 3]",
    "SELECT k, v FROM s [PARTITION BY k ROWS 2]",
    "SELECT k, COUNT(*) AS n FROM s [ROWS 4] GROUP BY k",
    "SELECT s.v, u.w FROM s [RANGE 5 SECONDS], u [RANGE 4 SECONDS] WHERE s.k = u.k",
    "SELECT s.v, u.w FROM s [RANGE 5 SECONDS] LEFT JOIN u [RANGE 4 SECONDS] ON s.k = u.k",
    "SELECT k, v FROM s [RANGE 5 SECONDS] WHERE NOT EXISTS (SELECT 1 FROM u [RANGE 4 SECONDS] WHERE u.k = s.k)",
    "SELECT k, v FROM s [RANGE 5 SECONDS] WHERE k IN (SELECT k FROM u [RANGE 4 SECONDS])",
    "SELECT k FROM s [RANGE 5 SECONDS] EXCEPT ALL SELECT k FROM u [RANGE 4 SECONDS]",
    "SELECT k, v FROM s [RANGE 5 SECONDS] ORDER BY v DESC LIMIT 2",
    "SELECT k, COUNT(*) AS n FROM s GROUP BY k",
    "SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k) WHERE n > 1",
)
WINDOWS = (
    "CREATE WINDOW w AS SELECT k, v FROM s [RANGE 9 SECONDS]",
    "CREATE WINDOW w AS SELECT k, v FROM s [RANGE 9 SECONDS] WHERE v > 2",
    "CREATE WINDOW w AS SELECT v FROM s [ROWS 5]",
    "CREATE WINDOW w AS SELECT v FROM s [PARTITION BY k ROWS 3]",
    "CREATE WINDOW w AS SELECT k FROM u [RANGE 20 SECONDS]",
)
Row = tuple[str, int, int, int]  # stream, time, key, value
steps = st.lists(
    st.tuples(st.sampled_from("ssu"), st.integers(0, 3), st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=6
)
acts = st.lists(st.tuples(st.sampled_from(["create", "create", "drop", "window"]), st.integers(0, 99)), max_size=4)
workloads = st.lists(st.tuples(acts, steps), min_size=2, max_size=7)


def an_engine(strategy: str) -> LocalEngine:
    engine = windrow.connect(local=True)
    assert isinstance(engine, LocalEngine)
    engine.sql(f"{STREAMS} SET strategy = {strategy}")
    return engine


def push(engine: LocalEngine, rows: list[Row]) -> None:
    for stream in "su":
        own = [row for row in rows if row[0] == stream]
        value = "v" if stream == "s" else "w"
        if own:
            engine.push(stream, [{"ts": at * SECOND, "k": k, value: v} for _, at, k, v in own])
    engine.step()


def rows_of(table: Any) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def covered(engine: LocalEngine, name: str, stream: str) -> int:
    """Since when a query has the rows of a stream."""
    coverage = engine._running.by_name[name].coverage
    assert coverage is not None
    return max((w.covered_from for w in coverage.windows if w.window.startswith(stream)), default=int(BEGINNING))


@settings(max_examples=150, deadline=None)
@given(workload=workloads, strategy=st.sampled_from(["upa", "nt", "direct"]))
def test_answers_are_those_over_the_rows_since_covered_from(workload, strategy):
    engine = an_engine(strategy)
    clock, given_rows, running, number, has_window = 0, [], {}, 0, False
    for changes, rows in workload:
        for act, choice in changes:
            if act == "create":
                number += 1
                running[f"q{number}"] = TEXTS[choice % len(TEXTS)]
                engine.sql(f"CREATE QUERY q{number} AS {running[f'q{number}']}")
            elif act == "drop" and running:
                name = sorted(running)[choice % len(running)]
                del running[name]
                engine.sql(f"DROP QUERY {name}")
            elif act == "window":
                engine.sql("DROP WINDOW w" if has_window else WINDOWS[choice % len(WINDOWS)])
                has_window = not has_window
        batch: list[Row] = []
        for stream, later, k, v in rows:
            clock += later
            batch.append((stream, clock, k, v))
        given_rows.append(batch)
        push(engine, batch)
        if len(given_rows) >= len(workload) - 1:
            for name, text in running.items():
                check(engine, name, text, given_rows, strategy)
    for name in running:
        engine.sql(f"DROP QUERY {name}")
    assert engine._dataflow.state_rows() == 0
    assert not engine._dataflow._lowerings and not engine._dataflow._readers


def check(engine: LocalEngine, name: str, text: str, given_rows: list[list[Row]], strategy: str) -> None:
    query: Any = engine._running.by_name[name]
    if query.coverage is None or query.watermark <= query._reader.start:
        return
    whole = query.coverage.complete_from <= query.watermark - 1
    alone = an_engine(strategy)
    always = alone.query(text)
    for rows in given_rows:
        since = {stream: BEGINNING if whole else covered(engine, name, stream) for stream in "su"}
        push(alone, [row for row in rows if row[1] * SECOND >= since[row[0]]])
    instant = query.watermark - 1
    if not given_rows or instant < 0:
        return
    assert rows_of(query.answer(instant)) == rows_of(always.answer(instant)), (text, query.coverage, instant)


def test_identical_queries_have_the_operators_of_one() -> None:
    engine = an_engine("upa")
    text = TEXTS[13]
    engine.sql(f"CREATE QUERY q0 AS {text}")
    sizes = set()
    for number in range(1, 21):
        push(engine, [("s", number, number % 2, 1), ("u", number, 1, 2)])
        sizes.add(len(engine._dataflow.operators()))
        engine.sql(f"CREATE QUERY q{number} AS {text}")
    push(engine, [("s", 30, 1, 1), ("u", 30, 1, 2)])
    assert {*sizes, len(engine._dataflow.operators())} == {len(engine._dataflow.operators())}
    answers = {tuple(rows_of(query.answer())) for query in engine._running.by_name.values()}
    assert len(answers) == 1
    assert all(query.complete_from is None for query in engine._running.by_name.values())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.v, b.v AS other FROM s [RANGE 8 SECONDS] AS a, s [RANGE 3 SECONDS] AS b WHERE a.k = b.k",
        "SELECT DISTINCT k FROM w",
        "SELECT k, v FROM s [ROWS 4]",
        "SELECT k, SUM(v) AS t FROM s [RANGE 5 SECONDS] GROUP BY k",
        "SELECT k, SUM(v) AS t FROM s [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY k",
    ],
)
def test_a_declared_window_makes_queries_complete_at_once(text: str) -> None:
    engine, always = an_engine("upa"), an_engine("upa")
    for one in (engine, always):
        one.sql("CREATE WINDOW w AS SELECT k, v FROM s [RANGE 9 SECONDS]")
    whole = always.query(text)
    rows: list[Row] = [("s", at, at % 3, at) for at in range(30)]
    push(engine, rows)
    push(always, rows)
    later = engine.query(text)
    engine.step()
    assert (later.answer().num_rows and later.complete_from is not None) or later.covered_from is None
    for at in range(30, 40):
        push(engine, [("s", at, at % 3, at)])
        push(always, [("s", at, at % 3, at)])
        assert rows_of(later.answer()) == rows_of(whole.answer())
    assert later.complete_from is None or later.complete_from <= 30 * SECOND


def test_a_longer_window_is_complete_one_range_later() -> None:
    engine = an_engine("upa")
    engine.sql("CREATE WINDOW w AS SELECT k, v FROM s [RANGE 9 SECONDS]")
    push(engine, [("s", at, 1, at) for at in range(20)])
    query = engine.query("SELECT COUNT(*) AS n FROM s [RANGE 12 SECONDS]")
    engine.step()
    assert query.covered_from == 19 * SECOND
    assert query.complete_from == 31 * SECOND
    never = engine.query("SELECT COUNT(*) AS n FROM s")
    engine.step()
    assert never.complete_from == FOREVER


def test_thousands_of_queries_come_and_go_without_a_trace() -> None:
    engine = an_engine("upa")
    engine.sql("CREATE QUERY stays AS SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k")
    push(engine, [("s", 1, 1, 1)])
    sizes = set()
    for round_ in range(40):
        for number in range(25):
            engine.sql(f"CREATE QUERY q{number} AS {TEXTS[number % len(TEXTS)]}")
        push(engine, [("s", 2 + round_, 1, 1), ("u", 2 + round_, 1, 1)])
        for number in range(25):
            engine.sql(f"DROP QUERY q{number}")
        flow = engine._dataflow
        sizes.add((len(flow.operators()), len(flow._readers), sum(map(len, flow._lowerings.values()))))
    assert len(sizes) == 1


def test_a_query_that_starts_now_has_rows_from_its_creation_on() -> None:
    engine = an_engine("upa")
    text = "SELECT COUNT(*) AS n FROM s [RANGE 1 HOUR]"
    engine.sql(f"CREATE QUERY early AS {text}")
    push(engine, [("s", at, 1, at) for at in range(10)])
    engine.sql(f"CREATE QUERY late AS {text}; CREATE QUERY fresh AS {text} STARTING NOW")
    push(engine, [("s", 11, 1, 1), ("s", 12, 1, 1)])
    counts = {name: query.answer().to_pylist()[0]["n"] for name, query in engine._running.by_name.items()}
    assert counts == {"early": 11, "late": 11, "fresh": 2}
    assert engine.status()["complete_from"] == {"fresh": "1970-01-01 01:00:09"}
    assert "complete from 1970-01-01 01:00:09" in str(engine.sql("EXPLAIN fresh")[0])
    assert [row[3] for row in engine.sql("SHOW QUERIES")[0].rows] == ["", "", "1970-01-01 01:00:09"]


def test_queries_leave_when_their_time_has_come() -> None:
    engine = an_engine("upa")
    text = "SELECT v FROM s [RANGE 1 HOUR]"
    engine.sql(f"CREATE QUERY a AS {text}; CREATE QUERY b AS {text} FOR 5 SECONDS")
    engine.sql(f"CREATE QUERY c AS {text} UNTIL TIMESTAMP '1970-01-01 00:00:08'")
    seen: dict[str, list[int]] = {}
    for name in "abc":
        values = seen.setdefault(name, [])
        engine._running.by_name[name].subscribe(lambda table, to=values: to.extend(table.column("v").to_pylist()))
    for at in range(1, 13):
        push(engine, [("s", at, 1, at)])
    assert seen == {"a": list(range(1, 12)), "b": list(range(1, 6)), "c": list(range(1, 8))}
    assert engine.status()["queries"] == ["a"]


def test_a_query_says_its_first_answer_first() -> None:
    engine = an_engine("upa")
    text = "SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k"
    engine.sql(f"CREATE QUERY early AS {text}")
    push(engine, [("s", at, 1, at) for at in range(8)])
    late, stream = engine.query(text), engine.query("SELECT ISTREAM v FROM s [RANGE 5 SECONDS]")
    engine.step()
    assert late.answer().to_pylist() == [{"k": 1, "n": 5}]
    push(engine, [("s", 8, 1, 8)])
    first = late.changes().to_pylist()[0]
    assert (first["n"], first["_ts"].timestamp()) == (5, 7)
    assert stream.changes().column("v").to_pylist() == [7]
