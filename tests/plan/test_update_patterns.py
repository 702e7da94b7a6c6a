"""The rules for update patterns, one by one (thesis 3.2, 3.3, 3.5.1, with Windrow's two corrections)."""

from __future__ import annotations

import pytest

from support.plans import find, pattern, planned, written
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import AntiJoin, GroupBy, Join, Windowed
from windrow.plan.pattern import Pattern

MONOTONIC, WKS, WK, STR = Pattern

BASE_EDGES = {
    "s": MONOTONIC,
    "s [RANGE UNBOUNDED]": MONOTONIC,
    "s [SINCE '2026-01-01 00:00:00']": MONOTONIC,
    "s [FROM '2026-01-01 00:00:00' TO '2026-02-01 00:00:00']": MONOTONIC,
    "s [RANGE UNBOUNDED SLIDE 1 MINUTE]": MONOTONIC,
    "s [RANGE 10 MINUTES]": WKS,
    "s [RANGE 10 MINUTES SLIDE 30 SECONDS]": WKS,
    "s [WINDOW 10 MINUTES SLIDE 3 MINUTES]": WKS,
    "s [RANGE FROM 20 MINUTES TO 5 MINUTES AGO]": WKS,
    "s [NOW]": WKS,
    "s [ROWS 1000]": STR,
    "s [ROWS 1000 SLIDE 100 ROWS]": STR,
    "s [ROWS 1000 SLIDE 10 SECONDS]": STR,
    "s [RANGE 1 HOUR SLIDE 500 ROWS]": STR,
    "s [ROWS FROM 1000 TO 100 AGO]": STR,
    "s [PARTITION BY a ROWS 10]": STR,
    "s [PARTITION BY a WHERE v > 0]": STR,
    "readings": WK,
    "readings [RANGE 10 MINUTES]": WK,
    "readings [SINCE '2026-01-01 00:00:00']": WK,
    "readings [ROWS 10]": STR,
}


@pytest.mark.parametrize("relation", BASE_EDGES)
def test_base_edges(relation: str) -> None:
    assert pattern(f"SELECT * FROM {relation}") is BASE_EDGES[relation]


UNARY_INPUTS = ["s", "s [RANGE 1 MINUTE]", "readings", "s [ROWS 10]"]
UNARY_PATTERNS = [MONOTONIC, WKS, WK, STR]


@pytest.mark.parametrize(("relation", "expected"), list(zip(UNARY_INPUTS, UNARY_PATTERNS, strict=True)))
def test_selection_projection_and_sort_keep_the_pattern(relation: str, expected: Pattern) -> None:
    assert pattern(f"SELECT a + 1 AS x FROM {relation} WHERE a > 3 ORDER BY x") is expected


@pytest.mark.parametrize(("relation", "expected"), list(zip(UNARY_INPUTS, UNARY_PATTERNS, strict=True))[:3])
def test_join_with_a_non_retroactive_table_keeps_the_pattern(relation: str, expected: Pattern) -> None:
    alias = relation.split()[0]
    assert pattern(f"SELECT name FROM {relation} JOIN n ON {alias}.a = n.a") is expected
    assert pattern(f"SELECT name FROM {relation} LEFT JOIN n ON {alias}.a = n.a") is expected
    assert pattern(f"SELECT name FROM n, {relation} WHERE {alias}.a = n.a") is expected


@pytest.mark.parametrize("relation", UNARY_INPUTS)
def test_join_with_a_retroactive_table_is_strict(relation: str) -> None:
    alias = relation.split()[0]
    assert pattern(f"SELECT name FROM {relation} JOIN r ON {alias}.a = r.a") is STR
    assert pattern(f"SELECT {alias}.a FROM {relation} WHERE EXISTS (SELECT * FROM r WHERE r.a = {alias}.a)") is STR


