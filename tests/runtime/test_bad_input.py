"""Bad input at run time: it is rejected with a reason and counted, the engine goes on, good rows are not affected.

Also what comes in through every kind of source, time without input, and what goes out through every kind of sink.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from windrow.clock import ManualClock
from windrow.errors import WindrowError
from windrow.runtime.local import Engine

SECOND = 1_000_000
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
DECLARATION = "CREATE STREAM s (ts TIMESTAMP, a BIGINT, b STRING, v DOUBLE) TIMESTAMP BY ts"
ALL = "SELECT a, b, v FROM s [RANGE 1000 SECONDS]"


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def row(seconds: float, a: Any = 1, b: Any = "x", v: Any = 1.5) -> dict[str, Any]:
    return {"ts": at(seconds), "a": a, "b": b, "v": v}


def running(declaration: str = DECLARATION, query: str = ALL) -> Engine:
    engine = Engine()
    engine.sql(declaration)
    engine.query(query, "q")
    return engine


def answer(engine: Engine) -> list[tuple[Any, ...]]:
    """The answer at the time of the last row."""
    table = engine["q"].answer(at=engine.last_row)
    rows = zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    return sorted(rows, key=lambda row: [(value is None, str(value)) for value in row])


def ended(engine: Engine, stream: str = "s") -> Engine:
    engine.end(stream)
    engine.run()
    return engine


def reasons(engine: Engine, stream: str = "s") -> dict[str, int]:
    return dict(engine.status()["streams"][stream]["rejected"])


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


def test_missing_columns_are_null_and_others_are_not_read() -> None:
    engine = running()
    engine.push("s", [{"ts": at(1), "a": 1, "strange": object()}])
    engine.push("s", pa.table({"ts": [at(2)], "b": ["y"], "more": [[1, 2]]}))
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


def test_rows_that_are_no_rows() -> None:
    engine = running()
    engine.push("s", [row(1), (2, 3), None, "text"])
    ended(engine)

    assert answer(engine) == [(1, "x", 1.5)]
    assert reasons(engine) == {"it cannot be read": 3}


def test_rejected_rows_of_different_shapes_can_be_looked_at() -> None:
    engine = running()
    engine.push("s", pa.table({"ts": [at(1)], "a": ["one"]}))
    engine.push("s", pa.table({"ts": [at(2)], "a": [1.5]}))
    engine.push("s", [17])
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
    assert late.select(["a", "_reason"]).to_pylist() == [{"a": 2, "_reason": "later than the watermark"}]


# Sources


def frames() -> dict[str, Any]:
    table = pa.table({"ts": [at(1), at(2)], "a": [1, 2], "b": ["x", None], "v": [0.5, None]})
    rows = table.to_pylist()

    class Frame:
        """What frames of other libraries look like from here."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return table.__arrow_c_stream__(requested_schema)

    def generated() -> Iterator[dict[str, Any]]:
        yield from rows

    return {
        "table": table,
        "record batch": table.to_batches()[0],
        "record batches": table.to_batches(max_chunksize=1),
        "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        "list of rows": rows,
        "generator of rows": generated(),
        "frame": Frame(),
    }


@pytest.mark.parametrize("kind", list(frames()))
def test_python_sources(kind: str) -> None:
    engine = Engine()
    engine.stream("s", frames()[kind], timestamp="ts")
    engine.query(ALL, "q")
    engine.run()

    assert answer(engine) == [(1, "x", 0.5), (2, None, None)]


def test_something_that_is_no_source() -> None:
    with pytest.raises(WindrowError) as caught:
        Engine().stream("s", 17, timestamp="ts")

    assert caught.value.message == "int is not a source of rows"


def reading(form: str, place: Path, columns: str = "ts TIMESTAMP, a BIGINT, b STRING, v DOUBLE") -> Engine:
    engine = running(f"CREATE STREAM s ({columns}) FROM {form}('{place}') TIMESTAMP BY ts")
    engine.run()
    return engine


