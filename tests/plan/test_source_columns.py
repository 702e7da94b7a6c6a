"""Which columns of a stream are read: those of the plan, and all where rows are compared or ordered as a whole."""

from pathlib import Path

import pytest

from support.shard_runs import ShardsInProcess
from windrow.plan.analysis.source_columns import source_columns
from windrow.plan.explain import Distribution, tree_text
from windrow.session import Session

STREAMS = """
    CREATE STREAM s (ts TIMESTAMP, a BIGINT, b STRING, c DOUBLE, d INT) TIMESTAMP BY ts;
    CREATE STREAM t (ts TIMESTAMP, a BIGINT, e STRING) TIMESTAMP BY ts;
"""
ALL = {"ts", "a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT a FROM s [RANGE 1 MINUTE] WHERE c > 1", {"s": {"a", "c"}}),
        ("SELECT COUNT(*) AS n FROM s [RANGE 1 MINUTE]", {"s": set()}),
        ("SELECT b, SUM(a) AS n FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY b", {"s": {"a", "b"}}),
        ("SELECT b, SUM(a) AS n FROM s [RANGE 1 MINUTE] GROUP BY b HAVING MAX(d) > 1", {"s": {"a", "b", "d"}}),
        (
            "SELECT s.b, t.e FROM s [RANGE 1 MINUTE], t [RANGE 1 MINUTE] WHERE s.a = t.a",
            {"s": {"a", "b"}, "t": {"a", "e"}},
        ),
        ("SELECT x.b FROM (SELECT a, b FROM s [RANGE 1 MINUTE]) AS x WHERE x.a > 0", {"s": {"a", "b"}}),
        ("SELECT a FROM s [ROWS 10]", {"s": ALL}),
        ("SELECT a FROM s [PARTITION BY b ROWS 1]", {"s": ALL}),
        ("SELECT b, LAST(a) AS a FROM s [RANGE 1 MINUTE] GROUP BY b", {"s": ALL}),
        ("SELECT DISTINCT b FROM s [RANGE 1 MINUTE]", {"s": {"b"}}),
        ("SELECT * FROM s [RANGE 1 MINUTE]", {"s": ALL}),
    ],
)
def test_columns_that_are_read(query: str, read: dict[str, set[str]]) -> None:
    session = Session(distribution=Distribution(4))
    session.execute(STREAMS)
    plan = session.plan(query)
    (running,) = session.prepare([session.starting("", plan)]).values()
    assert source_columns([plan]) == read
    assert {name: columns - {"ts"} for name, columns in source_columns([running]).items()} == {
        name: columns - {"ts"} for name, columns in read.items()
    }


def test_queries_are_read_for_together() -> None:
    session = Session()
    session.execute(STREAMS)
    plans = [session.plan(f"SELECT {column} FROM s [RANGE 1 MINUTE]") for column in ("a", "d")]
    assert source_columns(plans) == {"s": {"a", "d"}}


def test_explain_says_how_streams_are_read_on_shards(tmp_path: Path) -> None:
    engine = ShardsInProcess(2)
    engine.sql(f"""
        CREATE STREAM d (ts TIMESTAMP, a INT, b STRING, c STRING NOT NULL) FROM dataframe() TIMESTAMP BY ts;
        CREATE STREAM f (ts TIMESTAMP, a INT) FROM json('{tmp_path}') TIMESTAMP BY ts
    """)
    query = engine.query("SELECT d.a FROM d [RANGE 1 DAY], f [RANGE 1 DAY] WHERE d.a = f.a")
    assert query.explain().sources == (
        "d: Spark reads it, and only ts, a, c leave the JVM for this query",
        "f: workers read the json files, only their paths leave the JVM",
    )
    assert query.explain().sources[0] in tree_text(query.explain())
