"""What goes in and out of an engine on Spark: sinks, streaming DataFrames of results, sources, tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession

import windrow

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts;"
BY_KEY = "SELECT k, SUM(v) AS total FROM s [RANGE 4 SECONDS] GROUP BY k"


def rows(*times: int) -> list[dict[str, object]]:
    return [{"ts": f"2026-01-01 00:00:{at:02}", "k": "ab"[at % 2], "v": at} for at in times]


def read(frame: DataFrame, folder: Path) -> pa.Table:
    """All that a stream of results has, through a sink of Spark's with a checkpoint of its own."""
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "rows")).awaitTermination()
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
