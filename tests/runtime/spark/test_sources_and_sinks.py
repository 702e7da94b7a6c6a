"""What goes in and out of an engine on Spark: sinks, streaming DataFrames of results, sources, tables."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow
from support.own_aggregates import Longest
from support.spark_readers import read_all
from support.waiting import until
from windrow.errors import WindrowError
from windrow.runtime.spark import SparkEngine
from windrow.types import STRING

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts;"
BY_KEY = "SELECT k, SUM(v) AS total FROM s [RANGE 4 SECONDS] GROUP BY k"


def rows(*times: int) -> list[dict[str, Any]]:
    return [{"ts": f"2026-01-01 00:00:{at:02}", "k": "ab"[at % 2], "v": at} for at in times]


def read(frame: DataFrame, folder: Path) -> pa.Table:
    """All that a stream of results has, through a sink of Spark's with a checkpoint of its own."""
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    read_all(lambda: writer.trigger(availableNow=True).start(str(folder / "rows")))
    return pa.parquet.read_table(folder / "rows") if any(folder.glob("rows/*.parquet")) else pa.table({})


def bag(table: pa.Table) -> Counter[str]:
    """Rows whatever the order of rows and columns, times in microseconds."""
    columns = {name: table.column(name) for name in sorted(table.column_names)}
    for name, column in columns.items():
        if pa.types.is_timestamp(column.type):
            columns[name] = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return Counter(repr(row) for row in pa.table(columns).to_pylist())


def test_results_leave_as_dataframes_and_files(spark: SparkSession, tmp_path: Path) -> None:
    engine = windrow.connect(spark=spark, checkpoint=str(tmp_path / "checkpoint"), shards=3)
    engine.sql(f"{STREAM} CREATE QUERY q AS {BY_KEY} INTO parquet('{tmp_path}/out', mode => 'upsert')")
    periodic = engine.query("SELECT COUNT(*) AS n FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS]", name="p")
    query = engine["q"]
    query.dataframe("istream")  # asked for, so that the log has it
    frames = {told: query.dataframe(told) for told in ("changelog", "upsert")}
    assert [field.dataType.simpleString() for field in frames["changelog"].schema] == [
        "string",
        "bigint",
        "timestamp",
        "timestamp",
        "tinyint",
    ]
    engine.push("s", rows(1, 2, 3))
    engine.step()
    first = {told: read(frame, tmp_path / told) for told, frame in frames.items()}
    assert bag(first["changelog"]) == bag(query.changes())
    engine.push("s", rows(4, 5, 12))
    engine.end("s")
    engine.run()

    found = {told: read(query.dataframe(told), tmp_path / told) for told in frames}
    assert bag(found["changelog"]) == bag(query.changes())
    assert all(bag(first[told]) <= bag(found[told]) for told in frames), "a reader goes on where it was"
    assert read(query.dataframe("istream"), tmp_path / "istream").num_rows == 8
    assert bag(found["upsert"]) == bag(pa.parquet.read_table(tmp_path / "out"))
    assert bag(read(periodic.dataframe(), tmp_path / "p")) == bag(periodic.refreshes())
    engine.close()