UNIONS = {
    ("s", "t"): MONOTONIC,
    ("s [RANGE 1 MINUTE]", "t [RANGE 1 MINUTE]"): WKS,
    # Unequal lifetimes do not end in the order they began: the thesis's rule 2 would say WKS.
    ("s [RANGE 1 MINUTE]", "t [RANGE 2 MINUTES]"): WK,
    ("s [RANGE 10 MINUTES]", "t [RANGE FROM 20 MINUTES TO 10 MINUTES AGO]"): WKS,
    ("s", "t [RANGE 1 MINUTE]"): WK,
    ("s [RANGE 1 MINUTE]", "readings"): WK,
    ("s [RANGE 1 MINUTE]", "t [ROWS 10]"): STR,
    ("s", "t [ROWS 10]"): STR,
}


@pytest.mark.parametrize("sides", UNIONS)
def test_union(sides: tuple[str, str]) -> None:
    left, right = sides
    assert pattern(f"SELECT a FROM {left} UNION ALL SELECT a FROM {right}") is UNIONS[sides]
    assert pattern(f"SELECT a FROM {right} UNION ALL SELECT a FROM {left}") is UNIONS[sides]


WEAK_INPUTS = {
    ("s", "t"): MONOTONIC,
    ("s", "t [RANGE 1 MINUTE]"): WK,
    ("s [RANGE 1 MINUTE]", "t [RANGE 1 MINUTE]"): WK,
    ("s [RANGE 1 MINUTE]", "t [RANGE 2 MINUTES]"): WK,
    ("readings", "t [RANGE 1 MINUTE]"): WK,
    ("s [ROWS 10]", "t [RANGE 1 MINUTE]"): STR,
    ("s [ROWS 10]", "t"): STR,
}


@pytest.mark.parametrize("sides", WEAK_INPUTS)
def test_weak_operators(sides: tuple[str, str]) -> None:
    """Join, EXISTS, IN and INTERSECT are monotonic over monotonic inputs only."""
    left, right = sides
    one, other = left.split()[0], right.split()[0]
    expected = WEAK_INPUTS[sides]
    assert pattern(f"SELECT {one}.a FROM {left}, {right} WHERE {one}.a = {other}.a") is expected
    assert pattern(f"SELECT {one}.a FROM {left}, {right} WHERE {one}.a < {other}.a") is expected
    assert pattern(f"SELECT a FROM {left} WHERE EXISTS (SELECT * FROM {right} WHERE {other}.a = {one}.a)") is expected
    assert pattern(f"SELECT a FROM {left} WHERE a IN (SELECT a FROM {right})") is expected
    assert pattern(f"SELECT a FROM {left} INTERSECT SELECT a FROM {right}") is expected
    counted = expected if expected is Pattern.MONOTONIC else Pattern.STR  # which of equal copies ends is not known
    assert pattern(f"SELECT a FROM {left} INTERSECT ALL SELECT a FROM {right}") is counted


@pytest.mark.parametrize(
    ("relation", "expected"), [("s", MONOTONIC), ("s [RANGE 1 MINUTE]", WK), ("readings", WK), ("s [ROWS 10]", STR)]
)
def test_distinct_is_weak(relation: str, expected: Pattern) -> None:
    assert pattern(f"SELECT DISTINCT a FROM {relation}") is expected


STRICT = {
    "negation by NOT EXISTS": "SELECT a FROM {s} WHERE NOT EXISTS (SELECT * FROM {t} WHERE t.a = s.a)",
    "negation by NOT IN": "SELECT a FROM {s} WHERE a NOT IN (SELECT a FROM {t})",
    "negation by EXCEPT": "SELECT a FROM {s} EXCEPT SELECT a FROM {t}",
    "negation by EXCEPT ALL": "SELECT a FROM {s} EXCEPT ALL SELECT a FROM {t}",
    "left join": "SELECT s.a FROM {s} LEFT JOIN {t} ON s.a = t.a",
    "right join": "SELECT s.a FROM {s} RIGHT JOIN {t} ON s.a = t.a",
    "full join": "SELECT s.a FROM {s} FULL JOIN {t} ON s.a = t.a",
    "group by": "SELECT a, COUNT(*) FROM {s} GROUP BY a",
    "aggregate": "SELECT MAX(a) FROM {s}",
    "limit": "SELECT a FROM {s} ORDER BY a LIMIT 3",
}


