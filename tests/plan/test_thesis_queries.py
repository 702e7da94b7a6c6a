"""Every CQL query printed in the thesis parses, binds and has the update pattern that the thesis states.

The repairs to the printed texts are listed with each query: a stream that is printed under another name, a quoted
constant, a length for `...`. Spelling and case are as printed.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import AntiJoin, Distinct, GroupBy, Join, Node, Windowed
from windrow.plan.pattern import Pattern
from windrow.session import Session

MONOTONIC, WKS, WK, STR = Pattern

STREAMS = """
CREATE STREAM S (ts TIMESTAMP, a BIGINT, b BIGINT, length BIGINT, protocol STRING, "user" STRING) TIMESTAMP BY ts;
CREATE STREAM T (ts TIMESTAMP, a BIGINT, b BIGINT) TIMESTAMP BY ts;
CREATE STREAM S1 (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;
CREATE STREAM S2 (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;
CREATE STREAM S3 (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;
CREATE STREAM Stream1 (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;
CREATE STREAM Stream2 (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;
CREATE STREAM Link1 (ts TIMESTAMP, source_IP_address STRING, dest_IP_address STRING, protocol STRING) TIMESTAMP BY ts;
CREATE STREAM Link2 (ts TIMESTAMP, source_IP_address STRING, dest_IP_address STRING, protocol STRING) TIMESTAMP BY ts;
CREATE STREAM Link3 (ts TIMESTAMP, source_IP_address STRING, dest_IP_address STRING, protocol STRING) TIMESTAMP BY ts;
"""


@dataclass(frozen=True)
class Printed:
    where: str
    text: str
    pattern: Pattern
    repairs: str = ""


QUERIES = [
    Printed("1.1, Q1", "SELECT MAX(a) FROM S", STR),
    Printed("1.1, Q2", "SELECT MAX(a) FROM S [RANGE 1 min]", STR),
    Printed(
        "1.2, Q3",
        "SELECT MAX(a) FROM S [RANGE 1 min], T [RANGE 1 min] WHERE S.b = T.b",
        STR,
        "S.a for the a that both streams could have",
    ),
    Printed(
        "2.1.3, a join of two windows",
        """SELECT Rstream(*)
           FROM S1 [RANGE 1 min], S2 [RANGE 1 min]
           WHERE S1.a = S2.a""",
        WK,
    ),
    Printed(
        "3.4, the last ten results of a join",
        """SELECT Wstream(*)[ROWS 10]
           FROM Stream1[RANGE 1 min] AS S1, Stream2[RANGE 1 min] AS S2
           WHERE S1.a = S2.a""",
        STR,
        "aliases S1 and S2, which the condition uses",
    ),
    Printed(
        "3.4, a sum of sums in a sub-query",
        """SELECT SUM(a)
           FROM (SELECT SUM(a) AS a FROM Stream1[RANGE 6 sec SLIDE 6 sec INTERNAL]) [ROWS 10]""",
        STR,
        "alias a for the inner sum",
    ),
    Printed(
        "3.4, the same with an output window",
        """SELECT SUM(Wstream(SUM(a))[ROWS 10])
           FROM Stream1[RANGE 6 sec SLIDE 6 sec]""",
        STR,
    ),
    Printed(
        "3.4, restore semantics",
        """SELECT Rstream-restore(*)
           FROM Stream1[RANGE 1 min SLIDE 10 sec] AS S1,
               Stream2[RANGE 1 min SLIDE 10 sec] AS S2
           WHERE S1.a = S2.a""",
        WK,
        "aliases S1 and S2, which the condition uses",
    ),
    Printed(
        "3.5.1, the query of Figure 3.5",
        """SELECT Rstream(*)
           FROM S1 [RANGE 1 min], S2 [RANGE 1 min]
           WHERE S1.a = S2.a
           AND NOT EXISTS (
               SELECT Rstream(*)
               FROM S3 [RANGE 1 min]
               WHERE S3.a = S1.a)""",
        STR,
        "windows, which are printed without",
    ),
    Printed(
        "3.6.1, Query 1",
        """SELECT Rstream(*)
           FROM Link1 [RANGE 2000 seconds], Link2 [RANGE 2000 seconds]
           WHERE Link1.source_IP_address = Link2.source_IP_address
           AND Link1.protocol = 'ftp'
           AND Link2.protocol = 'ftp'""",
        WK,
        "lengths for `...`, quotes around ftp",
    ),
    Printed(
        "3.6.1, Query 2",
        """SELECT Rstream(DISTINCT source_IP_address)
           FROM Link1 [RANGE 2000 seconds]""",
        WK,
        "a length for `...`",
    ),
    Printed(
        "3.6.1, Query 3",
        """SELECT Rstream(*)
           FROM Link1 [RANGE 2000 seconds]
           WHERE NOT EXISTS (
               SELECT Rstream(*)
               FROM Link2 [RANGE 2000 seconds]
               WHERE Link2.source_IP_address = Link1.source_IP_address)""",
        STR,
        "lengths for `...`",
    ),
    Printed(
        "3.6.1, Query 4 in words",
        """SELECT Rstream(*)
           FROM Link1 [RANGE 2000 seconds], Link3 [RANGE 2000 seconds]
           WHERE Link1.source_IP_address = Link3.source_IP_address AND Link3.protocol = 'ftp'
           AND NOT EXISTS (
               SELECT Rstream(*)
               FROM Link2 [RANGE 2000 seconds]
               WHERE Link2.source_IP_address = Link1.source_IP_address)""",
        STR,
        "the text says what it composes, this is our wording",
    ),
    Printed("8.1, Q1", "SELECT MEDIAN(length) FROM S [WINDOW 10 min SLIDE 2 min]", STR),
    Printed("8.1, Q2", "SELECT MEDIAN(length) FROM S [WINDOW 14 min SLIDE 3 min]", STR),
    *(
        Printed(f"8.3.3, Q{number}", text, STR, "quotes around constants; user, a reserved word elsewhere, in quotes")
        for number, text in enumerate(
            (
                "SELECT SUM(length) FROM S WHERE protocol='TCP'",
                "SELECT SUM(length) FROM S WHERE protocol='UDP'",
                "SELECT SUM(length) FROM S WHERE protocol='TCP' OR protocol='UDP'",
                "SELECT MAX(length) FROM S WHERE protocol='TCP'",
                "SELECT MAX(length) FROM S WHERE \"user\"='U'",
                "SELECT MAX(length) FROM S WHERE protocol='TCP' OR \"user\"='U'",
            ),
            1,
        )
    ),
    *(
        Printed(f"8.4.3, Q{number}", f"SELECT SUM(length) FROM S [WINDOW {window}]", STR, "a SELECT for `...`")
        for number, window in enumerate(
            (
                "10 min SLIDE 2 min",
                "5 min SLIDE 2 min",
                "6 min SLIDE 2 min",
                "15 min SLIDE 3 min",
                "12 min SLIDE 3 min",
            ),
            1,
        )
    ),
    Printed(
        "Arasu and Widom 2004, Example 2.1",
        "Select K, SUM (A) From S [Range 300 seconds] Group By K Having SUM(A) > 1000",
        STR,
        "K and A are columns of their own stream; a unit for 300",
    ),
]


def plan_of(printed: Printed, optimizer: str = "on") -> Node:
    session = Session()
    session.execute(f"{STREAMS} SET optimizer = {optimizer}")
    text = printed.text
    if printed.where == "1.2, Q3":
        text = text.replace("MAX(a)", "MAX(S.a)")
    if printed.where.startswith("Arasu"):
        session.execute("DROP STREAM S; CREATE STREAM S (ts TIMESTAMP, K STRING, A BIGINT) TIMESTAMP BY ts")
    return session.plan(text)


@pytest.mark.parametrize("printed", QUERIES, ids=[query.where for query in QUERIES])
def test_printed_queries_have_the_stated_pattern(printed: Printed) -> None:
    assert update_pattern(plan_of(printed)) is printed.pattern


def by_place(where: str) -> Node:
    """The plan as it is printed: by the rates a cheaper one may be chosen."""
    return plan_of(next(query for query in QUERIES if query.where == where), optimizer="off")


def edge(plan: Node, kind: type[Node]) -> Pattern:
    return update_pattern(next(node for node in plan.walk() if isinstance(node, kind)))


def test_patterns_of_inner_edges() -> None:
    assert edge(by_place("1.2, Q3"), Join) is WK
    assert edge(by_place("3.5.1, the query of Figure 3.5"), Join) is WK
    assert edge(by_place("3.5.1, the query of Figure 3.5"), AntiJoin) is STR
    assert edge(by_place("3.6.1, Query 2"), Distinct) is WK
    assert edge(by_place("3.6.1, Query 3"), AntiJoin) is STR


def test_an_output_window_is_short_for_a_sub_query() -> None:
    """Both spellings of the sum of sums give the same plan, up to the names of the sub-query and its column."""
    nested, short = by_place("3.4, a sum of sums in a sub-query"), by_place("3.4, the same with an output window")
    assert [type(node) for node in nested.walk()] == [type(node) for node in short.walk()]
    for plan in (nested, short):
        windows = [node.window for node in plan.walk() if isinstance(node, Windowed)]
        assert [window.internal for window in windows] == [False, True]
        assert len([node for node in plan.walk() if isinstance(node, GroupBy)]) == 2


def test_an_external_window_in_the_sub_query_is_refused() -> None:
    """Section 3.4: one value that is replaced cannot be windowed."""
    session = Session()
    session.execute(STREAMS)
    with pytest.raises(Exception, match="withdrawn again"):
        session.plan("SELECT SUM(a) FROM (SELECT SUM(a) AS a FROM Stream1[RANGE 6 sec SLIDE 6 sec]) [ROWS 10]")
