"""Scalar functions of one's own: what they may be, what an error in one does, and that shards come to the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow
from support.shard_runs import ShardsInProcess
from windrow.errors import WindrowError
from windrow.runtime.local import LocalEngine
from windrow.types import BIGINT, DOUBLE, STRING, array

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, a BIGINT) TIMESTAMP BY ts"
ROWS = [(1, "x", 1), (1, "y", 13), (2, None, 3), (2, "x", 4), (3, "y", None)]
QUERY = """SELECT twice(a) AS t, COUNT(*) AS n FROM s [RANGE 10 SECONDS] WHERE COALESCE(tag(k), 'none') <> 'Y'
    GROUP BY twice(a)"""


def twice(a: int) -> int:
    if a == 13:
        raise ValueError("unlucky")
    return 2 * a


def twice_of_arrays(a: pa.Array) -> pa.Array:
    if 13 in a.to_pylist():
        raise ValueError("unlucky")
    return pc.multiply(a, 2)


def feed(engine: LocalEngine | ShardsInProcess, rows: list[tuple[int, str | None, int | None]]) -> None:
    engine.push("s", [{"ts": f"2026-01-01 00:00:{second:02}", "k": k, "a": a} for second, k, a in rows])
    engine.step()


def prepared(engine: Any, function: Any = twice, vectorized: bool = False) -> Any:
    engine.register_function("twice", [BIGINT], BIGINT, function, vectorized)
    engine.register_function("tag", [STRING], STRING, lambda text: text.upper())
    engine.sql(STREAM)
    return engine


def answer(engine: Any, name: str) -> Counter[tuple[Any, ...]]:
    """What is final: the last row of a stream is not yet."""
    table = engine[name].answer()
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize(("function", "vectorized"), [(twice, False), (twice_of_arrays, True)])
def test_an_error_gives_null_and_is_told(function: Any, vectorized: bool) -> None:
    engine = prepared(windrow.connect(local=True), function, vectorized)
    engine.sql("CREATE QUERY q AS SELECT a, twice(a) AS t FROM s [RANGE 10 SECONDS]")
    feed(engine, ROWS)

    assert answer(engine, "q") == Counter([(1, 2), (13, None), (3, 6), (4, 8)])
    (error,) = engine.failures("twice")
    assert str(error) == "TWICE(13) raised ValueError: unlucky"
    assert ("TWICE", "scalar, yours") in engine.sql("SHOW FUNCTIONS")[0].rows


def test_shards_come_to_the_same_and_keep_the_functions(tmp_path: Path) -> None:
    local = prepared(windrow.connect(local=True))
    local.sql(f"CREATE QUERY q AS {QUERY}")
    feed(local, ROWS[:3])
    feed(local, ROWS[3:])
    wanted = answer(local, "q")
    assert wanted == Counter([(2, 1), (6, 1), (8, 1)])

    engine = prepared(ShardsInProcess(2, forgetful=True, checkpoint=str(tmp_path)))
    engine.sql(f"CREATE QUERY q AS {QUERY}")
    feed(engine, ROWS[:3])
    engine = ShardsInProcess(2, checkpoint=str(tmp_path))
    feed(engine, ROWS[3:])
    assert answer(engine, "q") == wanted
    engine.register_function("twice", [BIGINT], BIGINT, twice)  # as a program does that is started again
    with pytest.raises(WindrowError, match="there is an aggregate TWICE already"):
        engine.register_function("twice", [STRING], BIGINT, twice)


def test_what_functions_raise_on_shards_is_counted() -> None:
    engine = prepared(ShardsInProcess(2))
    engine.sql("CREATE QUERY q AS SELECT a, twice(a) AS t FROM s [RANGE 10 SECONDS]")
    feed(engine, ROWS)
    assert engine.status()["aggregates"] == {"TWICE": {"failures": 1}, "TAG": {"failures": 0}}


def test_arguments_are_cast_and_results_checked() -> None:
    engine = windrow.connect(local=True)
    engine.register_function("halves", [DOUBLE], array(DOUBLE), lambda x: [x / 2, x / 2])
    engine.register_function("wrong", [BIGINT], BIGINT, lambda a: "text")
    engine.sql(STREAM)
    engine.sql("CREATE QUERY q AS SELECT halves(a)[1] AS h, wrong(a) AS w FROM s [RANGE 10 SECONDS]")
    feed(engine, [(1, "x", 3), (2, "x", 3)])

    assert answer(engine, "q") == Counter([(1.5, None)])
    assert len(engine.failures("wrong")) == 1


def test_what_is_refused() -> None:
    engine = prepared(windrow.connect(local=True))
    with pytest.raises(WindrowError, match="UPPER is a function of Windrow"):
        engine.register_function("upper", [STRING], STRING, str.upper)
    with pytest.raises(WindrowError, match="has no arguments"):
        engine.register_function("nothing", [], STRING, lambda: "")
    with pytest.raises(WindrowError, match="is not a function"):
        engine.register_function("nothing", [STRING], STRING, 5)
    with pytest.raises(WindrowError, match="TWICE takes BIGINT, this is STRING"):
        engine.sql("SELECT twice(k) FROM s")
    with pytest.raises(WindrowError, match="TWICE takes 1 arguments"):
        engine.sql("SELECT twice(a, a) FROM s")