@pytest.mark.parametrize("window", ["", " [RANGE 1 MINUTE]", " [ROWS 10]"])
@pytest.mark.parametrize("operator", STRICT)
def test_strict_operators(operator: str, window: str) -> None:
    assert pattern(STRICT[operator].format(s=f"s{window}", t=f"t{window}")) is STR


INTERNAL_JOINS = {
    # None, one and two external windows. The thesis prints weakest for exactly one (3.3.2); the counter-example is in
    # plan/analysis/update_pattern.py.
    ("INTERNAL", "INTERNAL"): MONOTONIC,
    ("", "INTERNAL"): WK,
    ("INTERNAL", ""): WK,
    ("", ""): WK,
}


@pytest.mark.parametrize("kinds", INTERNAL_JOINS)
def test_joins_of_internal_and_external_windows(kinds: tuple[str, str]) -> None:
    left, right = kinds
    plan = planned(f"SELECT s.a FROM s [RANGE 10 SECONDS {left}], t [RANGE 10 SECONDS {right}] WHERE s.a = t.a")
    assert update_pattern(plan) is INTERNAL_JOINS[kinds]
    assert update_pattern(find(plan, Join)) is WK, "inner edges keep the pattern of external windows"


def test_internal_windows_besides_joins() -> None:
    assert pattern("SELECT a FROM s [RANGE 1 MINUTE INTERNAL] WHERE a > 0") is MONOTONIC
    assert pattern("SELECT a FROM s [ROWS 5 INTERNAL]") is MONOTONIC
    assert pattern("SELECT a FROM s [RANGE 1 MINUTE INTERNAL] UNION ALL SELECT a FROM t [RANGE 1 MINUTE]") is WK
    assert pattern("SELECT name FROM s [RANGE 1 MINUTE INTERNAL] JOIN n ON s.a = n.a") is MONOTONIC
    assert pattern("SELECT name FROM s [RANGE 1 MINUTE INTERNAL] JOIN r ON s.a = r.a") is STR


def test_external_parts_beside_internal_windows() -> None:
    """Ends of rows are known; those of values that are compared or counted are not."""
    beside = "SELECT s.b FROM s [RANGE 1 MINUTE INTERNAL], {q} AS q WHERE s.a = q.a"
    assert pattern(beside.format(q="(SELECT a FROM t [RANGE 1 MINUTE])")) is WK
    assert pattern(beside.format(q="t [ROWS 3]")) is STR
    assert pattern(beside.format(q="(SELECT DISTINCT a FROM t [RANGE 1 MINUTE])")) is STR
    assert pattern(beside.format(q="(SELECT DISTINCT a FROM t)")) is MONOTONIC
    assert pattern(beside.format(q="(SELECT a, COUNT(*) AS n FROM t GROUP BY a)")) is STR
    exists = "SELECT b FROM s [RANGE 1 MINUTE{s}] WHERE EXISTS (SELECT * FROM t [RANGE 1 MINUTE{t}] WHERE t.a = s.a)"
    assert pattern(exists.format(s=" INTERNAL", t="")) is STR
    assert pattern(exists.format(s="", t=" INTERNAL")) is WK, "a row begins with its match"
    assert pattern(exists.format(s=" INTERNAL", t=" INTERNAL")) is MONOTONIC
    assert pattern("SELECT SUM(s.a) FROM s [RANGE 1 MINUTE INTERNAL], t WHERE s.a = t.a") is MONOTONIC
    assert pattern("SELECT WSTREAM [RANGE 1 MINUTE] name FROM s [RANGE 1 MINUTE] JOIN r ON s.a = r.a") is WKS


@pytest.mark.parametrize(
    ("window", "expected"),
    [("[ROWS 5]", STR), ("", STR), ("[ROWS 5 INTERNAL]", MONOTONIC), ("[RANGE UNBOUNDED INTERNAL]", MONOTONIC)],
)
def test_aggregates_over_four_types_of_windows(window: str, expected: Pattern) -> None:
    """Figure 3.2: only external windows take a reported value back."""
    plan = planned(f"SELECT SUM(a) FROM s {window}")
    assert update_pattern(plan) is expected
    assert update_pattern(find(plan, GroupBy)) is STR


