"""Small things that went wrong once, each as it was seen: functions, coverage, what is said to be shared."""

from __future__ import annotations

from decimal import Decimal

import pytest

from windrow.runtime.local import LocalEngine
from windrow.units import FOREVER

ONE = "CREATE TABLE one (k BIGINT, p DECIMAL(4, 2), q DECIMAL(2, 2)); INSERT INTO one VALUES (1767268800, 99.99, 0.99)"
STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts"


def seconds(first: int, last: int) -> list[dict[str, object]]:
    return [{"ts": f"2026-01-01 00:00:{second:02}", "k": second % 3, "v": second} for second in range(first, last)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("ROUND(p)", Decimal(100)),
        ("ROUND(p, 1)", Decimal(100)),
        ("BROUND(q)", Decimal(1)),
        ("ROUND(0.5)", Decimal(1)),
        ("STRPOS('hello', 'l')", 3),
        ("CAST(TO_TIMESTAMP(k) AS STRING)", "2026-01-01 12:00:00"),
    ],
)
def test_functions(expression: str, value: object) -> None:
    engine = LocalEngine()
    engine.sql(ONE)
    answer = engine.sql(f"SELECT {expression} AS x FROM one")[0].answer
    assert answer is not None
    assert answer.to_pylist() == [{"x": value}]


@pytest.mark.parametrize(
    "query", ["SELECT k, v FROM s [RANGE 5 SECONDS INTERNAL]", "SELECT ISTREAM k, v FROM s [RANGE 5 SECONDS]"]
)
def test_results_that_stay_are_never_complete_without_the_rows_from_before(query: str) -> None:
    engine = LocalEngine()
    engine.sql(f"{STREAM}; CREATE QUERY first AS {query}")
    engine.push("s", seconds(0, 20))
    engine.step()
    engine.sql(f"CREATE QUERY later AS {query}")
    engine.push("s", seconds(20, 40))
    engine.step()
    assert engine["later"].coverage.complete_from == FOREVER


def test_what_starts_now_is_not_said_to_be_shared() -> None:
    engine = LocalEngine()
    query = "SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k"
    engine.sql(f"{STREAM}; CREATE QUERY first AS {query}")
    engine.push("s", seconds(0, 10))
    engine.step()
    engine.sql(f"CREATE QUERY same AS {query}; CREATE QUERY apart AS {query} STARTING NOW")
    engine.push("s", seconds(10, 12))
    engine.step()
    assert "shared with same" in str(engine.sql("EXPLAIN first")[0])
    assert "shared with" not in str(engine.sql("EXPLAIN apart")[0])
    assert [row[2] for row in engine.sql("SHOW SHARING")[0].rows] == ["first, same"]
