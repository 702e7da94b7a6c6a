"""A SELECT without a name is answered at once, from tables and from the answers of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from support.shard_runs import ShardsInProcess
from support.spark_on_duckdb import bag, run
from windrow.errors import WindrowError
from windrow.runtime.engine import Engine

STAGE = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;
CREATE TABLE t (k STRING, name STRING);
CREATE QUERY q AS SELECT k, SUM(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k;
CREATE QUERY r AS SELECT k, v FROM s [ROWS 5];
"""
QUESTIONS = (
    "SELECT * FROM t",
    "SELECT k, total FROM q WHERE total > 3",
    "SELECT COUNT(*) AS n, SUM(total) AS total, MAX(k) AS k FROM q",
    "SELECT t.name, q.total FROM q JOIN t ON q.k = t.k",
    "SELECT t.name, q.total FROM q RIGHT JOIN t ON q.k = t.k",
    "SELECT a.k, b.v FROM q a, r b WHERE a.k < b.k",
    "SELECT k FROM t EXCEPT SELECT k FROM q",
    "SELECT k FROM r INTERSECT ALL SELECT k FROM t",
    "SELECT DISTINCT k FROM r UNION ALL SELECT name FROM t",
    "SELECT k, AVG(v) AS m FROM r GROUP BY k HAVING COUNT(*) > 1",
    "SELECT k, total FROM q ORDER BY total DESC, k LIMIT 2",
    "SELECT name FROM t WHERE NOT EXISTS (SELECT 1 AS one FROM r WHERE r.k = t.k)",
    "SELECT name FROM t WHERE k IN (SELECT k FROM q WHERE total > 2)",
    "WITH big AS (SELECT k FROM q WHERE total > 2) SELECT COUNT(*) AS n FROM big",
)
KEYS = st.sampled_from("abc")


@pytest.fixture(params=["local", "shards"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with windrow.connect(local=True) if request.param == "local" else ShardsInProcess(2) as made:
        yield made


def rows_of(engine: Engine, text: str) -> list[tuple[Any, ...]]:
    answer = engine.sql(text)[-1].answer
    return list(zip(*(column.to_pylist() for column in answer.columns), strict=True))


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(KEYS, st.integers(-3, 5) | st.none()), min_size=1, max_size=12),
    st.lists(st.tuples(KEYS | st.none(), st.sampled_from(["x", "y"])), max_size=5),
    st.sampled_from(QUESTIONS),
)
@pytest.mark.parametrize("make", [lambda: windrow.connect(local=True), lambda: ShardsInProcess(2)], ids=["local", "2"])
def test_answers_are_those_of_sql_over_the_same_rows(
    make: Callable[[], Engine], pushed: list[Any], inserted: list[Any], question: str
) -> None:
    with make() as engine:
        engine.sql(STAGE)
        engine.push("s", [{"ts": n * 1_000_000, "k": k, "v": v} for n, (k, v) in enumerate(pushed)])
        if inserted:
            values = ", ".join(f"({'NULL' if k is None else repr(k)}, {name!r})" for k, name in inserted)
            engine.sql(f"INSERT INTO t VALUES {values}")
        engine.step()
        relations = {name: engine[name].latest_answer() for name in ("q", "r")}
        columns = [[row[place] for row in inserted] for place in (0, 1)]
        relations["t"] = pa.table([pa.array(values, pa.string()) for values in columns], names=["k", "name"])
        answer = engine.sql(question)[0].answer

        assert bag(answer) == bag(run(question, relations, {}))


def test_changes_that_were_stated_are_seen_before_a_step(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT, b STRING, PRIMARY KEY (a)) NON RETROACTIVE")
    results = engine.sql(
        "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z'); SELECT * FROM t; DELETE FROM t WHERE a = 2;"
        "UPDATE t SET b = 'w' WHERE a = 3; SELECT b FROM t WHERE a > 1"
    )

    assert [result.answer and result.answer.num_rows for result in results] == [None, 3, None, None, 1]
    assert rows_of(engine, "SELECT a, b FROM t ORDER BY a DESC") == [(3, "w"), (1, "x")]


def test_changes_are_seen_while_batches_go_on(engine: Engine) -> None:
    engine.sql(STAGE)
    seen = []
    for n in range(3):
        engine.sql(f"INSERT INTO t VALUES ('a', 'n{n}')")
        engine.push("s", [{"ts": n * 1_000_000, "k": "a", "v": n}])
        seen.append(len(rows_of(engine, "SELECT * FROM t")))
        engine.step()
        seen.append(len(rows_of(engine, "SELECT * FROM t")))

    assert seen == [1, 1, 2, 2, 3, 3]
    engine.sql("DROP TABLE t; CREATE TABLE t (a INT)")
    assert rows_of(engine, "SELECT * FROM t") == []


def test_a_result_shows_its_rows(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT, d DATE, ok BOOLEAN, at TIMESTAMP)")
    engine.sql(
        "INSERT INTO t VALUES (1, DATE '2026-01-02', TRUE, TIMESTAMP '2026-01-02 03:04:05'), (2, NULL, NULL, NULL)"
    )

    assert str(engine.sql("SELECT * FROM t")[0]) == (
        "2 rows\na  d           ok    at\n1  2026-01-02  TRUE  2026-01-02 03:04:05\n2  NULL        NULL  NULL"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT k FROM s [RANGE 1 MINUTE]", "rows of s are not kept for questions"),
        ("SELECT q.k FROM q, s [ROWS 1]", "rows of s are not kept for questions"),
        ("SELECT ISTREAM k FROM q", "a question is answered once, and ISTREAM tells changes"),
    ],
)
def test_what_is_not_kept_is_refused(engine: Engine, text: str, message: str) -> None:
    engine.sql(STAGE)
    with pytest.raises(WindrowError) as caught:
        engine.sql(text)

    assert caught.value.message == message
    assert "CREATE QUERY" in (caught.value.hint or "") or "create a query" in (caught.value.hint or "")


def test_a_query_that_is_looked_up_is_asked(engine: Engine) -> None:
    engine.sql(STAGE)
    engine.sql("CREATE QUERY l AS SELECT k, SUM(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k REFRESH ON LOOKUP")
    engine.push("s", [{"ts": n * 1_000_000, "k": "ab"[n % 2], "v": n} for n in range(6)])
    engine.step()

    assert rows_of(engine, "SELECT MAX(total) AS total FROM l") == [(6,)]