@pytest.mark.parametrize(("window", "expected"), [("[ROWS 10]", STR), ("[RANGE 1 MINUTE]", WKS)])
def test_output_windows(window: str, expected: Pattern) -> None:
    join = "FROM s [RANGE 5 MINUTES], t [RANGE 5 MINUTES] WHERE s.a = t.a"
    plan = planned(f"SELECT WSTREAM(s.a){window} {join}")
    assert update_pattern(plan) is expected
    assert update_pattern(find(plan, Join)) is WK
    assert pattern(f"SELECT WSTREAM(COUNT(*)){window} FROM s [RANGE 5 MINUTES]") is expected


@pytest.mark.parametrize(
    ("output", "expected"), [("ISTREAM", MONOTONIC), ("DSTREAM", MONOTONIC), ("RSTREAM", STR), ("", STR)]
)
def test_output_streams(output: str, expected: Pattern) -> None:
    """Insertions and deletions are reported for good; RSTREAM names the answer itself."""
    assert pattern(f"SELECT {output} a, COUNT(*) FROM s [RANGE 1 MINUTE] GROUP BY a") is expected


def test_windows_over_sub_queries() -> None:
    inner = "(SELECT ISTREAM a FROM s [RANGE 1 MINUTE] WHERE NOT EXISTS (SELECT * FROM t [ROWS 2] WHERE t.a = s.a))"
    assert pattern(f"SELECT a FROM {inner} [RANGE 1 MINUTE] AS q") is WKS
    assert pattern(f"SELECT a FROM {inner} [ROWS 3] AS q") is STR
    assert pattern("SELECT q.a FROM (SELECT a FROM s WHERE v > 0) [RANGE 1 MINUTE] AS q") is WKS
    sampled = "(SELECT RSTREAM a FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS])"
    assert pattern(f"SELECT a FROM {sampled} [RANGE 1 MINUTE] AS q") is WKS


def test_a_window_contains_every_shorter_one() -> None:
    opened = "WITH w AS (SELECT a, v FROM s [RANGE 1 HOUR]) "
    assert pattern(opened + "SELECT a FROM w [RANGE 5 MINUTES]") is WKS
    assert find(planned("SELECT q.a FROM (SELECT a FROM s) [RANGE 5 MINUTES] AS q"), Windowed)


def test_the_pattern_belongs_to_the_plan_not_to_the_query() -> None:
    """Figure 3.5: the same query with the negation above and below the join. The example is ours."""
    pulled_up = written(
        """SELECT RSTREAM * FROM s [RANGE 1 MINUTE], t [RANGE 1 MINUTE] WHERE s.a = t.a
           AND NOT EXISTS (SELECT RSTREAM * FROM u [RANGE 1 MINUTE] WHERE u.a = s.a)"""
    )
    assert update_pattern(find(pulled_up, Join)) is WK
    assert update_pattern(find(pulled_up, AntiJoin)) is STR
    pushed_down = written(
        """SELECT RSTREAM * FROM
           (SELECT * FROM s [RANGE 1 MINUTE] WHERE NOT EXISTS (SELECT * FROM u [RANGE 1 MINUTE] WHERE u.a = s.a)) AS s,
           t [RANGE 1 MINUTE] WHERE s.a = t.a"""
    )
    assert update_pattern(find(pushed_down, AntiJoin)) is STR
    assert update_pattern(find(pushed_down, Join)) is STR
    assert pulled_up.schema == pushed_down.schema


def test_a_non_retroactive_table_is_looked_up_below_a_negation() -> None:
    """Written above the negation, computed below it: each tuple meets the table of its own time."""
    plan = written(
        """SELECT q.a, n.name FROM
           (SELECT * FROM s [RANGE 1 MINUTE] WHERE NOT EXISTS (SELECT * FROM t [RANGE 1 MINUTE] WHERE t.a = s.a)) AS s
           JOIN n ON s.a = n.a""".replace("q.a", "s.a")
    )
    negation = find(plan, AntiJoin)
    assert isinstance(negation.left, Join)
    assert update_pattern(negation.left) is WKS
