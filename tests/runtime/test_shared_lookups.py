"""Which queries are answered from what is stored for others, and what happens when those go."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from support.generated_lookups import rows_at, start_of_next
from support.generated_streams import START
from support.local_runs import bag_of_table, table_of
from support.shard_runs import ShardsInProcess
from support.sub_windows import DECLARATION, HALF, SCHEMA
from support.text_oracle import answer_at
from windrow.errors import WindrowError
from windrow.runtime.local import LocalEngine
from windrow.units import format_timestamp


def test_a_query_is_found_in_what_is_kept_for_others() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    engine.query("SELECT k, SUM(x), MAX(x) FROM s [RANGE 1 MINUTE] GROUP BY k REFRESH ON LOOKUP")
    rows = rows_at(range(60))
    engine.push("s", table_of(rows, SCHEMA))
    engine.step()
    final = engine.watermark
    for text in ("SELECT k, SUM(x) FROM s [RANGE 3 SECONDS] GROUP BY k",
                 "SELECT k, MAX(x) + SUM(x) AS t FROM s [RANGE FROM 20 SECONDS TO 5 SECONDS AGO] GROUP BY k",
                 "SELECT k FROM s [RANGE 5 SECONDS] GROUP BY k HAVING SUM(x) > 300"):  # fmt: skip
        there = [row for row in rows if row["ts"] < final]
        assert bag_of_table(engine.lookup(text)) == answer_at(text, {"s": there}, {"s": SCHEMA}, final - 1), text


@pytest.mark.parametrize(
    "make", [LocalEngine, lambda: ShardsInProcess(2, forgetful=True)], ids=["one process", "shards"]
)
def test_a_later_query_keeps_nothing_of_its_own(make: Any) -> None:
    """It is looked up in what runs, also when the query is dropped that this was made for."""
    engine = make()
    engine.sql(DECLARATION)
    engine.query("SELECT k, COUNT(*), SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k REFRESH ON LOOKUP", name="first")
    engine.push("s", table_of(rows_at(range(20)), SCHEMA))
    engine.step()
    start = start_of_next(engine)
    text = "SELECT k, SUM(x) FROM s [RANGE 5 SECONDS] GROUP BY k HAVING SUM(x) > 10"
    later = engine.query(f"{text} REFRESH ON LOOKUP", name="later")
    for until, names in ((26, "first, later"), (40, "later"), (60, "later")):
        rows = rows_at(range(until))
        engine.push("s", table_of([row for row in rows if row["ts"] > engine.last_row], SCHEMA))
        if names == "later" and "first" in {query.name for query in engine.queries}:
            engine.sql("DROP QUERY first")
        engine.step()
        there = [row for row in rows if start <= row["ts"] < engine.watermark]
        assert bag_of_table(later.answer()) == answer_at(
            text, {"s": there}, {"s": SCHEMA}, START + HALF * (until - 1) - 1
        )
        assert engine.status()["state_rows"] == until - 1, "every row is kept once"
        explained = str(later.explain())
        assert f"rows from before {format_timestamp(start)} are not in its windows" in explained
        assert ("shared with first" in explained) == (names != "later")
    engine.close()


def test_a_synopsis_goes_with_the_last_query() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    engine.query("SELECT k, SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k REFRESH ON LOOKUP", name="first")
    engine.push("s", table_of(rows_at(range(10)), SCHEMA))
    engine.step()
    engine.query("SELECT k, SUM(x) FROM s [RANGE 5 SECONDS] GROUP BY k REFRESH ON LOOKUP", name="later")
    engine.query("SELECT COUNT(*) FROM s [RANGE 1 SECOND]", name="other")
    engine.push("s", table_of(rows_at(range(10, 20)), SCHEMA))
    engine.step()
    state = weakref.ref(engine._dataflow.roots["first"].state)
    engine.sql("DROP QUERY first")
    gc.collect()
    assert state() is engine._dataflow.roots["later"].state
    engine.sql("DROP QUERY later")
    gc.collect()
    assert state() is None


OF_PAIRS = "COUNT(*) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS], s [RANGE 9 SECONDS SLIDE 3 SECONDS] AS r WHERE s.x = r.x"


@pytest.mark.parametrize(
    ("first", "later", "start", "is_shared"),
    [
        ("k, SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k", "k, SUM(x) FROM s [RANGE 2 MINUTES] GROUP BY k", 7, False),
        ("k, SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k", "k, MAX(x) FROM s [RANGE 1 MINUTE] GROUP BY k", 7, False),
        ("k, SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k", "SUM(x) FROM s [RANGE 1 MINUTE]", 7, False),
        ("SUM(x) FROM s [RANGE 1 MINUTE]", "SUM(x) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS]", 7, True),
        ("SUM(x) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS]", "SUM(x) FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS]", 6, True),
        (
            "SUM(x) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS]",
            "SUM(x) FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS]",
            7,
            False,
        ),
        ("SUM(x) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS]", "SUM(x) FROM s [RANGE 6 SECONDS]", 6, False),
        (
            "k, SUM(x) FROM s [PARTITION BY k ROWS 9] GROUP BY k",
            "k, SUM(x) FROM s [PARTITION BY k ROWS 3] GROUP BY k",
            7,
            True,
        ),
        (
            "k, SUM(x) FROM s [PARTITION BY k ROWS 9] GROUP BY k",
            "k, SUM(x) FROM s [RANGE 9 SECONDS] GROUP BY k",
            7,
            False,
        ),
        ("DECAYED_SUM(x, INTERVAL 1 MINUTE) FROM s", "DECAYED_SUM(x, INTERVAL 1 MINUTE) FROM s", 7, False),
        (OF_PAIRS, OF_PAIRS, 6, False),
    ],
)
def test_which_later_queries_share(first: str, later: str, start: int, is_shared: bool) -> None:
    """The same synopsis from another time on is another one. Strategies do not matter."""
    engine = LocalEngine()
    engine.sql(DECLARATION)
    engine.query(f"SELECT {first} REFRESH ON LOOKUP", name="first")
    engine.push("s", table_of(rows_at(range(2 * start + 1)), SCHEMA))
    engine.step()
    engine.sql("SET strategy = direct")
    query = engine.query(f"SELECT {later} REFRESH ON LOOKUP", name="later")
    engine.push("s", table_of(rows_at(range(2 * start + 1, 40)), SCHEMA))
    engine.step()
    assert ("shared with first" in str(query.explain())) == is_shared
    assert ("shared with later" in str(engine["first"].explain())) == is_shared


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, SUM(x) AS t FROM s [RANGE FROM 5 SECONDS TO 3 SECONDS AGO] GROUP BY k",
        "SELECT k FROM s [RANGE FROM 5 SECONDS TO 3 SECONDS AGO] GROUP BY k",
    ],
)
def test_windows_of_the_past_beside_what_is_only_of_now(text: str) -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    query = engine.query(f"{text} REFRESH ON LOOKUP")
    engine.query("SELECT k, APPROX_COUNT(x, 0.1) AS n FROM s [RANGE 20 SECONDS] GROUP BY k REFRESH ON LOOKUP")
    rows = [row | {"k": "ab"[row["x"] >= 34]} for row in rows_at(range(40))]
    engine.push("s", table_of(rows, SCHEMA))
    engine.step()
    for now in (engine.watermark - 1, engine.watermark - 1 - HALF):
        there = [row for row in rows if row["ts"] < engine.watermark]
        assert bag_of_table(query.answer(now)) == answer_at(text, {"s": there}, {"s": SCHEMA}, now)


def test_rows_that_move_before_they_are_filtered_are_the_same_rows() -> None:
    engine = ShardsInProcess(2)
    engine.sql(DECLARATION.replace(";", " PUNCTUATION BY k;"))
    text = "SELECT k, SUM(x) FROM s [RANGE 1 MINUTE] WHERE x > 3 GROUP BY k"
    engine.query(f"{text} REFRESH ON LOOKUP")
    engine.push("s", table_of(rows_at(range(20)), SCHEMA))
    engine.step()
    assert bag_of_table(engine.lookup(text.replace("1 MINUTE", "2 SECONDS"))) == {("a", 16 + 18): 1, ("b", 15 + 17): 1}
    engine.close()


@pytest.mark.parametrize("make", [LocalEngine, lambda: ShardsInProcess(2)], ids=["one process", "shards"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM s [RANGE 100 SECONDS SLIDE 5 SECONDS]",
        "SELECT ROUND(DECAYED_COUNT(x, INTERVAL 10000 SECONDS)) AS n FROM s",
    ],
)
def test_a_lookup_finds_the_oldest_rows_that_are_kept(make: Any, text: str) -> None:
    """What is kept for the second query begins later."""
    engine = make()
    engine.sql(DECLARATION)
    for begin in (0, 7):
        engine.query(f"{text} REFRESH ON LOOKUP")
        rows = [{"ts": START + n * 2 * HALF, "k": "a", "x": 1, "y": None} for n in range(begin, 2 * begin + 7)]
        engine.push("s", table_of(rows, SCHEMA))
        engine.step()
    old, new, found = (one.to_pylist()[0]["n"] for one in (*(q.answer() for q in engine.queries), engine.lookup(text)))
    assert found == old > new > 0
    engine.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT k, SUM(x) FROM s [RANGE 2 MINUTES] GROUP BY k", "begins before what is kept, which is 1 MINUTE"),
        ("SELECT k, AVG(x) FROM s [RANGE 1 SECOND] GROUP BY k", "nothing that is kept answers"),
        ("SELECT y, SUM(x) FROM s [RANGE 1 SECOND] GROUP BY y", "nothing that is kept answers"),
        ("SELECT x FROM s [RANGE 1 SECOND]", "only aggregates are looked up"),
    ],
)
def test_what_is_not_kept_is_refused(text: str, message: str) -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    engine.query("SELECT k, SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k REFRESH ON LOOKUP")
    engine.push("s", table_of([{"ts": START, "k": "a", "x": 1, "y": None}], SCHEMA))
    engine.step()
    with pytest.raises(WindrowError, match=message):
        engine.lookup(text)
