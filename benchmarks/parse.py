"""How fast queries are parsed, bound and planned, and how that grows with the number of them."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
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
    # The same queries both ways: all in one session, and a tenth of them in each of ten.
    queries = [_query(number) for number in range(many)]
    whole = [queries]
    tenths = [queries[start : start + few] for start in range(0, many, few)]
    join = [[_join(JOIN_WIDTH)]]

    rounds = []
    for repeat in range(1, repeats + 1):
        measuring(f"{few:,} queries, {many:,} queries, a join of {JOIN_WIDTH}: {repeat} of {repeats}")
        with _collector_off():
            planning = _seconds(tenths), _seconds(whole)
        rounds.append((_seconds(tenths), _seconds(whole), _seconds(join), *planning))
    few_best, many_best, join_best, few_planning, many_planning = map(min, zip(*rounds, strict=True))

    return Report(
        bench="parse",
        params={"queries": many, "few": few, "join_width": JOIN_WIDTH, "repeats": repeats, "quick": quick},
        results=[
            _result(f"{few:,} queries", few, few_best / len(tenths)),
            _result(f"{many:,} queries", many, many_best),
            _result(f"{few:,} queries, collector off", few, few_planning / len(tenths)),
            _result(f"{many:,} queries, collector off", many, many_planning),
            _result(f"a join of {JOIN_WIDTH} windows", 1, join_best),
        ],
        ratios={
            "queries_per_second": many / many_best,
            "planning_growth": many_best / few_best,
            "planning_growth_collector_off": many_planning / few_planning,
        },
    )


def _seconds(files: list[list[str]]) -> float:
    """The time to carry out and explain the files, which plans their queries, each in its own session."""
    total = 0.0
    for statements in files:
        text = ";\n".join(statements)
        session = Session()
        session.execute(STREAMS)
        gc.collect()  # as in a new process: no file pays for the garbage of the one before it
        start = perf_counter()
        session.explain(text)
        total += perf_counter() - start
    return total


@contextmanager
def _collector_off() -> Iterator[None]:
    """Python's collector visits all living plans again and again; without it the planner's own growth shows."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _query(number: int) -> str:
    shape = SHAPES[number % len(SHAPES)]
    return f"CREATE QUERY q{number} AS " + shape.format(n=number, m=1 + number % 59)


def _join(width: int) -> str:
    windows = ", ".join(f"s [RANGE {1 + i} MINUTES] AS s{i}" for i in range(width))
    equalities = " AND ".join(f"s{i}.a = s{i + 1}.a" for i in range(width - 1))
    return f"CREATE QUERY wide AS SELECT s0.a FROM {windows} WHERE {equalities}"


def _result(workload: str, queries: int, seconds: float) -> dict[str, object]:
    return {"workload": workload, "seconds": seconds, "ms_per_query": 1_000 * seconds / queries}
