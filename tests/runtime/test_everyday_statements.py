"""Statements as people know them from other databases, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

import windrow
from support.shard_runs import ShardsInProcess
from windrow.errors import WindrowError
from windrow.runtime.engine import Engine
from windrow.session import Session

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts"
TABLE = "CREATE TABLE t (k STRING, n BIGINT NOT NULL, at TIMESTAMP)"


@pytest.fixture(params=["local", "shards"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with windrow.connect(local=True) if request.param == "local" else ShardsInProcess(2) as made:
        made.sql(f"{STREAM}; {TABLE}")
        yield made


def rows(engine: Engine, question: str, **parameters: Any) -> list[tuple[Any, ...]]:
    answer = engine.sql(question, **parameters)[-1].answer
    return list(zip(*(column.to_pylist() for column in answer.columns), strict=True))


def message(engine: Engine, text: str, **parameters: Any) -> str:
    with pytest.raises(WindrowError) as caught:
        engine.sql(text, **parameters)
    return caught.value.message


def test_if_not_exists_leaves_what_is_there(engine: Engine) -> None:
    results = engine.sql(
        "CREATE STREAM IF NOT EXISTS S (ts TIMESTAMP) TIMESTAMP BY ts; CREATE TABLE IF NOT EXISTS t (a INT);"
        "CREATE QUERY IF NOT EXISTS q AS SELECT k FROM s [ROWS 1]; CREATE QUERY IF NOT EXISTS q AS SELECT v FROM s"
    )

    assert [result.message for result in results] == [
        "there is already a stream s",
        "there is already a table t",
        "created query q",
        "there is already a query q",
    ]
    assert message(engine, "CREATE WINDOW IF NOT EXISTS q AS SELECT k FROM s [ROWS 1]") == "there is already a query q"


def test_a_materialized_view_is_a_query(engine: Engine) -> None:
    engine.sql(
        "CREATE MATERIALIZED VIEW IF NOT EXISTS q AS SELECT k, SUM(v) AS total FROM s [RANGE 1 MINUTE] GROUP BY k"
    )
    engine.push("s", [{"ts": n * 1_000_000, "k": "ab"[n % 2], "v": n} for n in range(5)])
    engine.step()

    assert rows(engine, "SELECT k, total FROM q ORDER BY k") == [("a", 2), ("b", 4)]
    engine.sql("DROP MATERIALIZED VIEW IF EXISTS q; DROP MATERIALIZED VIEW IF EXISTS q")
    assert "q" not in engine


def test_insert_select_takes_the_answer_once(engine: Engine) -> None:
    engine.sql("CREATE QUERY q AS SELECT k, SUM(v) AS total, MAX(ts) AS last FROM s [RANGE 1 MINUTE] GROUP BY k")
    for second in range(4):
        engine.push("s", [{"ts": second * 1_000_000, "k": "a", "v": 1}])
        engine.step()
        engine.sql("INSERT INTO t SELECT k, total, last FROM q WHERE total > 1; INSERT INTO t (n) SELECT n + 10 FROM t")

    found = rows(engine, "SELECT k, n, at FROM t WHERE n < 10 ORDER BY n")
    assert found == [("a", n, datetime.fromtimestamp(n - 1, timezone.utc)) for n in (2, 3)]
    assert rows(engine, "SELECT DISTINCT k, at FROM t WHERE n > 10") == [(None, None)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO t (k) SELECT k FROM t", "n of t cannot be NULL"),
        ("INSERT INTO t SELECT k, n FROM t", "2 columns are selected for 3 columns"),
        ("INSERT INTO t (n) SELECT k FROM t", "n is BIGINT, this is STRING"),
        ("INSERT INTO t (n) SELECT v FROM s [ROWS 3]", "rows of s are not kept for questions"),
        ("INSERT INTO s SELECT * FROM t", "s is a stream, not a table"),
        ("SHOW CREATE QUERY t", "t is a table, not a query"),
        ("SELECT k FROM t WHERE n = :n", "there is no value for :n"),
    ],
)
def test_what_cannot_be_done_is_refused(engine: Engine, text: str, expected: str) -> None:
    engine.sql("INSERT INTO t VALUES ('a', 1, NULL)")

    assert message(engine, text) == expected


def test_insert_into_a_sink_is_a_query(engine: Engine) -> None:
    engine.sql("INSERT INTO memory(mode => 'upsert') SELECT k, COUNT(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k")

    assert list(engine) == ["query1"]


CREATED = (
    "CREATE STREAM u (ts TIMESTAMP, seq BIGINT NOT NULL, valid INTERVAL, \"a b\" STRING) FROM json('x')"
    " TIMESTAMP BY ts, seq SLACK 2 SECONDS LIFETIME BY valid HEARTBEAT 5 SECONDS IDLE AFTER 1 MINUTE AHEAD 1 HOUR"
    " AHEAD 2 HOURS OF NEWEST PUNCTUATION WHERE u.seq = 0 BY \"a b\" LATE INTO json('late') REJECTED INTO csv('bad')",
    "CREATE STREAM w (at TIMESTAMP, a DECIMAL(10, 2), b BOOLEAN AS w.a > 1) ARRIVAL AHEAD UNLIMITED",
    "CREATE TABLE p (a INT, b STRING, at TIMESTAMP, PRIMARY KEY (a)) NON RETROACTIVE FROM csv('x') EFFECTIVE BY at",
    "CREATE WINDOW x AS SELECT s.k FROM s [RANGE 10 MINUTES]",
    "CREATE QUERY z AS SELECT s.k, COUNT(*) AS n FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY s.k"
    " REFRESH BEST EFFORT INTO json('out', mode => 'upsert')",
)


@pytest.mark.parametrize("text", CREATED, ids=lambda text: " ".join(text.split()[1:3]))
def test_show_create_can_be_read_back(text: str) -> None:
    session = Session()
    session.execute(f"{STREAM}; {text}")
    name = text.split()[2]
    shown = session.execute(f"SHOW CREATE {name}")[0].rows[0][0]
    again = Session()
    again.execute(f"{STREAM}; {shown}")

    assert shown == text
    assert again.catalog.get(name) == session.catalog.get(name)


def test_show_create_hides_secrets() -> None:
    session = Session()
    session.execute("CREATE TABLE p (a INT) FROM postgres('host=h password=hidden', 'x')")

    assert "hidden" not in session.execute("SHOW CREATE p")[0].rows[0][0]


@pytest.mark.parametrize(
    "value", ["x'; DROP TABLE t; --", ":other", "", "\\' OR 1=1", None, "/* */", 'a"b', "\x00", "ünï"], ids=repr
)
def test_a_parameter_is_one_constant_whatever_is_in_it(engine: Engine, value: str | None) -> None:
    engine.sql("INSERT INTO t VALUES (:k, :n, NULL)", k=value, n=1)

    assert rows(engine, "SELECT k, :k AS again FROM t WHERE k IS NOT DISTINCT FROM :k", k=value) == [(value, value)]


def test_parameters_of_every_kind(engine: Engine) -> None:
    engine.sql("INSERT INTO t VALUES ('a', 1, NULL)")
    values: dict[str, Any] = {
        "small": -7,
        "large": 2**40,
        "half": 0.5,
        "exact": Decimal("-1.25"),
        "day": date(2026, 1, 2),
        "at": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=1))),
        "long": timedelta(minutes=5),
        "yes": True,
        "bytes": b"\x00\xff",
    }
    asked = ", ".join(f":{name} AS {name}" for name in values)

    assert rows(engine, f"SELECT {asked} FROM t", **values) == [tuple(values.values())]
    engine.sql("CREATE QUERY q AS SELECT v FROM s [ROWS 3] WHERE v > :least", least=5)
    assert engine.sql("SHOW CREATE q")[0].rows == (("CREATE QUERY q AS SELECT s.v FROM s [ROWS 3] WHERE s.v > 5",),)


def test_parameters_that_do_not_fit(engine: Engine) -> None:
    assert message(engine, "SELECT k FROM t", k=1) == "there is no :k in the statements"
    assert message(engine, "SELECT :k AS k FROM t", k=[1]) == "parameter k cannot be list [1]"
    assert message(engine, "SELECT :k AS k FROM t", k=2**70).startswith("parameter k cannot be int 118059")
