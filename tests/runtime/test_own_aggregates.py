"""Aggregates of one's own: what they may be, what an error in one does, and how much work a change is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow
from support.own_aggregates import OWN, MergedSquares, Rows, Span, Squares
from support.shard_runs import ShardsInProcess
from windrow.errors import WindrowError
from windrow.plan.user_aggregate import UserAggregate
from windrow.runtime.local import LocalEngine
from windrow.types import BIGINT, DOUBLE, STRING, Type, array

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, a BIGINT) TIMESTAMP BY ts"


def engine_with(**registered: tuple[list[Type], Type, Any, dict[str, Any]]) -> LocalEngine:
    engine = windrow.connect(local=True)
    engine.sql(STREAM)
    for name, (arguments, result, functions, declared) in registered.items():
        engine.register_aggregate(name, arguments, result, functions, **declared)
    return engine


def feed(engine: LocalEngine | ShardsInProcess, *rows: tuple[int, str, int | None]) -> None:
    engine.push("s", [{"ts": f"2026-01-01 00:00:{second:02}", "k": k, "a": a} for second, k, a in rows])
    engine.step()


class Picky:
    """A sum that does not take 13, and does not give 100."""

    def initial(self) -> int:
        return 0

    def add(self, state: int, a: int) -> int:
        if a == 13:
            raise ValueError("unlucky")
        return state + a

    def merge(self, state: int, other: int) -> int:
        return state + other

    def finish(self, state: int) -> int:
        return state if state != 100 else "a hundred"  # type: ignore[return-value]


class PickyAndSubtractable(Picky):
    def subtract(self, state: int, part: int) -> int:
        return state - part


class PickyOnArrays:
    def initial(self, length: int) -> Any:
        return np.zeros(length, np.int64)

    def add(self, states: Any, a: Any) -> Any:
        if (a == 13).any():
            raise ValueError("unlucky")
        return states + a

    def merge(self, states: Any, others: Any) -> Any:
        return states + others

    def finish(self, states: Any) -> Any:
        if (states == 100).any():
            raise ValueError("a hundred")
        return states


@pytest.mark.parametrize(
    ("functions", "vectorized"), [(Picky, False), (PickyAndSubtractable, False), (PickyOnArrays, True)]
)
def test_an_error_makes_the_value_null_while_its_row_is_in_view(functions: type, vectorized: bool) -> None:
    engine = engine_with(picky=([BIGINT], BIGINT, functions, {"vectorized": vectorized}))
    sums = engine.query("SELECT k, PICKY(a) AS p, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k")
    counts = engine.query("SELECT COUNT(*) AS n FROM s [RANGE 5 SECONDS]")
    seen = []
    for row in [
        (1, "x", 1),
        (2, "x", 13),
        (3, "y", 40),
        (4, "x", 2),
        (5, "y", 60),
        (8, "x", 3),
        (9, "y", 1),
        (10, "z", 0),
    ]:
        feed(engine, row)
        seen.append(sorted((found["k"], found["p"]) for found in sums.answer().to_pylist()))
    assert seen == [
        [],
        [("x", 1)],
        [("x", None)],
        [("x", None), ("y", 40)],
        [("x", None), ("y", 40)],
        [("x", 2), ("y", None)],  # 13 has left, and 100 is there
        [("x", 5), ("y", 60)],
        [("x", 3), ("y", 61)],
    ]
    assert counts.answer().to_pylist() == [{"n": 3}]
    messages = {failure.message for failure in engine.failures("picky")}
    assert "PICKY failed in add(13): ValueError: unlucky" in messages
    assert any(message.startswith("PICKY failed in finish(100): ") for message in messages)
    assert engine.status()["aggregates"]["PICKY"]["failures"] >= len(messages)


def test_nulls_are_skipped_and_arguments_are_cast() -> None:
    engine = engine_with(squares=([DOUBLE], DOUBLE, Squares, {}), span=([DOUBLE], DOUBLE, Span, {"vectorized": True}))
    query = engine.query("SELECT SQUARES(a) AS q, SPAN(a + 1) AS s FROM s [ROWS 3]")
    feed(engine, (1, "x", None), (2, "x", 3), (3, "x", 5), (4, "x", 0))
    assert query.answer().to_pylist() == [{"q": 34.0, "s": 2.0}]


def test_results_of_any_type() -> None:
    class Seen:
        def initial(self) -> frozenset[str]:
            return frozenset()

        def add(self, state: frozenset[str], text: str) -> frozenset[str]:
            return state | {text}

        def merge(self, state: frozenset[str], other: frozenset[str]) -> frozenset[str]:
            return state | other

        def finish(self, state: frozenset[str]) -> list[str]:
            return sorted(state)

    engine = engine_with(seen=([STRING], array(STRING), Seen, {"duplicate_sensitive": False}))
    query = engine.query("SELECT SEEN(k) AS k FROM s [ROWS 3]")
    feed(engine, (1, "b", 1), (2, "a", 1), (3, "b", 1), (4, "c", 1))
    assert query.answer().to_pylist() == [{"k": ["a", "b"]}]


def test_a_change_costs_a_logarithm_of_the_window() -> None:
    class Counted(MergedSquares):
        merges = 0

        def merge(self, state: Any, other: Any) -> Any:
            Counted.merges += 1
            return Squares.merge(self, state, other)  # type: ignore[arg-type]

    engine = engine_with(counted=([DOUBLE], DOUBLE, Counted, {}))
    query = engine.query("SELECT COUNTED(a) AS q FROM s [ROWS 1000]")
    rows = [{"ts": 1_767_225_600_000_000 + place, "k": "x", "a": place} for place in range(1200)]
    for row in rows:
        row["ts"] = str(np.datetime64(row["ts"], "us"))
    engine.push("s", rows[:1100])
    engine.step()
    for row in rows[1100:]:
        Counted.merges = 0
        engine.push("s", [row])
        engine.step()
        assert Counted.merges < 8 * 10, "log2(1000) is 10"
    assert query.answer().to_pylist() == [{"q": float(sum(place**2 for place in range(199, 1199)))}]


@pytest.mark.parametrize(
    ("arguments", "functions", "declared", "message"),
    [
        ([DOUBLE], object, {}, "OWN has no function initial and add and finish and merge"),
        ([DOUBLE], Rows, {}, "OWN has no function merge"),
        ([DOUBLE], Rows, {"kind": "holistic", "vectorized": True}, "OWN has no function merge"),
        ([], Squares, {}, "OWN has no arguments"),
        ([DOUBLE], Squares, {"kind": "subtractable"}, "'subtractable' is not a class of aggregates"),
        ([DOUBLE], Squares, {"duplicate_sensitive": False}, "OWN cannot take away one of several equal rows"),
    ],
)
def test_what_is_refused(arguments: list[Type], functions: type, declared: dict[str, Any], message: str) -> None:
    engine = windrow.connect(local=True)
    with pytest.raises(WindrowError) as caught:
        engine.register_aggregate("OWN", arguments, DOUBLE, functions, **declared)
    assert caught.value.message.startswith(message)
    assert caught.value.hint


def test_a_vectorized_aggregate_that_cannot_begin_is_refused_with_its_query() -> None:
    engine = engine_with(squares=([DOUBLE], DOUBLE, Squares, {"vectorized": True}))
    with pytest.raises(WindrowError, match=r"SQUARES failed in initial\(0\)"):
        engine.query("SELECT SQUARES(a) AS q FROM s [ROWS 3]")


def test_a_folder_starts_its_queries_again_when_it_gets_their_aggregates(tmp_path: Any) -> None:
    own = windrow.UserAggregate("squares", (DOUBLE,), DOUBLE, Squares())
    first = windrow.connect(local=True, folder=str(tmp_path), aggregates=[own])
    first.sql(f"{STREAM}; CREATE QUERY q AS SELECT SQUARES(a) AS q FROM s [ROWS 3]")
    first.close()
    again = windrow.connect(local=True, folder=str(tmp_path), aggregates=[own])
    feed(again, (1, "x", 2), (2, "x", 3))
    assert again["q"].answer().to_pylist() == [{"q": 4.0}]
    again.close()


def test_failures_of_an_unknown_aggregate() -> None:
    with pytest.raises(WindrowError, match="there is no aggregate nobody"):
        windrow.connect(local=True).failures("nobody")


def test_shards_come_to_the_same_and_keep_the_functions(tmp_path: Path) -> None:
    """Also when the engine is taken up again by somebody who hands nothing over."""
    calls = ", ".join(f"{own.name}(CAST(a AS DOUBLE)) AS v{place}" for place, own in enumerate(OWN))
    text = f"SELECT k, {calls} FROM s [RANGE 6 SECONDS] GROUP BY k"
    batches = [[(second, "xyz"[second * 7 % 3], second % 5) for second in range(at, at + 4)] for at in range(0, 20, 4)]
    local = LocalEngine(aggregates=OWN)
    local.sql(STREAM)
    wanted = local.query(text, name="q")
    engine = ShardsInProcess(3, forgetful=True, checkpoint=str(tmp_path))
    for own in OWN:
        engine.register_aggregate(*registration(own))
    engine.sql(f"{STREAM}; CREATE QUERY q AS {text}")
    for rows in batches:
        feed(local, *rows)
        feed(engine, *rows)
        assert bag(engine["q"].answer()) == bag(wanted.answer())
        engine = ShardsInProcess(3, checkpoint=str(tmp_path))
    engine.register_aggregate(*registration(OWN[0]))  # as a program does that is started again
    engine.sql(f"CREATE QUERY later AS {text}")
    with pytest.raises(WindrowError, match="there is an aggregate OTHER already"):
        for functions in (Squares, Squares):
            engine.register_aggregate("other", [DOUBLE], DOUBLE, functions)
    with pytest.raises(WindrowError, match=f"there is an aggregate {OWN[0].name} already"):
        engine.register_aggregate(OWN[0].name, [STRING], DOUBLE, Squares)


def test_what_functions_raise_on_shards_is_counted() -> None:
    engine = ShardsInProcess(2)
    engine.register_aggregate("picky", [BIGINT], BIGINT, Picky)
    engine.sql(f"{STREAM}; CREATE QUERY q AS SELECT k, PICKY(a) AS v FROM s [RANGE 1 MINUTE] GROUP BY k")
    feed(engine, (1, "x", 13), (2, "y", 5), (3, "y", 6))
    feed(engine, (4, "z", 1))
    assert bag(engine["q"].answer()) == {repr({"k": "x", "v": None}): 1, repr({"k": "y", "v": 11}): 1}
    assert engine.status()["aggregates"] == {"PICKY": {"failures": 1}}
    assert "unlucky" in str(engine.failures("picky")[0])


def registration(own: UserAggregate) -> tuple[Any, ...]:
    return own.name, own.arguments, own.result, own.functions, own.kind.value, own.duplicate_sensitive, own.vectorized


def bag(answer: pa.Table) -> Counter[str]:
    return Counter(map(repr, answer.to_pylist()))
