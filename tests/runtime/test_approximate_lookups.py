"""Looked up within an error, or faded with time; and that what is looked up emits nothing by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.generated_lookups import steps
from support.generated_streams import START
from support.local_runs import table_of
from support.rows_in_view import Row
from support.sub_windows import DECLARATION, HALF, SCHEMA, streams
from support.text_oracle import answer_at
from windrow.errors import WindrowError
from windrow.runtime.local import LocalEngine
from windrow.units import BEGINNING


@settings(max_examples=60)
@given(rows=streams(most=60), cuts=st.lists(st.integers(0, 24), max_size=6), length=st.integers(1, 12))
def test_within_the_error(rows: list[Row], cuts: list[int], length: int) -> None:
    """COUNT and SUM of whole numbers that are not negative; and the same where every change is told, exactly."""
    engine = LocalEngine()
    engine.sql(DECLARATION)
    listed = "k, APPROX_COUNT(x, 0.2) AS n, APPROX_SUM(x, 0.2) AS t"
    window = f"[RANGE {length * 500} MILLISECONDS]"
    running = {BEGINNING: engine.query(f"SELECT {listed} FROM s {window} GROUP BY k REFRESH ON LOOKUP")}
    told = engine.query(f"SELECT {listed} FROM s {window} GROUP BY k")
    exact = f"SELECT k, COUNT(x) AS n, COALESCE(SUM(x), 0) AS t FROM s {window} GROUP BY k"

    def one_more(step: int) -> None:
        if engine.watermark not in running:
            running[engine.watermark] = engine.query(f"SELECT {listed} FROM s {window} GROUP BY k REFRESH ON LOOKUP")

    for final in steps(engine, rows, cuts, before=one_more):
        if all(row["ts"] >= final for row in rows):
            continue
        for start, query in running.items():
            there = [row for row in rows if start <= row["ts"] < final]
            wanted = {row[0]: row[1:] for row in answer_at(exact, {"s": there}, {"s": SCHEMA}, final - 1)}
            if start == BEGINNING:
                assert {row["k"]: (row["n"], row["t"] or 0) for row in told.answer().to_pylist()} == wanted
            found = {row["k"]: (row["n"], row["t"]) for row in query.answer().to_pylist()}
            assert found.keys() == wanted.keys()
            for key, values in wanted.items():
                assert all(abs(one - right) <= 0.2 * right for one, right in zip(found[key], values, strict=True))


@settings(max_examples=60)
@given(rows=streams(most=40), cuts=st.lists(st.integers(0, 24), max_size=6), half=st.integers(1, 9))
def test_fading(rows: list[Row], cuts: list[int], half: int) -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    life = f"INTERVAL {half * 500} MILLISECONDS"
    listed = ", ".join(f"DECAYED_{name}(x, {life}) AS {name.lower()}" for name in ("SUM", "COUNT", "AVG"))
    query = engine.query(f"SELECT k, {listed} FROM s GROUP BY k REFRESH ON LOOKUP")
    for final in steps(engine, rows, cuts):
        wanted: dict[Any, list[float]] = {}
        for row in rows:
            if row["ts"] < final:
                total = wanted.setdefault(row["k"], [0.0, 0.0])
                weight = 2.0 ** -((final - 1 - row["ts"]) / (half * HALF)) if row["x"] is not None else 0.0
                total[0] += weight * (row["x"] or 0)
                total[1] += weight
        found = {row["k"]: row for row in query.answer().to_pylist()}
        assert found.keys() == wanted.keys()
        for key, (total, weight) in wanted.items():
            assert found[key]["count"] == pytest.approx(weight)
            if weight:
                assert found[key]["sum"] == pytest.approx(total)
                assert found[key]["avg"] == pytest.approx(total / weight)
            else:
                assert found[key]["sum"] is found[key]["avg"] is None


def test_a_negative_value_makes_an_approximate_sum_null_until_it_leaves() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    query = engine.query("SELECT APPROX_SUM(x, 0.1) AS t FROM s [RANGE 3 SECONDS] REFRESH ON LOOKUP")
    found = []
    for second, x in enumerate([1, -1, 2, 2, 2, 2, 2]):
        engine.push("s", table_of([{"ts": START + 2 * second * HALF, "k": "a", "x": x, "y": None}], SCHEMA))
        engine.step()
        found += query.answer()["t"].to_pylist()
    assert found == [0, 1, None, None, None, 6, 6]


def test_what_fades_is_not_told() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    with pytest.raises(WindrowError, match="add REFRESH ON LOOKUP"):
        engine.query("SELECT DECAYED_SUM(x, INTERVAL 1 MINUTE) FROM s")


def test_it_emits_nothing_by_itself() -> None:
    engine = LocalEngine()
    engine.sql(DECLARATION)
    query = engine.query("SELECT SUM(x) FROM s [RANGE 1 MINUTE] REFRESH ON LOOKUP")
    for ask in (query.changes, lambda: query.subscribe(print)):
        with pytest.raises(WindrowError, match="emits no changes"):
            ask()