def test_csv_with_bad_lines(tmp_path: Path) -> None:
    lines = [
        b"ts,a,b,v,unread",
        b"2026-01-01 00:00:01,1,x,0.5,7",
        b"2026-01-01 00:00:02,two,x,0.5,7",
        b"2026-01-01 00:00:03,3",
        b"not a time,3,x,0.5,7",
        b"2026-01-01 00:00:04,4,\xff\xfe,0.5,7",
        b"2026-01-01 00:00:05,5,NA,,text",
        b'2026-01-01 00:00:06,6,"",1e3,7',
        b"2026-01-01 00:00:07,7,,NaN,7",
    ]
    (tmp_path / "rows.csv").write_bytes(b"\n".join(lines) + b"\n")
    engine = reading("csv", tmp_path / "rows.csv")

    found = answer(engine)
    assert [(a, b) for a, b, _ in found] == [(1, "x"), (5, "NA"), (6, ""), (7, None)]
    assert [v for _, _, v in found[:3]] == [0.5, None, 1000.0]
    assert math.isnan(found[3][2])
    assert reasons(engine) == {"a is not BIGINT": 1, "it cannot be read": 2, "ts is not TIMESTAMP": 1}


def test_json_with_bad_lines(tmp_path: Path) -> None:
    lines = [
        '{"ts": "2026-01-01 00:00:01", "a": 1, "b": "x", "v": 0.5, "unread": {"deep": 1}}',
        '{"ts": "2026-01-01 00:00:02", "a": "two", "b": "x"}',
        '{"ts": "2026-01-01 00:00:03", "a": 3, ',
        "[1, 2]",
        "",
        '{"ts": "2026-01-01T00:00:04Z", "a": 4, "b": {"no": "text"}}',
        '{"ts": "2026-01-01T00:00:05Z", "a": 5, "b": null, "v": 7}',
        f'{{"ts": "2026-01-01 00:00:06", "a": {2**80}}}',
        '{"a": 7}',
    ]
    (tmp_path / "rows.json").write_text("\n".join(lines), encoding="utf-8")
    engine = reading("json", tmp_path)

    assert answer(engine)[0] == (1, "x", 0.5)
    assert (5, None, 7.0) in answer(engine)
    assert reasons(engine)["it cannot be read"] == 2
    assert reasons(engine)["a is not BIGINT"] == 2
    assert reasons(engine)["ts is null"] == 1


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_folders_are_read_file_by_file_and_broken_files_do_not_stop_it(form: str, tmp_path: Path) -> None:
    for number, name in enumerate(["one", "sub/two"], start=1):
        path = tmp_path / f"{name}.{form}"
        path.parent.mkdir(exist_ok=True)
        table = pa.table({"ts": [at(number)], "a": [number], "b": ["x"], "v": [0.5]})
        if form == "parquet":
            pa.parquet.write_table(table, path)
        elif form == "csv":
            pa.csv.write_csv(table, path)
        else:
            path.write_text(f'{{"ts": "{at(number).isoformat()}", "a": {number}, "b": "x", "v": 0.5}}\n')
    (tmp_path / f"p_empty.{form}").write_bytes(b"")
    (tmp_path / f"other.{form}").write_bytes(b"\x00\x01 this is nothing \xff\n\xfe")
    (tmp_path / "notes.txt").write_text("not read")
    engine = reading(form, tmp_path)

    assert answer(engine) == [(1, "x", 0.5), (2, "x", 0.5)]
    assert sum(reasons(engine).values()) >= 1


