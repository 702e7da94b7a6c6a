"""Punctuations change no answer; they only let the engine keep less."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from support.generated_streams import SECOND, START
from support.local_runs import TIMESTAMP, answers, table_of
from support.own_aggregates import OWN
from support.rows_in_view import Row
from windrow.errors import WindrowError
from windrow.plan.nodes import Stream
from windrow.runtime.local import LocalEngine

DECLARED = """
CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, b STRING, v DOUBLE, last BOOLEAN) TIMESTAMP BY ts SLACK 1 SECOND
{closing};
"""
SCHEMA = pa.schema(
    [("ts", TIMESTAMP), ("k", pa.int64()), ("b", pa.string()), ("v", pa.float64()), ("last", pa.bool_())]
)
QUERIES = (
    "SELECT k, COUNT(*) AS n, SUM(v) AS total, MIN(b) AS least, MEDIAN(v) AS middle FROM s GROUP BY k",
    "SELECT b, k, COUNT(DISTINCT v) AS n, VAR(v) AS spread, AVG(v) AS mean, LAST(b) AS z FROM s GROUP BY b, k",
    "SELECT k, MAX(v) AS best FROM s [SINCE '2026-01-01 00:00:03'] GROUP BY k HAVING COUNT(*) > 1",
    "SELECT s.k, s.v, t.v AS w FROM s, t WHERE s.k = t.k",
    "SELECT t.k, COUNT(*) AS n FROM s, t WHERE s.k = t.k AND s.v <= t.v GROUP BY t.k",
    "SELECT s.k, COUNT(*) AS n FROM s, t WHERE s.k = t.k GROUP BY s.k, s.b",
    "SELECT s.b, t.b AS c FROM s [RANGE 3 SECONDS], t WHERE s.k = t.k",
    "SELECT s.k, t.v FROM s [RANGE 4 SECONDS] JOIN t [PARTITION BY k ROWS 2] ON s.k = t.k",
    "SELECT k, v FROM s [PARTITION BY k ROWS 2]",
    "SELECT k, b, v FROM s [PARTITION BY b, k WHERE v > 0]",
    "SELECT k, SUM(v) AS total FROM s [PARTITION BY k ROWS 3 SLIDE 2 ROWS] GROUP BY k",
    "SELECT DISTINCT k, b FROM s",
    "SELECT q.k, t.b, q.n FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) AS q, t WHERE q.k = t.k",
    "SELECT s.k, t.b FROM s [RANGE 3 s SLIDE 2 s], t [RANGE 3 s SLIDE 2 s] WHERE s.k = t.k",
    "SELECT s.k, t.v FROM s LEFT JOIN t ON s.k = t.k",
    "SELECT o.k, r.v FROM s AS o JOIN (SELECT s.k, t.v FROM s, t WHERE s.k = t.k) AS r ON o.k = r.k",
    "SELECT s.k, t.v FROM s [RANGE FROM 4 s TO 2 s AGO], t WHERE s.k = t.k",
    "SELECT k, b FROM s EXCEPT SELECT k, b FROM t",
)


@st.composite
def punctuated_rows(draw: st.DrawFn) -> list[Row]:
    """Rows a little out of order, in which some keys are closed at a time and do not come afterwards."""
    keys = st.sampled_from([None, 0, 1, 2, 3])
    closed = draw(st.dictionaries(keys, st.integers(0, 20), max_size=4))
    rows: list[Row] = []
    for half in draw(st.lists(st.integers(0, 24), max_size=25)):
        key, b, v = draw(keys), draw(st.sampled_from("xy")), float(draw(st.integers(-2, 5)))
        if half <= closed.get(key, 99):
            rows.append({"ts": START + half * SECOND // 2, "k": key, "b": b, "v": v, "last": None})
    for key, half in closed.items():
        rows.append({"ts": START + half * SECOND // 2, "k": key, "b": None, "v": None, "last": True})
    delays = {id(row): draw(st.sampled_from([0, 0, SECOND])) for row in rows}
    return sorted(rows, key=lambda row: row["ts"] + delays[id(row)])


def run(closing: str, query: str, streams: dict[str, list[Row]], chunk: int, strategy: str) -> tuple[list[Any], int]:
    """The answers over time, and what is kept in the end; without a clause the punctuations are left out."""
    engine = LocalEngine()
    engine.sql(f"SET strategy = {strategy}; {''.join(DECLARED.format(name=n, closing=closing) for n in streams)}")
    running = engine.query(query)
    for first in range(0, max(map(len, streams.values()), default=0), chunk):
        for name, rows in streams.items():
            some = [row for row in rows[first : first + chunk] if closing or not row["last"]]
            engine.push(name, table_of(some, SCHEMA))
        engine.step()
    for name in streams:
        engine.end(name)
    engine.step()
    status = engine.status()
    read = {node.name for node in running.plan.walk() if isinstance(node, Stream)}
    assert not any(of["late"] or of["rejected"] for name, of in status["streams"].items() if name in read)
    return answers(running, [START + half * SECOND // 2 for half in range(60)]), status["state_rows"]


@settings(max_examples=150)
@given(
    query=st.sampled_from(QUERIES),
    streams=st.fixed_dictionaries({"s": punctuated_rows(), "t": punctuated_rows()}),
    chunk=st.sampled_from([1, 3, 100]),
    strategy=st.sampled_from(["upa", "direct", "nt"]),
)
def test_same_answers_and_not_more_state(query: str, streams: dict[str, list[Row]], chunk: int, strategy: str) -> None:
    without, more = run("", query, streams, chunk, strategy)
    found, kept = run("PUNCTUATION WHERE last BY k", query, streams, chunk, strategy)
    assert found == without
    assert kept <= more
    event("less is kept" if kept < more else "as much is kept")


@pytest.mark.parametrize("strategy", ["upa", "direct", "nt"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, COUNT(*) AS n, MEDIAN(v) AS middle FROM s GROUP BY k",
        "SELECT k, TOP(2, b) AS t, SQUARES(v) AS q, SPAN(v) AS w FROM s GROUP BY k",
        "SELECT s.v, t.v AS w FROM s, t WHERE s.k = t.k",
        "SELECT s.k, COUNT(*) AS n FROM s, t WHERE s.k = t.k GROUP BY s.k",
        "SELECT k, v FROM s [PARTITION BY k ROWS 2]",
    ],
)
def test_state_follows_the_keys_that_are_open(query: str, strategy: str) -> None:
    """One key after the other comes, has three rows, and is closed."""
    engine = LocalEngine(aggregates=OWN)
    closing = "PUNCTUATION WHERE last BY k"
    engine.sql(f"SET strategy = {strategy}; {''.join(DECLARED.format(name=n, closing=closing) for n in 'st')}")
    engine.query(query)
    kept = []
    for key in range(40):
        times = [START + (4 * key + n) * SECOND for n in range(4)]
        rows = [{"ts": time, "k": key, "b": "x", "v": 1.0, "last": n == 3} for n, time in enumerate(times)]
        for name in "st":
            engine.push(name, table_of(rows, SCHEMA))
        engine.step()
        kept.append(engine.status()["state_rows"])
    assert max(kept[2:]) <= 2 * max(kept[:3])
    assert max(kept) < 25


def test_punctuations_from_python() -> None:
    engine = LocalEngine()
    engine.sql(DECLARED.format(name="s", closing="PUNCTUATION BY k"))
    engine.query("SELECT k, COUNT(*) AS n FROM s GROUP BY k ORDER BY k", name="counts")
    engine.push("s", [{"ts": START + n * SECOND, "k": n % 2} for n in range(6)])
    engine.punctuate("s", K=0)
    engine.punctuate("s", before=START + 6 * SECOND)
    engine.step()
    assert engine.watermark == START + 6 * SECOND
    assert engine["counts"].answer().to_pylist() == [{"k": 0, "n": 3}, {"k": 1, "n": 3}]
    assert engine.status()["state_rows"] == 1
    engine.push("s", [{"ts": START + 6 * SECOND, "k": 0}, {"ts": START + 7 * SECOND, "k": 1}])
    engine.punctuate("s", before="2026-01-01 00:00:08")
    engine.step()
    assert engine["counts"].answer().to_pylist() == [{"k": 0, "n": 3}, {"k": 1, "n": 4}]
    rejected = engine.rejected("s")
    assert rejected is not None
    assert rejected.select(["k", "_reason"]).to_pylist() == [{"k": 0, "_reason": "a punctuation has closed its k"}]
    assert engine.status()["streams"]["s"]["punctuations"] == 3


@pytest.mark.parametrize(
    ("stream", "says", "message"),
    [
        ("s", {}, "a punctuation says what will not come any more"),
        ("s", {"b": "x"}, "b is not what a punctuation of s closes"),
        ("s", {"k": "many"}, "'many' is not BIGINT"),
        ("t", {"k": 1}, "k is not what a punctuation of t closes"),
        ("nowhere", {"k": 1}, "there is no stream nowhere"),
    ],
)
def test_punctuations_that_say_nothing(stream: str, says: dict[str, Any], message: str) -> None:
    engine = LocalEngine()
    engine.sql(DECLARED.format(name="s", closing="PUNCTUATION BY k") + DECLARED.format(name="t", closing=""))
    with pytest.raises(WindrowError, match=message):
        engine.punctuate(stream, **says)


def test_declarations_are_kept_in_a_folder(tmp_path: Path) -> None:
    clauses = "PUNCTUATION WHERE last OR b = 'it''s' BY k PUNCTUATION WHERE v IS NULL"
    engine = LocalEngine(str(tmp_path))
    engine.sql(DECLARED.format(name="s", closing=clauses))
    engine.query("SELECT k, v FROM s", name="all_of_it")
    described = str(engine.sql("DESCRIBE s")[0])
    engine.close()

    again = LocalEngine(str(tmp_path))
    assert str(again.sql("DESCRIBE s")[0]) == described
    assert "closed by punctuations" in described
    again.push("s", [{"ts": START, "k": 1, "v": 1.0}, {"ts": START + SECOND, "k": 1, "v": 2.0, "b": "it's"}])
    again.push("s", [{"ts": START + 5 * SECOND, "k": 1}])
    again.step()
    assert again["all_of_it"].answer().to_pylist() == [{"k": 1, "v": 1.0}]
    assert again.status()["streams"]["s"]["punctuations"] == 2
    assert again.watermark == START + 5 * SECOND
    again.close()


def test_explain_says_what_frees_state() -> None:
    engine = LocalEngine()
    engine.sql("".join(DECLARED.format(name=n, closing="PUNCTUATION BY k") for n in "st"))
    text = str(engine.sql("EXPLAIN SELECT s.k, COUNT(*) AS n FROM s, t WHERE s.k = t.k GROUP BY s.k")[0])
    assert "Stream s, punctuated by k" in text
    assert "keeps left in append-only list, until t.k is closed" in text
    assert "keeps groups in one row a group, ~100 rows, until s.k is closed" in text
    assert "grows for ever" not in text
