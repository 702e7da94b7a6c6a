"""The engine as a whole: what is remembered, what is dropped, what starts later."""

from __future__ import annotations

from pathlib import Path

import pytest

import windrow
from windrow.errors import WindrowError
from windrow.runtime.local import LocalEngine
from windrow.units import HOUR, SECOND, parse_timestamp

STREAM = "CREATE STREAM s (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;"


def rows(*pairs: tuple[int, int]) -> list[dict[str, object]]:
    return [{"ts": f"2026-01-01 00:00:{second:02}", "a": a} for second, a in pairs]


def test_connect_says_which_arguments_go_together() -> None:
    with pytest.raises(WindrowError, match="for engines on Spark"):
        windrow.connect(local=True, master="local[1]")
    with pytest.raises(WindrowError, match="for engines in this process"):
        windrow.connect(folder="somewhere")
    assert isinstance(windrow.connect(local=True), LocalEngine)


def test_a_folder_remembers_streams_tables_and_queries(tmp_path: Path) -> None:
    with windrow.connect(local=True, folder=str(tmp_path)) as first:
        first.sql(f"{STREAM} CREATE TABLE t (a BIGINT); CREATE QUERY q AS SELECT a FROM s [ROWS 2]")
    again = windrow.connect(local=True, folder=str(tmp_path))
    again.push("s", rows((1, 10), (2, 20), (3, 30), (9, 0)))
    again.step()
    assert again["q"].answer().to_pylist() == [{"a": 20}, {"a": 30}]
    again.close()


def test_a_query_that_cannot_run_leaves_nothing_behind() -> None:
    engine = windrow.connect(local=True)
    engine.sql(STREAM)
    with pytest.raises(WindrowError, match="FREQUENT"):
        engine.query("SELECT FREQUENT(a, 3) AS t FROM s [ROWS 5]", name="q")
    query = engine.query("SELECT a FROM s [ROWS 1]", name="q")
    engine.push("s", rows((1, 1), (2, 2)))
    engine.step()
    assert query.answer().to_pylist() == [{"a": 1}]


@pytest.mark.parametrize("name", ["two words", 'say "when"', "select", "Plain"])
def test_a_query_can_have_any_name(name: str) -> None:
    engine = windrow.connect(local=True)
    engine.sql(STREAM)
    query = engine.query("SELECT a FROM s [ROWS 1]", name=name)
    assert (query.name, engine[name]) == (name, query)


def test_help_shows_what_an_engine_and_a_query_do() -> None:
    engine = windrow.connect(local=True)
    engine.sql(STREAM)
    query = engine.query("SELECT COUNT(*) AS n FROM s [RANGE 1 HOUR]")
    looked_up = engine.query("SELECT COUNT(*) AS n FROM s [RANGE 1 HOUR] REFRESH ON LOOKUP")
    assert isinstance(engine, windrow.Engine)
    assert isinstance(query, windrow.Query) and isinstance(looked_up, windrow.Query)
    for described in (windrow.Engine, windrow.Query):
        for name, member in vars(described).items():
            assert name.startswith("_") or member.__doc__, f"{described.__name__}.{name} says nothing"


def test_dropped_queries_stop_and_dropped_streams_are_gone() -> None:
    engine = windrow.connect(local=True)
    engine.sql(f"{STREAM} CREATE QUERY q AS SELECT a FROM s [ROWS 1]; DROP QUERY q; DROP STREAM s")
    with pytest.raises(WindrowError, match="no query q"):
        engine["q"]
    with pytest.raises(WindrowError, match="no stream s"):
        engine.push("s", rows((1, 1)))
    engine.sql(STREAM)
    engine.push("s", rows((1, 1)))


def test_a_query_that_comes_later_takes_part_in_what_runs() -> None:
    """Definition 3.1 of the thesis: where a window is maintained, a new query answers from it right away."""
    engine = windrow.connect(local=True)
    engine.sql(STREAM)
    early = engine.query("SELECT COUNT(*) AS n FROM s [RANGE 1 HOUR]")
    engine.push("s", rows((1, 1), (2, 2), (5, 5)))
    engine.step()
    late = engine.query("SELECT COUNT(*) AS n FROM s [RANGE 1 HOUR]")
    other = engine.query("SELECT COUNT(*) AS n FROM s [RANGE 2 HOURS]")
    engine.push("s", rows((6, 6), (9, 9)))
    engine.step()
    assert early.answer().to_pylist() == late.answer().to_pylist() == [{"n": 4}]
    assert late.complete_from is None
    assert other.answer().to_pylist() == [{"n": 2}]
    assert other.covered_from == early.watermark - 4 * SECOND
    assert other.complete_from == other.covered_from + 2 * HOUR