def test_every_type_comes_through_csv_and_json(tmp_path: Path) -> None:
    columns = "ts TIMESTAMP, i INT, m DECIMAL(10, 2), p BOOLEAN, d DATE, l INTERVAL, f FLOAT"
    wanted = [(7, Decimal("1.50"), True, at(0).date(), timedelta(seconds=1), 0.5)]
    (tmp_path / "rows.csv").write_text(
        "ts,i,m,p,d,l,f\n2026-01-01 00:00:01,7,1.50,true,2026-01-01,1 second,0.5\n2026-01-01 00:00:02,8,1.5x,,,,\n"
    )
    (tmp_path / "rows.json").write_text(
        '{"ts": "2026-01-01 00:00:01", "i": 7, "m": "1.50", "p": true, "d": "2026-01-01", "l": 1000000, "f": 0.5}\n'
    )
    for form in ("csv", "json"):
        declaration = f"CREATE STREAM s ({columns}) FROM {form}('{tmp_path}') TIMESTAMP BY ts"
        engine = running(declaration, "SELECT i, m, p, d, l, f FROM s [RANGE 1000 SECONDS]")
        engine.run()
        assert answer(engine) == wanted, form
        assert reasons(engine) == ({"m is not DECIMAL(10, 2)": 1} if form == "csv" else {})


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WindrowError) as caught:
        Engine().sql(f"CREATE STREAM s (ts TIMESTAMP) FROM csv('{tmp_path}/none') TIMESTAMP BY ts")

    assert caught.value.message == f"there are no csv files in {tmp_path}/none"


# Time without input


def beating(clock: ManualClock, *streams: str) -> Engine:
    engine = Engine(clock=clock)
    for name in streams:
        engine.sql(f"CREATE STREAM {name} (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts HEARTBEAT 5 SECONDS")
    return engine


def clock_at(seconds: float) -> ManualClock:
    return ManualClock(int(at(seconds).timestamp() * SECOND))


def test_a_quiet_stream_still_expires() -> None:
    clock = clock_at(0)
    engine = beating(clock, "s")
    query = engine.query("SELECT a FROM s [RANGE 3 SECONDS]", "q")
    told: list[pa.Table] = []
    query.subscribe(told.append)
    clock.advance(SECOND)
    engine.push("s", [{"ts": at(1), "a": 1}])
    engine.step()
    clock.advance(4 * SECOND)
    engine.step()
    before = query.answer().num_rows, engine.watermark
    clock.advance(1 * SECOND)
    engine.step()

    assert before == (0, at(1).timestamp() * SECOND), "not long enough"
    assert engine.watermark == at(6).timestamp() * SECOND
    assert query.answer(at=int(at(3.5).timestamp() * SECOND)).to_pylist() == [{"a": 1}]
    assert query.answer().num_rows == 0
    assert [change["_sign"] for table in told for change in table.to_pylist()] == [1]


def test_a_stream_that_never_had_a_row_does_not_hold_the_others_back() -> None:
    clock = clock_at(0)
    engine = beating(clock, "s", "t")
    query = engine.query("SELECT a FROM s [RANGE 100 SECONDS] EXCEPT SELECT a FROM t [RANGE 100 SECONDS]", "q")
    engine.push("s", [{"ts": at(1), "a": 1}])
    engine.step()
    assert query.answer().num_rows == 0, "t may still have one"
    clock.advance(6 * SECOND)
    engine.step()

    assert query.answer().to_pylist() == [{"a": 1}]


def test_rows_after_a_heartbeat_are_late_before_it() -> None:
    clock = clock_at(0)
    engine = beating(clock, "s")
    engine.query("SELECT a FROM s [RANGE 100 SECONDS]", "q")
    clock.advance(10 * SECOND)
    engine.step()
    engine.push("s", [{"ts": at(9), "a": 1}, {"ts": at(10), "a": 2}])
    ended(engine)

    assert answer(engine) == [(2,)]
    assert engine.status()["streams"]["s"]["late"] == 1


def test_arrival_time_is_the_clock() -> None:
    clock = clock_at(5)
    engine = Engine(clock=clock)
    engine.sql("CREATE STREAM s (a BIGINT) ARRIVAL")
    query = engine.query("SELECT a FROM s [RANGE 2 SECONDS]", "q")
    engine.push("s", [{"a": 1}, {"a": 2}])
    clock.advance(SECOND)
    engine.push("s", [{"a": 3}, {"a": "wrong"}])
    ended(engine)

    begins = query.changes().select(["a", "_ts"]).to_pylist()
    assert begins == [{"a": 1, "_ts": at(5)}, {"a": 2, "_ts": at(5)}, {"a": 3, "_ts": at(6)}]
    assert reasons(engine) == {"a is not BIGINT": 1}


# Sinks

