"""Every query goes by the watermarks of its own streams: one that is silent holds only those who read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from support.pushed_rows import SECOND, START, at
from support.shard_runs import ShardsInProcess
from windrow.runtime.local import LocalEngine

Engine = LocalEngine | ShardsInProcess
STREAMS = "".join(f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts;" for name in "abc")
ORIGIN = int(START.timestamp() * SECOND)
MAKERS: dict[str, Callable[[], Engine]] = {
    "local": LocalEngine,
    "one shard": lambda: ShardsInProcess(1),
    "two shards": lambda: ShardsInProcess(2),
    "forgetful shards": lambda: ShardsInProcess(3, forgetful=True),
}


@pytest.fixture(params=MAKERS)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made = MAKERS[request.param]()
    made.sql(STREAMS)
    yield made
    made.close()


def push(engine: Engine, stream: str, *rows: tuple[float, int]) -> None:
    engine.push(stream, [{"ts": at(seconds), "k": k} for seconds, k in rows])


def step(engine: Engine, **rows: Any) -> None:
    """Rows of streams, then a step."""
    for stream, some in rows.items():
        push(engine, stream, *some)
    engine.step()


def keys(engine: Engine, query: str, seconds: float) -> list[Any]:
    """The first column of the answer at an instant that is final, from the changelog."""
    assert seconds < watermark(engine, query)
    now, found = at(seconds), Counter[Any]()
    for row in engine[query].changes().to_pylist():
        if row["_ts"] <= now and (row["_exp"] is None or now < row["_exp"]):
            found[next(iter(row.values()))] += row["_sign"]
    assert min(found.values(), default=0) >= 0
    return sorted(found.elements())


def watermark(engine: Engine, query: str) -> float:
    return (engine[query].watermark - ORIGIN) / SECOND


def test_a_silent_stream_holds_only_its_readers(engine: Engine) -> None:
    engine.query("SELECT k FROM a [RANGE 5 SECONDS]", "q1")
    engine.query("SELECT a.k FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.k", "q2")
    step(engine, a=[(1, 1), (2, 2)])
    step(engine, a=[(3, 3), (10, 4)])
    assert watermark(engine, "q1") == 10
    assert keys(engine, "q1", 4) == [1, 2, 3]
    assert watermark(engine, "q2") < 0
    assert engine["q2"].changes().num_rows == 0

    step(engine, b=[(2, 1), (4, 2)])
    assert watermark(engine, "q2") == 4
    assert keys(engine, "q2", 3) == [1]
    step(engine, b=[(8, 3)])
    assert keys(engine, "q2", 5) == [1, 2]
    assert keys(engine, "q2", 7) == []


def test_a_row_is_late_by_its_own_stream_alone(engine: Engine) -> None:
    engine.query("SELECT k FROM a [RANGE 5 SECONDS] UNION ALL SELECT k FROM b [RANGE 5 SECONDS]", "q")
    engine.query("SELECT k FROM a [RANGE 5 SECONDS]", "alone")
    step(engine, a=[(10, 1)])
    step(engine, b=[(2, 2)], a=[(9, 3)])
    step(engine, b=[(12, 4)], a=[(12, 5)])
    counts = {name: of["late"] for name, of in engine.status()["streams"].items()}
    assert (counts["a"], counts["b"]) == (1, 0)
    assert keys(engine, "q", 3) == [2]
    assert keys(engine, "alone", 11) == [1]


def test_time_begins_for_a_query_with_its_own_first_row(engine: Engine) -> None:
    engine.query("SELECT k FROM b [RANGE 1 SECOND]", "other")
    engine.query("SELECT COUNT(*) AS n FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS]", "q")
    told: list[pa.Table] = []
    engine["q"].subscribe(told.append)
    step(engine, b=[(1, 1), (20, 2)])
    step(engine, a=[(11, 1), (17, 1)])
    refreshes = [(row["_window_end"], row["n"]) for table in told for row in table.to_pylist()]
    assert refreshes == [(at(12), 1), (at(14), 1), (at(16), 0)]


def test_what_tells_before_its_first_row_begins_with_its_query(engine: Engine) -> None:
    """COUNT(*) of nothing is 0 from the first row of the whole query on."""
    engine.query(
        "SELECT c.n FROM (SELECT COUNT(*) AS n FROM a [RANGE 9 SECONDS]) c, b [RANGE 3 SECONDS]", "q"
    )  # fmt: skip
    engine.query("SELECT COUNT(*) AS n FROM a [RANGE 9 SECONDS]", "alone")
    step(engine, a=[(10, 1), (12, 1)])
    step(engine, b=[(5, 1), (11, 1), (12, 1)])
    assert keys(engine, "q", 5) == [0]
    assert keys(engine, "q", 11) == [1]
    assert keys(engine, "alone", 10) == [1]


def test_a_query_ends_with_its_own_streams(engine: Engine) -> None:
    engine.query("SELECT COUNT(*) AS n FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS]", "q")
    engine.query("SELECT k FROM b [RANGE 4 SECONDS]", "other")
    told: list[pa.Table] = []
    engine["q"].subscribe(told.append)
    step(engine, a=[(1, 1), (3, 1)], b=[(1, 1)])
    engine.end("a")
    step(engine)
    step(engine)
    refreshes = [(row["_window_end"], row["n"]) for table in told for row in table.to_pylist()]
    assert refreshes == [(at(2), 1), (at(4), 2), (at(6), 1), (at(8), 0)]
    assert watermark(engine, "other") == 1
    step(engine, b=[(7, 2)])
    assert keys(engine, "other", 4) == [1]


def test_what_has_ended_is_held_back_for_who_goes_on(engine: Engine) -> None:
    engine.query("SELECT k FROM a [RANGE 4 SECONDS] EXCEPT SELECT k FROM b [RANGE 4 SECONDS]", "q")
    engine.query("SELECT k FROM a [RANGE 4 SECONDS]", "ended")
    step(engine, a=[(1, 1), (5, 2)])
    engine.end("a")
    step(engine, b=[(2, 1)])
    step(engine, b=[(6, 3)])
    assert keys(engine, "q", 1) == [1]
    assert keys(engine, "q", 2) == []
    assert keys(engine, "q", 5) == [2]
    step(engine, b=[(20, 3)])
    assert keys(engine, "q", 8) == [2]
    assert keys(engine, "q", 9) == []


class TestTables:
    DECLARED = "CREATE TABLE t (k BIGINT, name STRING)"

    def test_a_table_connects_nobody(self, engine: Engine) -> None:
        engine.sql(self.DECLARED)
        for stream in "ab":
            engine.query(f"SELECT t.name FROM {stream} [RANGE 100 SECONDS] JOIN t ON {stream}.k = t.k", f"of_{stream}")
        engine.sql("INSERT INTO t VALUES (1, 'first')")
        step(engine, a=[(1, 1), (10, 1)])
        assert keys(engine, "of_a", 9) == ["first"]
        engine.sql("INSERT INTO t VALUES (1, 'second')")  # at 10, the largest watermark
        step(engine, a=[(20, 1)])
        assert keys(engine, "of_a", 9) == ["first"]
        assert keys(engine, "of_a", 10) == ["first"] * 2 + ["second"] * 2
        step(engine, b=[(5, 1), (15, 1), (16, 1)])
        assert keys(engine, "of_b", 9) == ["first"], "there for both from the beginning"
        assert keys(engine, "of_b", 10) == ["first", "second"], "at one time for both"
        engine.sql("DELETE FROM t WHERE name = 'first'")
        step(engine, a=[(30, 1)], b=[(30, 1)])
        assert keys(engine, "of_b", 19) == ["first"] * 3 + ["second"] * 3
        assert keys(engine, "of_b", 20) == ["second"] * 3

    def test_a_table_waits_for_the_slowest_of_its_readers(self, engine: Engine) -> None:
        engine.sql(self.DECLARED)
        engine.query("SELECT t.name FROM a [RANGE 9 SECONDS] JOIN t ON a.k = t.k", "fast")
        engine.query(
            "SELECT t.name FROM a [RANGE 9 SECONDS] JOIN t ON a.k = t.k JOIN b [RANGE 9 SECONDS] ON a.k = b.k", "slow"
        )
        step(engine, a=[(1, 1)])
        for second in range(2, 8):
            engine.sql(f"UPDATE t SET name = 'until {second}'; DELETE FROM t; INSERT INTO t VALUES (1, 'at {second}')")
            step(engine, a=[(second, 1)])
        step(engine, b=[(1, 1), (20, 2)])
        for second in range(2, 7):
            assert keys(engine, "fast", second - 0.5) == keys(engine, "slow", second - 0.5), second
            assert set(keys(engine, "slow", second)) == {f"at {second + 1}"}

    def test_a_query_over_tables_alone_goes_with_the_others(self, engine: Engine) -> None:
        engine.sql(self.DECLARED)
        engine.query("SELECT name FROM t", "q")
        engine.query("SELECT k FROM a [RANGE 9 SECONDS]", "moving")
        engine.query("SELECT k FROM b [RANGE 9 SECONDS]", "waiting")
        engine.sql("INSERT INTO t VALUES (1, 'one')")
        step(engine, a=[(1, 1), (5, 1)])
        assert keys(engine, "q", 4) == ["one"]
        engine.sql("DELETE FROM t")
        step(engine, a=[(8, 1)])
        assert (keys(engine, "q", 4), keys(engine, "q", 5)) == (["one"], [])

    def test_a_change_after_a_stream_has_ended_is_for_the_others(self, engine: Engine) -> None:
        engine.sql(self.DECLARED)
        for stream in "ab":
            engine.query(f"SELECT t.name FROM {stream} [RANGE 100 SECONDS] JOIN t ON {stream}.k = t.k", f"of_{stream}")
        engine.sql(
            f"INSERT INTO t VALUES (1, 'one'); INSERT INTO t VALUES (1, 'later') AT '{at(50):%Y-%m-%d %H:%M:%S}'"
        )
        step(engine, a=[(1, 1)], b=[(2, 1)])
        engine.end("a")
        step(engine, b=[(4, 2)])
        assert keys(engine, "of_a", 60) == ["later", "one"]
        engine.sql("INSERT INTO t VALUES (1, 'two')")
        step(engine, b=[(60, 2)])
        assert keys(engine, "of_a", 60) == ["later", "one"], "it is over"
        assert keys(engine, "of_b", 5) == ["one", "two"]
        assert keys(engine, "of_b", 55) == ["later", "one", "two"]