def test_queries_with_equal_parts_share_their_operators() -> None:
    engine = windrow.connect(local=True)
    engine.sql(STREAM)
    for bound in range(20):
        engine.query(f"SELECT a, COUNT(*) AS n FROM s [RANGE 1 HOUR] GROUP BY a HAVING COUNT(*) > {bound}")
    engine.push("s", rows((1, 1), (2, 2), (3, 3), (9, 0)))
    engine.step()
    assert engine.status()["state_rows"] == 6, "three groups and three rows, once"


def test_a_sum_that_does_not_fit_is_null_until_it_does() -> None:
    engine = windrow.connect(local=True)
    engine.sql(STREAM)
    query = engine.query("SELECT SUM(a) AS total FROM s [ROWS 2]")
    engine.push("s", rows((1, 2**62), (2, 2**62), (3, 1), (9, 0)))
    engine.step()
    totals = query.changes().filter(query.changes()["_sign"].to_numpy() > 0)["total"].to_pylist()
    assert totals == [2**62, None, 2**62 + 1]


def test_statements_take_effect_one_after_the_other() -> None:
    engine = windrow.connect(local=True)
    with pytest.raises(WindrowError, match="nothing"):
        engine.sql(f"{STREAM} CREATE QUERY q AS SELECT a FROM nothing")
    engine.push("s", rows((1, 1)))


def test_queries_without_a_name_get_one_that_is_free() -> None:
    engine = windrow.connect(local=True)
    engine.sql(STREAM)
    first, second = (engine.query("SELECT a FROM s [ROWS 1]") for _ in range(2))
    engine.sql(f"DROP QUERY {first.name}")
    assert engine.query("SELECT a FROM s [ROWS 2]").name not in {second.name}


def test_a_folder_whose_query_writes_files_opens_again(tmp_path: Path) -> None:
    results = tmp_path / "results"
    for run in range(2):
        engine = windrow.connect(local=True, folder=str(tmp_path / "catalog"))
        if run == 0:
            engine.sql(f"{STREAM} CREATE QUERY q AS SELECT a FROM s [ROWS 1] INTO json('{results}')")
        engine.push("s", rows((1, run)))
        engine.end("s")
        engine.step()
        engine.close()
    assert [path.name for path in sorted(results.iterdir())] == ["part-00000.json", "part-00001.json"]


@pytest.mark.parametrize("strategy", ["upa", "nt"])
def test_an_answer_is_the_same_after_a_thousand_steps(strategy: str) -> None:
    """The view forgets what is over, also rows that end exactly with the watermark, and nothing else."""
    engine = LocalEngine()
    engine.sql(f"SET strategy = {strategy}; CREATE STREAM s (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts")
    rows = engine.query("SELECT a FROM s [RANGE 10 SECONDS]")
    groups = engine.query("SELECT a % 3 AS k, COUNT(*) AS n, MAX(a) AS newest FROM s [RANGE 10 SECONDS] GROUP BY a % 3")
    start = parse_timestamp("2026-01-01")
    for n in range(700):
        engine.push("s", [{"ts": start + n * SECOND + tick, "a": 3 * n + tick} for tick in range(3)])
        engine.step()
        newest = 3 * n + 1  # of those before the watermark; the row of the watermark's own time is not final
        alive = [a for a in range(max(0, newest - 29), newest + 1) if a >= 0]
        assert sorted(rows.answer()["a"].to_pylist()) == alive
        expected = {a % 3: (sum(b % 3 == a % 3 for b in alive), a) for a in alive}
        found = {row["k"]: (row["n"], row["newest"]) for row in groups.answer().to_pylist()}
        assert found == expected
    assert len(groups._view) < 4_000, "what was taken back is gone"


def test_an_answer_that_is_gone() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts")
    query = engine.query("SELECT a FROM s [RANGE 10 SECONDS]")
    start = parse_timestamp("2026-01-01")
    for n in range(3):
        engine.push("s", [{"ts": start + n * SECOND, "a": n}] * 1000)
        engine.step()
    with pytest.raises(WindrowError, match=r"the answer at 2026-01-01 00:00:00\.500000 is not kept any more") as caught:
        query.answer(at=start + SECOND // 2)
    assert caught.value.hint == "ask for 2026-01-01 00:00:01.999999 or later; changes() has what was before"
    assert query.answer(at=start + 2 * SECOND - 1).num_rows == 2000
    assert query.answer(at=start + 10 * SECOND).num_rows == 1000