CONTINUOUS = "SELECT a, v FROM s [RANGE 2 SECONDS]"
PERIODIC = "SELECT COUNT(*) AS n FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS]"
CHANGES = [(1, 0.5, at(1), at(3), 1), (None, math.nan, at(2), at(4), 1)]
REFRESHES = [(1, at(2)), (1, at(4)), (0, at(6))]


def into(sink: str, query: str) -> Engine:
    engine = Engine()
    engine.sql(f"{DECLARATION}; CREATE QUERY q AS {query} INTO {sink}")
    engine.push("s", [{"ts": at(1), "a": 1, "v": 0.5}, {"ts": at(2), "a": None, "v": math.nan}])
    return ended(engine)


def parts(folder: Path) -> list[Path]:
    found = sorted(folder.iterdir())
    assert all(path.name.startswith("part-") for path in found), "nothing half written is left"
    return found


def same(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
    return repr(sorted(found, key=repr)) == repr(sorted(wanted, key=repr))


def test_parquet_sink(tmp_path: Path) -> None:
    into(f"parquet('{tmp_path}/changes')", CONTINUOUS)
    into(f"parquet('{tmp_path}/refreshes')", PERIODIC)

    changes = pa.concat_tables([pa.parquet.read_table(path) for path in parts(tmp_path / "changes")])
    assert changes.column_names == ["a", "v", "_ts", "_exp", "_sign"]
    assert same([tuple(row.values()) for row in in_utc(changes)], CHANGES)
    refreshes = pa.concat_tables([pa.parquet.read_table(path) for path in parts(tmp_path / "refreshes")])
    assert [tuple(row.values()) for row in in_utc(refreshes)] == REFRESHES


def in_utc(table: pa.Table) -> list[dict[str, Any]]:
    rows = table.to_pylist()
    return [{k: v.astimezone(timezone.utc) if isinstance(v, datetime) else v for k, v in row.items()} for row in rows]


def test_json_sink(tmp_path: Path) -> None:
    into(f"json('{tmp_path}/changes')", CONTINUOUS)
    into(f"json('{tmp_path}/refreshes')", PERIODIC)

    lines = [line for path in parts(tmp_path / "changes") for line in path.read_text().splitlines()]
    strict = [json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is not JSON")) for line in lines]
    assert strict == [
        {"a": 1, "v": 0.5, "_ts": at(1).isoformat(), "_exp": at(3).isoformat(), "_sign": 1},
        {"a": None, "v": "nan", "_ts": at(2).isoformat(), "_exp": at(4).isoformat(), "_sign": 1},
    ]
    lines = [line for path in parts(tmp_path / "refreshes") for line in path.read_text().splitlines()]
    assert [json.loads(line) for line in lines] == [{"n": n, "_window_end": end.isoformat()} for n, end in REFRESHES]


def test_csv_sink(tmp_path: Path) -> None:
    into(f"csv('{tmp_path}/changes')", CONTINUOUS)

    found = [row for path in parts(tmp_path / "changes") for row in csv.DictReader(path.open())]
    assert [row["a"] for row in found] == ["1", ""]
    assert [row["_sign"] for row in found] == ["1", "1"]
    assert [row["_ts"][:19] for row in found] == ["2026-01-01 00:00:01", "2026-01-01 00:00:02"]


def test_open_ends_are_null(tmp_path: Path) -> None:
    into(f"json('{tmp_path}')", "SELECT a FROM s [ROWS 1] WHERE a IS NULL")

    lines = [json.loads(line) for path in parts(tmp_path) for line in path.read_text().splitlines()]
    assert [(line["_exp"], line["_sign"]) for line in lines] == [(None, 1)]


def test_ends_that_no_calendar_has(tmp_path: Path) -> None:
    into(f"json('{tmp_path}')", "SELECT a FROM s [RANGE 4000000 DAYS]")

    lines = [json.loads(line) for path in parts(tmp_path) for line in path.read_text().splitlines()]
    assert [line["_sign"] for line in lines] == [1, 1]


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_every_type_goes_out(form: str, tmp_path: Path) -> None:
    engine = Engine()
    columns = "ts TIMESTAMP, i INT, m DECIMAL(10, 2), p BOOLEAN, d DATE, l INTERVAL, f FLOAT, b STRING, y BINARY"
    engine.sql(f"CREATE STREAM s ({columns}) TIMESTAMP BY ts")
    engine.sql(f"CREATE QUERY q AS SELECT * FROM s [RANGE 1 SECOND] INTO {form}('{tmp_path}')")
    values = [7, Decimal("1.50"), True, at(0).date(), timedelta(seconds=1), 0.5, 'a "b", ü\n', b"\x00\xff"]
    names = ["i", "m", "p", "d", "l", "f", "b", "y"]
    engine.push("s", [{"ts": at(1), **dict(zip(names, values, strict=True))}, {"ts": at(1)}])
    ended(engine)
    (path,) = parts(tmp_path)

    if form == "parquet":
        found = [list(row.values())[1:9] for row in pa.parquet.read_table(path).to_pylist()]
        assert values in found
        assert [None] * 8 in found
        return
    if form == "json":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        texts = [7, "1.50", True, "2026-01-01", 1_000_000, 0.5, values[6], "00ff"]
    else:
        rows = list(csv.DictReader(path.open(encoding="utf-8", newline="")))
        texts = ["7", "1.50", "true", "2026-01-01", "1000000", "0.5", values[6], "00ff"]
    assert texts in [[row[name] for name in names] for row in rows]


def test_console_sink(capsys: pytest.CaptureFixture[str]) -> None:
    into("console()", PERIODIC)

    assert capsys.readouterr().out.splitlines()[0] == f'q: {{"n": 1, "_window_end": "{at(2).isoformat()}"}}'


TOLD: list[pa.Table] = []


def test_python_sink() -> None:
    TOLD.clear()
    into("python('test_bad_input:hear')", PERIODIC)

    assert [tuple(row.values()) for table in TOLD for row in in_utc(table)] == REFRESHES


def hear(table: pa.Table) -> None:
    import test_bad_input

    test_bad_input.TOLD.append(table)


def test_a_python_sink_that_is_not_there() -> None:
    with pytest.raises(WindrowError) as caught:
        into("python('test_bad_input:nobody')", PERIODIC)

    assert "test_bad_input:nobody cannot be called" in caught.value.message


def test_a_folder_with_results_is_not_written_to(tmp_path: Path) -> None:
    into(f"json('{tmp_path}')", CONTINUOUS)
    with pytest.raises(WindrowError) as caught:
        into(f"json('{tmp_path}')", CONTINUOUS)

    assert caught.value.message == f"{tmp_path} has results already"


NESTED = "CREATE STREAM s (ts TIMESTAMP, x ARRAY<DOUBLE>, p STRUCT<a: STRING, n: INT>) TIMESTAMP BY ts"


def test_arrays_and_structs_come_in_and_go_out(tmp_path: Path) -> None:
    """As values, and as JSON where they stand as texts; what is not of the type is rejected on its own."""
    engine = running(NESTED, "SELECT x, p FROM s [RANGE 1000 SECONDS]")
    counted = "SELECT x, p, TOP(2, x) AS t FROM s [RANGE 1000 SECONDS] GROUP BY x, p"
    engine.sql(f"CREATE QUERY o AS {counted} INTO json('{tmp_path}')")
    engine.push("s", [
        {"ts": at(1), "x": [1.5, None], "p": {"a": "q", "n": 1}},
        {"ts": at(2), "x": "[NaN]", "p": None},
        {"ts": at(3), "x": "not an array", "p": None},
        {"ts": at(4), "x": None, "p": '{"a": "r", "n": "many"}'},
        {"ts": at(5), "x": [], "p": '{"a": "r"}'},
        {"ts": at(6)},
    ])  # fmt: skip
    engine.end("s")
    engine.step()
    found = engine["q"].latest_answer().to_pylist()
    assert repr(sorted(found, key=repr)) == repr(
        sorted(
            [
                {"x": [1.5, None], "p": {"a": "q", "n": 1}},
                {"x": [math.nan], "p": None},
                {"x": [], "p": {"a": "r", "n": None}},
                {"x": None, "p": None},
            ],
            key=repr,
        )
    )
    rejected = engine.rejected("s")
    assert rejected is not None
    assert set(rejected["_reason"].to_pylist()) == {"x is not ARRAY<DOUBLE>", "p is not STRUCT<a: STRING, n: INT>"}
    lines = [json.loads(line) for path in sorted(tmp_path.iterdir()) for line in path.read_text().splitlines()]
    assert {"x": ["nan"], "p": None, "t": [{"item": ["nan"], "count": 1}]} in [
        {name: line[name] for name in "xpt"} for line in lines
    ]


# Tables with a source


def table_from(tmp_path: Path, text: str, clauses: str = "") -> Engine:
    (tmp_path / "rows.csv").write_text(text)
    engine = Engine()
    engine.sql(f"""
        {DECLARATION}; CREATE TABLE names (a BIGINT PRIMARY KEY, name STRING NOT NULL, since TIMESTAMP) {clauses}
        FROM csv('{tmp_path}/rows.csv')
    """)
    engine.query("SELECT name FROM s [RANGE 100 SECONDS] JOIN names ON s.a = names.a", "q")
    engine.push("s", [{"ts": at(second), "a": second} for second in range(1, 7)])
    return ended(engine)


@pytest.mark.parametrize("clauses", ["", "NON RETROACTIVE"])
def test_rows_of_a_table_that_do_not_fit_are_rejected(tmp_path: Path, clauses: str) -> None:
    text = "a,name,since\n1,one,\ntwo,two,\n3,,\n,four,\n5,five,yesterday\n1,again,\n6,six,2026-01-01 00:00:00\n"
    engine = table_from(tmp_path, text, clauses)

    assert sorted(answer(engine)) == [("one",), ("six",)]
    assert engine.status()["tables"]["names"] == {
        "rows": 2,
        "rejected": {
            "a is not BIGINT": 1,
            "a is null": 1,
            "name is null": 1,
            "since is not TIMESTAMP": 1,
            "its key is there already": 1,
        },
    }
    rejected = engine.rejected("NAMES")
    assert rejected is not None
    assert sorted(rejected["_reason"].to_pylist()) == sorted(engine.status()["tables"]["names"]["rejected"])


def test_rows_of_a_table_take_effect_when_they_say(tmp_path: Path) -> None:
    text = "a,name,since\n1,one,2026-01-01 00:00:03\n2,two,\n4,four,2026-01-01 00:00:03\n1,late,2026-01-01 00:00:05\n"
    (tmp_path / "rows.csv").write_text(text)
    engine = Engine()
    engine.sql(f"""
        {DECLARATION}; CREATE TABLE names (a BIGINT PRIMARY KEY, name STRING, since TIMESTAMP)
        FROM csv('{tmp_path}/rows.csv') EFFECTIVE BY since
    """)
    query = engine.query("SELECT name FROM s [RANGE 100 SECONDS] JOIN names ON s.a = names.a", "q")
    engine.push("s", [{"ts": at(second), "a": second} for second in range(1, 7)])
    ended(engine)

    begins = query.changes().select(["name", "_ts"]).to_pylist()
    found = sorted((row["name"], row["_ts"]) for row in begins)
    assert found == [("four", at(4)), ("one", at(3)), ("two", at(2))]
    assert engine.status()["tables"]["names"]["rejected"] == {"its key is there already": 1}


def test_statements_that_a_table_refuses_are_counted() -> None:
    engine = Engine()
    engine.sql(f"{DECLARATION}; CREATE TABLE names (a BIGINT PRIMARY KEY); INSERT INTO names VALUES (1)")
    engine.query("SELECT s.a FROM s [RANGE 100 SECONDS] JOIN names ON s.a = names.a", "q")
    engine.sql("INSERT INTO names VALUES (1), (2)")
    engine.push("s", [{"ts": at(1), "a": 1}])
    ended(engine)

    reason = "a row of names has a key that is there already"
    assert engine.status()["tables"]["names"] == {"rows": 1, "rejected": {reason: 1}}
