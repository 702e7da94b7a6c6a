"""Generated queries over the same join: each gives what it gives alone; and what follows from conditions."""

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
from support.sub_windows import HALF, SCHEMA, moments_of, streams
from windrow.cql import compile_query
from windrow.plan.expressions import Expression
from windrow.plan.functions import conjuncts
from windrow.plan.nodes import Filter
from windrow.runtime.local import LocalEngine
from windrow.session import Session
from windrow.sharing.weakest_selection import implies, weakest

COLUMNS = "ts TIMESTAMP, k STRING, x BIGINT, y STRING"
DECLARATIONS = "; ".join(f"CREATE STREAM {name} ({COLUMNS}) TIMESTAMP BY ts" for name in ("s", "t"))
CONDITIONS = ("l.x > 0", "l.x > 1", "l.x = 2", "r.x < 2", "l.y <> 'b'", "l.y IS NULL OR r.x = 1")


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Two windows joined by k, from either side, under any names."""
    chosen = draw(st.sampled_from(["l.x", "r.y, l.k", "l.x + r.x AS z", "l.k, COUNT(*) AS n", "DISTINCT l.y"]))
    sides = ["s [RANGE 2 SECONDS] AS l", f"t [RANGE {draw(st.sampled_from([3, 3, 3, 4]))} SECONDS] AS r"]
    if draw(st.booleans()):
        sides.reverse()
    asked = draw(st.lists(st.sampled_from(CONDITIONS), max_size=2, unique=True))
    where = " AND ".join(["l.k = r.k", *(f"({one})" for one in asked)])
    group = " GROUP BY l.k" if "COUNT" in chosen else ""
    text = f"SELECT {chosen} FROM {', '.join(sides)} WHERE {where}{group}"
    named = {"AS l": "AS s2", "AS r": "AS t2", "l.": "s2.", "r.": "t2."} if draw(st.booleans()) else {}
    for old, new in named.items():
        text = text.replace(old, new)
    return text


def run(
    texts: list[str], rows: list[list[Row]], cuts: list[int], setting: str, shards: int
) -> list[list[Counter[Any]]]:
    engine: Any = ShardsInProcess(shards) if shards else LocalEngine()
    engine.sql(f"{DECLARATIONS}; SET {setting}")
    running = [engine.query(text, name=f"q{number}") for number, text in enumerate(texts)]
    given_rows = dict(zip(("s", "t"), rows, strict=True))
    feed(engine, given_rows, dict.fromkeys(given_rows, SCHEMA), [START + cut * HALF for cut in cuts])
    found = [answers(query, moments_of([row for side in rows for row in side])) for query in running]
    engine.close()
    return found


@settings(max_examples=60)
@given(
    rows=st.tuples(streams(most=30), streams(most=30)),
    texts=st.lists(queries(), min_size=2, max_size=5),
    cuts=st.lists(st.integers(0, 24), max_size=4),
    strategy=st.sampled_from(["upa", "direct", "nt"]),
    shards=st.sampled_from([0, 0, 2]),
)
def test_each_gives_what_it_gives_alone(
    rows: tuple[list[Row], list[Row]], texts: list[str], cuts: list[int], strategy: str, shards: int
) -> None:
    together = run(texts, list(rows), cuts, f"strategy = {strategy}", shards)
    assert together == [run([text], list(rows), [], "optimizer = off", 0)[0] for text in texts]


def conditions(text: str) -> tuple[Expression, ...]:
    session = Session()
    session.execute(DECLARATIONS)
    plan = compile_query(f"SELECT x FROM s [NOW] WHERE {text}", session.catalog)
    return next(conjuncts(node.predicate) for node in plan.walk() if isinstance(node, Filter))


@pytest.mark.parametrize(
    ("one", "other", "follows"),
    [
        ("x > 5", "x > 3", True),
        ("x > 3", "x > 5", False),
        ("x >= 3", "x > 3", False),
        ("x > 3", "x >= 3", True),
        ("x < 3", "x <= 3", True),
        ("3 > x", "x <= 3", True),
        ("x = 4", "x > 3", True),
        ("x = 4", "x < 4", False),
        ("x > 3", "x < 5", False),
        ("x > 3 AND y = 'a'", "y = 'a'", True),
        ("x > 3", "y = 'a' OR x > 2", True),
        ("x > 3", "(x > 4 AND y = 'a') OR k = 'b'", False),
        ("y > 'b'", "y > 'a'", False),  # whole numbers alone
        ("x > NULL", "x > 3", False),
    ],
)
def test_what_follows(one: str, other: str, follows: bool) -> None:
    assert all(implies(conditions(one), part) for part in conditions(other)) is follows


@pytest.mark.parametrize(
    ("alternatives", "expected"),
    [
        (("x > 5", "x > 3"), "x > 3"),
        (("x > 5 AND y = 'a'", "y = 'a'"), "y = 'a'"),
        (("x = 1", "y = 'a'"), "x = 1 OR y = 'a'"),
        (("x > 5", "x > 3", "y = 'a' AND x > 4"), "x > 3"),
        (("k = 'c' AND x = 1", "k = 'c' AND y = 'a'"), "k = 'c' AND (x = 1 OR y = 'a')"),
    ],
)
def test_the_weakest_of_several(alternatives: tuple[str, ...], expected: str) -> None:
    assert set(weakest([conditions(one) for one in alternatives])) == set(conditions(expected))
