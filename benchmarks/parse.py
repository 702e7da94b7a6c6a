"""How fast queries are parsed, bound and planned, and how that grows with the number of them."""

from time import perf_counter

from benchmarks.runner import Report, measuring
from windrow.session import Session

JOIN_WIDTH = 20

STREAMS = """
CREATE STREAM s (a BIGINT, b STRING, v DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM r (a BIGINT, b STRING, v DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;
"""

# {n} makes every query different, {m} varies the window.
SHAPES = (
    "SELECT a, v FROM s [RANGE {m} MINUTES] WHERE v > {n}",
    "SELECT b, COUNT(*) AS c FROM s [RANGE {m} MINUTES SLIDE 30 SECONDS] WHERE a <> {n} GROUP BY b",
    "SELECT s.a, r.v FROM s [RANGE {m} MINUTES], r [RANGE 5 MINUTES] WHERE s.a = r.a AND s.v < {n}",
    "SELECT a FROM s [RANGE {m} MINUTES] WHERE v > {n} AND NOT EXISTS (SELECT 1 FROM r [NOW] WHERE a = s.a)",
    "SELECT DISTINCT b FROM s [RANGE {m} MINUTES] WHERE a BETWEEN {n} AND 2 * {n}",
    "SELECT a, MAX(v) AS top FROM s [PARTITION BY a ROWS {m}] GROUP BY a HAVING MAX(v) > {n}",
    "SELECT a FROM s [RANGE {m} MINUTES] WHERE v > {n} UNION ALL SELECT a FROM r [ROWS 1000]",
)


def run(quick: bool) -> Report:
    many, few, repeats = (100, 10, 2) if quick else (1_000, 100, 5)
    queries = [_query(number) for number in range(many)]
    # The same queries both ways: all in one session, and a tenth of them in each of ten.
    whole = [queries]
    tenths = [queries[start : start + few] for start in range(0, many, few)]

    whole_seconds, tenths_seconds, join_seconds = [], [], []
    for repeat in range(1, repeats + 1):
        measuring(f"{many:,} queries at once and {few:,} at a time, {repeat} of {repeats}")
        tenths_seconds.append(_seconds(tenths))
        whole_seconds.append(_seconds(whole))
        join_seconds.append(_seconds([[_join(JOIN_WIDTH)]]))

    whole_best, tenths_best, join_best = min(whole_seconds), min(tenths_seconds), min(join_seconds)
    return Report(
        bench="parse",
        params={"queries": many, "few": few, "join_width": JOIN_WIDTH, "repeats": repeats, "quick": quick},
        results=[
            _result(f"{few:,} queries", few, tenths_best / len(tenths)),
            _result(f"{many:,} queries", many, whole_best),
            _result(f"a join of {JOIN_WIDTH} windows", 1, join_best),
        ],
        ratios={
            "queries_per_second": many / whole_best,
            "planning_growth": whole_best / tenths_best,
        },
    )


def _seconds(files: list[list[str]]) -> float:
    """The time that the files take, each in a session of its own."""
    total = 0.0
    for statements in files:
        text = ";\n".join(statements)
        session = Session()
        session.execute(STREAMS)
        start = perf_counter()
        session.execute(text)
        total += perf_counter() - start
    return total


def _query(number: int) -> str:
    shape = SHAPES[number % len(SHAPES)]
    return f"CREATE QUERY q{number} AS " + shape.format(n=number, m=1 + number % 59)


def _join(width: int) -> str:
    windows = ", ".join(f"s [RANGE {1 + i} MINUTES] AS s{i}" for i in range(width))
    equalities = " AND ".join(f"s{i}.a = s{i + 1}.a" for i in range(width - 1))
    return f"CREATE QUERY wide AS SELECT s0.a FROM {windows} WHERE {equalities}"


def _result(workload: str, queries: int, seconds: float) -> dict[str, object]:
    return {"workload": workload, "seconds": seconds, "ms_per_query": 1_000 * seconds / queries}
