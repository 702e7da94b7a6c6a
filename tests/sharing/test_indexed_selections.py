"""Many selections of the same rows: an index finds what each of them finds by itself, and what SQL says."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.expression_oracle import expected
from support.local_runs import TIMESTAMP
from support.shard_runs import ShardsInProcess
from windrow.plan.nodes import Filter, Node
from windrow.plan.running_nodes import IndexedSelection
from windrow.runtime.local import LocalEngine
from windrow.runtime.modes import Mode
from windrow.runtime.outputs.feed import Receiver
from windrow.runtime.outputs.sinks import SinkForm
from windrow.sharing.indexed_selections import WORTH_AN_INDEX

DECLARATION = """CREATE STREAM s (ts TIMESTAMP, id BIGINT, b BIGINT, i INT, d DOUBLE, f FLOAT, n DECIMAL(10, 2),
    w DECIMAL(30, 5), t VARCHAR, g BOOLEAN, day DATE, at TIMESTAMP) TIMESTAMP BY ts;"""
MOMENT = datetime(2026, 1, 1, tzinfo=timezone.utc)
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "b": (pa.int64(), [-(2**63), -3, 0, 1, 2, 3, 2**53, 2**53 + 1, 2**63 - 1, None]),
    "i": (pa.int32(), [-(2**31), -1, 0, 1, 2, 3, 2**31 - 1, None]),
    "d": (pa.float64(), [-math.inf, -1.5, -0.0, 0.0, 0.1, 1.0, 1.5, 2.0, 1e300, math.inf, math.nan, None]),
    "f": (pa.float32(), [-1.5, -0.0, 0.1, 1.0, 1.5, 2.0, math.inf, math.nan, None]),
    "n": (pa.decimal128(10, 2), [Decimal(v) for v in ("-1.00", "0.00", "1.00", "1.49", "1.50", "1.51")] + [None]),
    "w": (pa.decimal128(30, 5), [Decimal(v) for v in ("-1.00000", "1.50000", "9999999999999999999.0")] + [None]),
    "t": (pa.string(), ["", "a", "ab", "b", "ä", None]),
    "g": (pa.bool_(), [True, False, None]),
    "day": (pa.date32(), [date(2026, 1, 1), date(2026, 1, 2), date(1969, 12, 31), None]),
    "at": (TIMESTAMP, [MOMENT, MOMENT.replace(microsecond=1), MOMENT.replace(day=2), None]),
}
NUMBERS = ["-1", "0", "1", "2", "3", "1.5", "0.1", "1.49999", "1e0", "0.1e0", "9007199254740993", "9223372036854775807"]
CONSTANTS = {
    **dict.fromkeys(("b", "i", "d", "f", "n", "w"), NUMBERS),
    "t": ["''", "'a'", "'ab'", "'zz'"],
    "day": ["DATE '2026-01-01'", "DATE '1969-12-31'"],
    "at": ["TIMESTAMP '2026-01-01 00:00:00'", "TIMESTAMP '2026-01-01 00:00:00.000001'", "DATE '2026-01-02'"],
}
COMPARISONS = ["=", "=", "<", "<=", ">", ">=", "<>"]


@st.composite
def parts(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from(sorted(CONSTANTS)))
    one, other = (draw(st.sampled_from(CONSTANTS[column])) for _ in range(2))
    forms = [
        f"{column} {draw(st.sampled_from(COMPARISONS))} {one}",
        f"{one} {draw(st.sampled_from(COMPARISONS))} {column}",
        f"{column} BETWEEN {one} AND {other}",
        f"{column} IN ({one}, {other}, {one})",
        f"{column} IN ({one}, NULL)",
        f"({column} > {one} OR {column} IS NULL)",
        draw(st.sampled_from(["g = TRUE", "g", "NOT g = FALSE", "t LIKE 'a%'", "b = i", "id % 2 = 0"])),
    ]
    return draw(st.sampled_from(forms))


predicates = st.lists(parts(), min_size=1, max_size=4).map(" AND ".join)
rows = st.fixed_dictionaries({name: st.sampled_from(values) for name, (_, values) in VALUES.items()})


def table(of: list[dict[str, Any]], first: int) -> pa.Table:
    ids = range(first, first + len(of))
    times = pa.array([number * 1000 for number in ids], pa.int64()).view(TIMESTAMP)
    columns = {name: pa.array([row[name] for row in of], kind) for name, (kind, _) in VALUES.items()}
    return pa.table({"ts": times, "id": pa.array(ids, pa.int64()), **columns})


def push(engine: Any, of: list[dict[str, Any]], cut: int) -> None:
    for begin, end in ((0, cut), (cut, len(of))):
        if begin < end:
            engine.push("s", table(of[begin:end], begin))
        engine.step()


def predicate_of(plan: Node) -> Any:
    return next(node.predicate for node in plan.walk() if isinstance(node, Filter))


def ids(query: Any) -> list[int]:
    return sorted(query.changes()["id"].to_pylist())


def indexed(engine: Any) -> list[IndexedSelection]:
    plans: Iterator[Node] = iter(engine._dataflow.plans.values())
    return [node for plan in plans for node in plan.walk() if isinstance(node, IndexedSelection)]


@settings(max_examples=60)
@given(
    asked=st.lists(predicates, min_size=WORTH_AN_INDEX, max_size=22),
    of=st.lists(rows, min_size=1, max_size=30),
    cut=st.integers(0, 30),
    shards=st.sampled_from([0, 0, 0, 2]),
)
def test_an_index_finds_what_each_finds_alone(
    asked: list[str], of: list[dict[str, Any]], cut: int, shards: int
) -> None:
    engine: Any = ShardsInProcess(shards) if shards else LocalEngine()
    engine.sql(DECLARATION)
    queries = [engine.query(f"SELECT id FROM s [RANGE {1 + n % 3} MINUTES] WHERE {p}") for n, p in enumerate(asked)]
    engine.sql("SET optimizer = off")
    alone = [engine.query(f"SELECT id FROM s [RANGE 1 MINUTE] WHERE {p}") for p in asked]
    push(engine, of, cut)
    engine.end("s")
    engine.step()
    values = {name: [row[name] for row in of] for name in VALUES} | {"id": list(range(len(of)))}
    for text, query, one in zip(asked, queries, alone, strict=True):
        holds = expected(predicate_of(one.plan), values, len(of))
        assert ids(query) == ids(one) == [place for place, value in enumerate(holds) if value is True], text
    engine.close()


def start(engine: Any, first: int, last: int, form: str = "SELECT id FROM s [RANGE 1 MINUTE] WHERE b = {n}") -> None:
    engine.sql(";".join(f"CREATE QUERY q{n} AS {form.format(n=n)}" for n in range(first, last)))


def rows_of(*values: int) -> list[dict[str, Any]]:
    return [{**dict.fromkeys(VALUES), "b": value} for value in values]


def test_few_selections_are_done_one_by_one() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    start(engine, 0, WORTH_AN_INDEX - 1)
    push(engine, rows_of(1), 1)

    assert not indexed(engine)

    start(engine, 100, 101)  # now there are enough
    engine.step()
    engine.push("s", table(rows_of(100), 10))
    engine.end("s")
    engine.step()
    assert len(indexed(engine)) == 1
    assert ids(engine["q100"]) == [10]


@pytest.mark.parametrize("shards", [0, 2])
def test_queries_come_and_go_while_others_run(shards: int) -> None:
    engine: Any = ShardsInProcess(shards) if shards else LocalEngine()
    engine.sql(DECLARATION)
    start(engine, 0, 20)
    found: dict[int, list[int]] = {n: [] for n in range(40)}
    running = set(range(20))
    for batch in range(8):
        values = [(batch * 7 + place * 3) % 40 for place in range(20)]
        engine.push("s", table(rows_of(*values), 20 * batch))
        engine.step()
        for n in running:
            found[n] += [20 * batch + place for place, value in enumerate(values) if value == n]
        for n in sorted(running)[batch::5]:
            assert ids(engine[f"q{n}"]) == sorted(found[n])
            engine.sql(f"DROP QUERY q{n}")
            running.remove(n)
        first = 20 + 2 * batch
        start(engine, first, first + 2)
        running |= {first, first + 1}
    for n in running:
        if n < 20 + 14:  # the last ones have seen no row
            assert ids(engine[f"q{n}"]) == sorted(found[n]), n
    engine.close()


def test_dropped_queries_leave_nothing_in_the_index() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    start(engine, 0, 20)
    push(engine, rows_of(1), 1)
    index = next(node.predicates for node in engine._dataflow.operators() if node.predicates is not None)
    assert len(index) == 20

    for n in range(20):
        engine.sql(f"DROP QUERY q{n}")
    gc.collect()  # operators and who steps them know each other

    assert len(index) == 0


def test_windows_that_begin_later_wake_queries_up() -> None:
    """Rows of [RANGE ... SLIDE ...] begin at the next refresh, in segments without rows."""
    engine = LocalEngine()
    engine.sql(DECLARATION)
    form = "SELECT id FROM s [RANGE 2 SECONDS SLIDE 1 SECOND] WHERE b = {n}"
    start(engine, 0, 20, form)
    engine.push("s", table(rows_of(3, 4), 100))
    engine.step()
    engine.push("s", table(rows_of(5), 1500))
    engine.step()

    assert engine["q3"].answer()["id"].to_pylist() == [100]
    assert engine["q5"].answer().num_rows == 0


def test_who_is_fed_with_more_than_changes_hears_of_ends() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    start(engine, 0, 20)
    told: list[Any] = []
    query: Any = engine["q3"]
    query.feed(Receiver("subscriber", "q3"), lambda rows, number: told.append(rows), SinkForm(Mode.DSTREAM))
    engine.push("s", table(rows_of(3), 1000))
    engine.step()
    engine.push("s", table(rows_of(4), 100_000))
    engine.step()

    assert [table["id"].to_pylist() for table in told] == [[1000]]


def test_aggregates_over_selections_share_the_index() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    form = "SELECT COUNT(*) AS c FROM s [RANGE 2 SECONDS SLIDE 1 SECOND] WHERE b = {n} AND d > 0.5"
    start(engine, 0, 20, form)
    of = [{**row, "d": 1.0} for row in rows_of(3, 3, 4)]
    push(engine, of, 1)
    engine.end("s")
    engine.step()

    assert len(indexed(engine)) == 20
    assert max(engine["q3"].changes()["c"].to_pylist()) == 2


def test_explain_tells_of_the_index() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    start(engine, 0, 20)
    engine.step()

    shown = engine.sql("EXPLAIN q3")[0].message

    assert "IndexedSelection" in shown
    assert "index of 20 predicates over Stream s" in shown