def test_rows_come_from_dataframes_tables_and_folders(spark: SparkSession, tmp_path: Path) -> None:
    """In two runs over one checkpoint; between them files are added."""
    schema = "ts timestamp, device struct<id: int, name: string>, k int, v decimal(10, 2), note string, day date"
    folder, checkpoint = tmp_path / "csv", str(tmp_path / "checkpoint")
    folder.mkdir()
    (folder / "b.csv").write_text("ts,k\n2026-01-01 00:00:05,1\nnoon,2\n,3\n2026-01-01 00:00:06,many\n1,2,3,4\n")

    def measure(*times: int) -> None:
        rows = [(f"2026-01-01 00:00:{at:02}", at, at % 3) for at in times]
        typed = spark.createDataFrame(rows, "ts string, id int, k int").selectExpr(
            "cast(ts as timestamp) ts",
            "named_struct('id', id, 'name', 'd') device",
            "k",
            "cast('1.50' as decimal(10, 2)) v",
            "'note' note",
            "date '2026-01-01' day",
        )
        typed.coalesce(1).write.mode("append").parquet(str(tmp_path / "measured"))

    def engine() -> SparkEngine:
        made = windrow.connect(spark=spark, checkpoint=checkpoint, shards=2)
        frame = spark.readStream.schema(schema).parquet(str(tmp_path / "measured"))
        made.stream("measured", frame, timestamp="ts")
        names = spark.createDataFrame([(0, "zero"), (1, "one")], "k int, name string")
        made.table("names", names, primary_key=["k"])
        return made

    measure(1, 2, 3, 4)
    first = engine()
    first.sql(f"""
        CREATE STREAM c (ts TIMESTAMP, k INT) FROM csv('{folder}', max_files => 1) TIMESTAMP BY ts;
        CREATE QUERY named AS SELECT name, v FROM measured [RANGE 1 HOUR], names WHERE measured.k = names.k;
        CREATE QUERY kept AS SELECT k FROM c [RANGE 1 HOUR]
    """)
    assert first._driver.columns_read(first._driver.stream("measured")) == ["ts", "k", "v"]
    first.step()
    status = first.status()["streams"]["c"]
    assert (status["rows"], sum(status["rejected"].values())) == (1, 4)
    rejected = first.rejected("c")
    assert rejected is not None
    assert set(rejected["_reason"].to_pylist()) == {
        "it cannot be read",
        "k is not INT",
        "ts is not TIMESTAMP",
        "ts is null",
    }
    first.close()

    measure(7, 9)
    (folder / "a.csv").write_text("ts,k\n2026-01-01 00:00:04,8\n2026-01-01 00:00:03,7\n2026-01-01 00:00:09,8\n")
    forgetful = windrow.connect(spark=spark, checkpoint=checkpoint)
    with pytest.raises(WindrowError, match="DataFrame of stream measured has not been handed over"):
        forgetful.step()
    forgetful.close()
    second = engine()
    second.step()
    late = second.late("c")
    assert late is not None
    assert late["k"].to_pylist() == ["8", "7"], "5 s is where the stream was, and earlier is late"
    assert Counter(row["k"] for row in second["kept"].answer().to_pylist()) == {1: 1}
    assert {path.name for path in folder.iterdir()} == {"a.csv", "b.csv"}, "files of the user's stay where they are"
    assert Counter(second["named"].changes()["name"].to_pylist()) == {"one": 3, "zero": 1}
    second.close()


def test_columns_that_have_no_type_are_refused(spark: SparkSession) -> None:
    engine = windrow.connect(spark=spark)
    frame = spark.readStream.format("rate").load().selectExpr("timestamp", "INTERVAL '1' YEAR AS m")
    with pytest.raises(WindrowError, match="column m is interval year"):
        engine.stream("r", frame, timestamp="timestamp")
    with pytest.raises(WindrowError, match="is a stream, not a table"):
        engine.table("r", frame)
    engine.close()


