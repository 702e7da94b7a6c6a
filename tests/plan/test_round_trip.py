"""Printing a plan back to CQL and reading it again gives the same plan."""

from __future__ import annotations

import pytest
from hypothesis import assume, event, given, settings

from support.plans import session
from support.queries import queries
from windrow.cql import compile_query
from windrow.errors import CqlMeaningError
from windrow.plan.printer import query_text

SESSION = session()

HAND_WRITTEN = [
    "SELECT * FROM s",
    "SELECT s.*, t.a AS other FROM s [RANGE 1 MINUTE] JOIN t [RANGE 1 MINUTE] USING (a)",
    "SELECT * FROM s [RANGE 1 MINUTE] FULL JOIN t [RANGE 1 MINUTE] USING (a) FULL JOIN u [RANGE 1 MINUTE] USING (a)",
    "SELECT a, COUNT(*) FROM s [RANGE 1 MINUTE] FULL JOIN t [RANGE 1 MINUTE] USING (a) WHERE a > 1 GROUP BY a",
    "SELECT a FROM s [ROWS 3] FULL JOIN (t [ROWS 3] RIGHT JOIN u [ROWS 3] USING (a)) USING (a) ORDER BY a",
    "SELECT * FROM s [ROWS 3] AS x, (t [ROWS 2] AS y JOIN u [ROWS 1] AS z ON y.a = z.a) WHERE x.a = y.a",
    'SELECT "select", "a b" FROM (SELECT a AS "select", b AS "a b" FROM s) AS "from"',
    "SELECT COUNT(*) FROM s [PARTITION BY b WHERE v > 1 AND b IS NOT NULL] WHERE NOT (a = 1 OR a = 2)",
    "SELECT RSTREAM RESTORE a FROM s [RANGE 1 MINUTE SLIDE 1 SECOND]",
    "SELECT a - (v - 1) - 2 AS x, -(-a) AS y, NOT (a = 1 AND v = 2) AS z FROM s",
    "SELECT (a = 1) = (v = 2) AS x, (a IS NULL) = TRUE AS y FROM s",
    "SELECT X'00ff' AS bytes, DATE '2026-02-28' AS d, INTERVAL '-1 day' AS i, 1e300 AS big, .5 AS half FROM s",
    "SELECT 1. AS one, -2. AS two, 3.0 AS three FROM s",
    "SELECT name FROM s [RANGE 1 MINUTE] LEFT JOIN n ON s.a = n.a WHERE s.v > 1",
    "SELECT a FROM readings [RANGE 1 MINUTE INTERNAL] UNION ALL SELECT a FROM s",
    "SELECT (SELECT_ + 1) * 2 AS x FROM (SELECT a AS SELECT_ FROM s) AS q",
]


@pytest.mark.parametrize("text", HAND_WRITTEN)
def test_hand_written_queries(text: str) -> None:
    plan = compile_query(text, SESSION.catalog)
    assert compile_query(query_text(plan), SESSION.catalog) == plan


@settings(max_examples=600)
@given(queries())
def test_generated_queries(text: str) -> None:
    try:
        plan = compile_query(text, SESSION.catalog)
    except CqlMeaningError as error:
        event(f"refused: {error.message}")
        assume(False)
    printed = query_text(plan)
    assert compile_query(printed, SESSION.catalog) == plan
    assert query_text(compile_query(printed, SESSION.catalog)) == printed
