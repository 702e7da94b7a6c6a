"""Windows and joins as other engines spell them mean what CQL has for them."""

from __future__ import annotations

import pytest

from windrow.cql import compile_query
from windrow.errors import WindrowError
from windrow.plan.nodes import Windowed
from windrow.plan.printer import query_text
from windrow.session import Session

TEN = "INTERVAL '10' MINUTES"
FIVE = "INTERVAL '5' MINUTES"


@pytest.fixture
def session() -> Session:
    made = Session()
    made.execute(
        "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts;"
        "CREATE STREAM t (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts;"
        "CREATE STREAM w (v INT) ARRIVAL; CREATE TABLE p (k STRING)"
    )
    return made


@pytest.mark.parametrize(
    ("other", "ours"),
    [
        (f"TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), {TEN}))", "s [RANGE 10 MINUTES SLIDE 10 MINUTES]"),
        (f"TABLE(HOP(TABLE s, DESCRIPTOR(ts), {FIVE}, {TEN}))", "s [RANGE 10 MINUTES SLIDE 5 MINUTES]"),
        (f"TUMBLE(s, ts, {TEN})", "s [RANGE 10 MINUTES SLIDE 10 MINUTES]"),
        ("hop(s, ts, INTERVAL '5 minutes', INTERVAL '10 minutes')", "s [RANGE 10 MINUTES SLIDE 5 MINUTES]"),
        (f"TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), {TEN})) AS x", "s [RANGE 10 MINUTES SLIDE 10 MINUTES] AS x"),
    ],
)
def test_table_functions_are_windows(session: Session, other: str, ours: str) -> None:
    query = "SELECT k, COUNT(*) AS n FROM {} GROUP BY {}k"
    plan = compile_query(query.format(other, "window_start, window_end, "), session.catalog)

    assert plan == compile_query(query.format(ours, ""), session.catalog)
    assert compile_query(query_text(plan), session.catalog) == plan


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        (f"TABLE(TUMBLE(TABLE s, DESCRIPTOR(v), {TEN}))", "v is not the time of this stream"),
        (f"TUMBLE(w, v, {TEN})", "v is not the time of this stream"),
        (f"TUMBLE(p, k, {TEN})", "a table has no window: its rows have no time"),
        (f"TABLE(HOP(TABLE s, DESCRIPTOR(ts), {FIVE}))", ", is missing after the column, here is ')'"),
        (f"TABLE(HOP(TABLE s, DESCRIPTOR(ts), {FIVE}, {TEN}, {FIVE}))", "a window has no offset"),
        ("TUMBLE(s, ts, INTERVAL '-1' MINUTE)", "an interval of a window is longer than zero"),
        (f"TABLE(SESSION(TABLE s, DESCRIPTOR(ts), {TEN}))", "there is no SESSION here"),
        (f"TABLE(CUMULATE(TABLE s, DESCRIPTOR(ts), {FIVE}, {TEN}))", "there is no CUMULATE here"),
    ],
)
def test_what_is_wrong_with_a_table_function(session: Session, relation: str, message: str) -> None:
    with pytest.raises(WindrowError) as caught:
        compile_query(f"SELECT COUNT(*) AS n FROM {relation}", session.catalog)

    assert caught.value.message == message


@pytest.mark.parametrize(
    ("condition", "windows"),
    [
        ("s.ts BETWEEN t.ts - INTERVAL '4' SECONDS AND t.ts", (4_000_001, 1)),
        ("t.ts > s.ts - INTERVAL 2 SECONDS AND s.ts + INTERVAL 3 SECONDS > t.ts", (3_000_000, 2_000_000)),
        ("t.ts >= INTERVAL 1 SECOND + s.ts AND t.ts <= s.ts + INTERVAL 2 SECONDS", (2_000_001, 1)),
        ("s.ts = t.ts", None),
        ("t.ts > s.ts", None),
    ],
)
def test_interval_joins_are_over_windows(session: Session, condition: str, windows: tuple[int, int] | None) -> None:
    for text in (f"SELECT s.v FROM s, t WHERE s.k = t.k AND {condition}", f"SELECT s.v FROM s JOIN t ON {condition}"):
        plan = compile_query(text, session.catalog)
        found = [node.window for node in plan.walk() if isinstance(node, Windowed)]

        assert [getattr(window.extent, "length", None) for window in found] == list(windows or ())
        assert all(window.internal for window in found)