def test_a_query_that_reads_more_columns_waits_for_them(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "rows"
    place.mkdir()

    def write(*times: int) -> None:
        times_ = pa.array([at * 1_000_000 for at in times], pa.timestamp("us", "UTC"))
        table = pa.table({"ts": times_, "k": list(times), "v": [f"v{at}" for at in times]})
        pa.parquet.write_table(table, place / f"{times[0]}.parquet")

    engine = windrow.connect(spark=spark, shards=2)
    frame = spark.readStream.schema("ts timestamp, k bigint, v string").parquet(str(place))
    engine.stream("wide", frame, timestamp="ts")
    narrow = engine.query("SELECT k FROM wide [RANGE 1 HOUR]", name="narrow")
    write(1, 2)
    engine.start()
    engine.step()
    wide = engine.query("SELECT k, v FROM wide [RANGE 1 HOUR]", name="wide_query")
    write(3, 4, 5)
    engine.step()
    engine.stop()
    assert sorted(row["k"] for row in narrow.answer().to_pylist()) == [1, 2, 3, 4]
    assert sorted((row["k"], row["v"]) for row in wide.answer().to_pylist()) == [(3, "v3"), (4, "v4")]
    engine.close()


def test_aggregates_of_ones_own_reach_the_workers(spark: SparkSession, tmp_path: Path) -> None:
    class Shortest(Longest):
        """Known to nobody else: it travels with the plan, and its functions are kept with the checkpoint."""

        def initial(self) -> str | None:  # type: ignore[override]
            return None

        def add(self, state: str | None, text: str) -> str:  # type: ignore[override]
            return text if state is None else min(state, text, key=len)

        merge = add

    def engine() -> SparkEngine:
        return windrow.connect(spark=spark, checkpoint=str(tmp_path), shards=2)

    first = engine()
    first.register_aggregate("longest", [STRING], STRING, Longest)
    first.register_aggregate("shortest", [STRING], STRING, Shortest)
    first.sql(f"{STREAM} CREATE QUERY q AS SELECT LONGEST(k) AS l, SHORTEST(k) AS s FROM s [RANGE 10 SECONDS]")
    first.push("s", [{**row, "k": "k" * row["v"]} for row in rows(1, 2, 3)])
    first.step()
    assert first["q"].answer().to_pylist() == [{"l": "kk", "s": "k"}]
    first.close()
    second = engine()
    second.push("s", [{**row, "k": "k" * row["v"]} for row in rows(4, 12)])
    second.end("s")
    second.run()
    assert second["q"].latest_answer().to_pylist() == [{"l": "k" * 12, "s": "kkk"}]
    second.close()


def test_rows_come_from_rate_and_socket(spark: SparkSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        threading.Thread(target=lambda: server.accept()[0].sendall(b"a\nb\na\n"), daemon=True).start()
        engine = windrow.connect(spark=spark, shards=2)
        engine.sql(f"""
            CREATE STREAM r (timestamp TIMESTAMP, value BIGINT) FROM rate(rows_per_second => 100)
            TIMESTAMP BY timestamp;
            CREATE STREAM w (value STRING) FROM socket('127.0.0.1', {port}) ARRIVAL HEARTBEAT 1 SECOND;
            CREATE QUERY counted AS SELECT COUNT(*) AS n, MIN(value) AS first FROM r [RANGE UNBOUNDED];
            CREATE QUERY words AS SELECT value, COUNT(*) AS n FROM w [RANGE UNBOUNDED] GROUP BY value
        """)
        engine.start()
        until(lambda: engine.wait(0) or engine["counted"].answer().num_rows, "a row of the rate source")
        until(lambda: engine.wait(0) or engine["words"].answer().num_rows == 2, "the lines of the socket")
        assert bag(engine["words"].answer()) == bag(pa.table({"value": ["a", "b"], "n": [2, 1]}))
        (counted,) = engine["counted"].answer().to_pylist()
        assert (counted["first"], counted["n"] > 0) == (0, True)
        engine.close()


def test_a_socket_that_nobody_listens_to_stops_nobody_else(spark: SparkSession, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    engine = windrow.connect(spark=spark, checkpoint=str(tmp_path), shards=2)
    engine.sql(f"""
        {STREAM} CREATE QUERY q AS SELECT k FROM s [RANGE 1 HOUR];
        CREATE STREAM w (value STRING) FROM socket('127.0.0.1', {port}) ARRIVAL;
        CREATE QUERY words AS SELECT value FROM w [RANGE UNBOUNDED]
    """)
    engine.start()
    engine.push("s", rows(1, 2))
    until(lambda: engine.wait(0) or (engine.health() and engine["q"].answer().num_rows), "an answer beside a failure")
    (failing,) = engine.health()
    assert (failing.what, failing.name) == ("source", "w")
    assert failing.next_try is not None and failing.next_try > failing.since
    with socket.create_server(("127.0.0.1", port)) as server:
        threading.Thread(target=lambda: server.accept()[0].sendall(b"a\nb\n"), daemon=True).start()
        until(lambda: engine.wait(0) or engine.status()["streams"]["w"]["rows"] == 2, "the lines of the socket")
    engine.push("s", rows(3, 4))
    engine.step()
    assert engine["q"].answer().num_rows == 3
    engine.close()
