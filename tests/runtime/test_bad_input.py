"""Bad input at run time: it is rejected with a reason and counted, the engine goes on, good rows are not affected."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from support.pushed_rows import SECOND, answer, at, ended, reasons, row, running
from windrow.sources.rows import UNPARSABLE

# What is wrong with a row, and what is said about it.
WRONG_VALUES = {
    "text for a number": ({"a": "many"}, "a is not BIGINT"),
    "a fraction for a whole number": ({"a": 1.5}, "a is not BIGINT"),
    "a number too large": ({"a": 2**70}, "a is not BIGINT"),
    "an object": ({"a": object()}, "a is not BIGINT"),
    "a list": ({"v": [1.5]}, "v is not DOUBLE"),
    "text for a double": ({"v": "high"}, "v is not DOUBLE"),
    "no time": ({"ts": None}, "ts is null"),
    "text for a time": ({"ts": "yesterday"}, "ts is not TIMESTAMP"),
    "a time out of range": ({"ts": 2**62}, "ts is out of range"),
    "a time far below the range": ({"ts": -(2**63)}, "ts is out of range"),
}


@pytest.mark.parametrize("together", [True, False], ids=["in one batch", "one row at a time"])
@pytest.mark.parametrize("change, reason", WRONG_VALUES.values(), ids=list(WRONG_VALUES))
def test_wrong_value(change: dict[str, Any], reason: str, together: bool) -> None:
    engine = running()
    rows = [row(1, a=1), {**row(2, a=2), **change}, row(3, a=3)]
    for batch in [rows] if together else [[one] for one in rows]:
        engine.push("s", batch)
        engine.step()
    ended(engine)

    assert answer(engine) == [(1, "x", 1.5), (3, "x", 1.5)]
    assert reasons(engine) == {reason: 1}
    rejected = engine.rejected("s")
    assert rejected is not None
    assert rejected["_reason"].to_pylist() == [reason]


def test_wrong_types_of_whole_columns() -> None:
    engine = running()
    engine.push("s", pa.table({"ts": [at(1), at(2)], "a": ["1", "two"], "b": [7, 8], "v": [1, 2]}))
    ended(engine)

    assert answer(engine) == [(1, "7", 1.0)]
    assert reasons(engine) == {"a is not BIGINT": 1}


def test_a_row_is_rejected_once_for_the_first_thing_that_is_wrong() -> None:
    engine = running()
    engine.push("s", [row(1), {"ts": "never", "a": "many", "b": "x", "v": "high"}])
    ended(engine)

    assert reasons(engine) == {"ts is not TIMESTAMP": 1}


def test_not_null_columns() -> None:
    engine = running("CREATE STREAM s (ts TIMESTAMP, a BIGINT NOT NULL, b STRING, v DOUBLE) TIMESTAMP BY ts")
    engine.push("s", [row(1), row(2, a=None), row(3, b=None)])
    ended(engine)

    assert answer(engine) == [(1, "x", 1.5), (1, None, 1.5)]
    assert reasons(engine) == {"a is null": 1}


def test_missing_columns_are_null() -> None:
    engine = running()
    engine.push("s", [{"ts": at(1), "a": 1}])
    engine.push("s", pa.table({"ts": [at(2)], "b": ["y"]}))
    ended(engine)

    assert answer(engine) == [(1, None, None), (None, "y", None)]
    assert reasons(engine) == {}


def test_a_missing_timestamp_column_rejects_the_rows() -> None:
    engine = running()
    engine.push("s", pa.table({"a": [1, 2]}))
    engine.push("s", [row(1)])
    ended(engine)

    assert answer(engine) == [(1, "x", 1.5)]
    assert reasons(engine) == {"ts is null": 2}


def test_rejected_rows_of_different_shapes_can_be_looked_at() -> None:
    engine = running()
    engine.push("s", pa.table({"ts": [at(1)], "a": ["one"]}))
    engine.push("s", pa.table({"ts": [at(2)], "a": [1.5]}))
    engine.push("s", pa.table({UNPARSABLE: ["17"]}))
    rejected = engine.rejected("s")

    assert rejected is not None
    assert rejected.num_rows == 3
    assert rejected["a"].to_pylist() == ["one", "1.5", None]


def test_coarser_and_finer_times() -> None:
    engine = running(query="SELECT ts, a FROM s [RANGE 1000 SECONDS]")
    seconds = int(at(1).timestamp())
    engine.push("s", pa.table({"ts": pa.array([seconds, 2**62], pa.timestamp("s")), "a": [1, 9]}))
    engine.push("s", pa.table({"ts": pa.array([(seconds + 1) * 10**9 + 1999], pa.timestamp("ns", "UTC")), "a": [2]}))
    engine.push("s", pa.table({"ts": ["2026-01-01 00:00:03", "2026-01-01T02:00:04+02:00"], "a": [3, 4]}))
    ended(engine)

    micro = timedelta(microseconds=1)
    assert answer(engine) == [(at(1), 1), (at(2) + micro, 2), (at(3), 3), (at(4), 4)]
    assert reasons(engine) == {"ts is not TIMESTAMP": 1}


def test_dictionaries_of_arrow() -> None:
    engine = running()
    columns = {"a": pa.array([5, 5]).dictionary_encode(), "b": pa.array(["x", None]).dictionary_encode()}
    engine.push("s", pa.table({"ts": [at(1), at(2)], **columns, "v": pa.array(["1.5", "z"]).dictionary_encode()}))
    ended(engine)

    assert answer(engine) == [(5, "x", 1.5)]
    assert reasons(engine) == {"v is not DOUBLE": 1}


def test_intervals_come_as_numbers_texts_and_durations() -> None:
    engine = running(
        "CREATE STREAM s (ts TIMESTAMP, a BIGINT, ttl INTERVAL) TIMESTAMP BY ts LIFETIME BY ttl", "SELECT a, ttl FROM s"
    )
    engine.push("s", pa.table({"ts": [at(1)], "a": [1], "ttl": [timedelta(seconds=90)]}))
    engine.push("s", pa.table({"ts": [at(1)], "a": [2], "ttl": [90 * SECOND]}))
    engine.push("s", pa.table({"ts": [at(1)] * 3, "a": [3, 4, 5], "ttl": ["90 seconds", "90000000", "long"]}))
    ended(engine)

    assert answer(engine) == [(a, timedelta(seconds=90)) for a in (1, 2, 3, 4)]
    assert reasons(engine) == {"ttl is not INTERVAL": 1}


def test_late_rows_are_counted_and_kept() -> None:
    engine = running("CREATE STREAM s (ts TIMESTAMP, a BIGINT, b STRING, v DOUBLE) TIMESTAMP BY ts SLACK 2 SECONDS")
    engine.push("s", [row(1), row(10)])
    engine.step()
    engine.push("s", [row(7.9, a=2), row(8, a=3)])
    ended(engine)

    assert [found[0] for found in answer(engine)] == [1, 1, 3]
    assert engine.status()["streams"]["s"]["late"] == 1
    late = engine.late("s")
    assert late is not None
    assert late.select(["a", "_reason"]).to_pylist() == [{"a": 2, "_reason": "behind the watermark"}]
