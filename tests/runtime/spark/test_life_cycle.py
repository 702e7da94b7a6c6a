"""An engine on Spark from start to end: in the background, with statements as it runs, interrupted, resumed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import windrow
from support.waiting import until
from windrow.clock import ManualClock
from windrow.errors import WindrowError
from windrow.runtime.spark.engine import SparkEngine
from windrow.runtime.spark.scratch import Scratch
from windrow.units import SECOND

CREATE = "CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts"


def rows(*times: int, k: int = 1) -> pa.Table:
    return pa.table({"ts": pa.array([t * SECOND for t in times], pa.timestamp("us", "UTC")), "k": [k] * len(times)})


def answer(engine: Any, query: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = engine[query].answer().to_pylist()
    return found


def test_statements_take_effect_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    engine = windrow.connect(spark=spark, checkpoint=str(tmp_path))
    engine.sql(f"{CREATE}; CREATE QUERY before AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k")
    engine.start()
    engine.push("s", rows(1, 2, 3))
    engine.step()
    assert answer(engine, "before") == [{"k": 1, "n": 2}]  # 3 is not final yet
    assert engine["before"].started == SECOND

    engine.sql("CREATE QUERY since AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k")
    engine.push("s", rows(4, 5, k=2))
    engine.step()
    assert engine["since"].started == 3 * SECOND
    found = sorted(answer(engine, "since"), key=lambda row: int(str(row["k"])))
    assert found == [{"k": 1, "n": 3}, {"k": 2, "n": 1}], "it is put on what runs"

    # Another stream: Spark's query starts again on the same checkpoint, and nothing is read twice.
    engine.sql("DROP QUERY since; CREATE STREAM t (ts TIMESTAMP, k INT) TIMESTAMP BY ts")
    engine.sql("CREATE QUERY both AS SELECT s.k FROM s [RANGE 1 HOUR], t [RANGE 1 HOUR] WHERE s.k = t.k")
    engine.push("s", rows(6, 7, k=3))
    engine.push("t", rows(6, 7, k=3))
    engine.step()
    assert answer(engine, "both") == [{"k": 3}]
    with pytest.raises(WindrowError, match="there is no query since"):
        engine["since"]

    engine.sql("DROP QUERY both; DROP STREAM t")
    engine.sql("CREATE STREAM t (ts TIMESTAMP, k INT) TIMESTAMP BY ts; CREATE QUERY again AS SELECT k FROM t")
    engine.push("t", rows(1, k=5))
    engine.end("t")
    engine.step()
    assert [row["k"] for row in engine["again"].changes().to_pylist()] == [5], "rows of the new one alone, none late"
    engine.push("s", rows(8, 9, k=4))
    engine.end("s")
    assert engine.wait()
    assert engine.has_ended
    last = {row["k"]: row["n"] for row in engine["before"].latest_answer().to_pylist()}
    assert last == {1: 3, 2: 2, 3: 2, 4: 2}
    assert engine.status()["streams"]["s"]["rows"] == 9
    engine.close()


def test_a_run_of_files_beside_an_endless_source(spark: SparkSession, tmp_path: Path) -> None:
    """The files end, the generator goes on, Ctrl-C ends the run; a second run goes on where the first one was."""
    folder = tmp_path / "files"
    folder.mkdir()
    pa.parquet.write_table(rows(1, 2), folder / "a.parquet")
    statements = f"""
        CREATE STREAM f (ts TIMESTAMP, k INT) FROM parquet('{folder}') TIMESTAMP BY ts;
        CREATE STREAM g (ts TIMESTAMP, symbol STRING, price DECIMAL(18, 4), size BIGINT, venue STRING)
        FROM generator('trades', rate => 1000) TIMESTAMP BY ts;
        CREATE QUERY counted AS SELECT COUNT(*) AS n FROM g [RANGE UNBOUNDED];
        CREATE QUERY of_files AS SELECT COUNT(*) AS n FROM f [RANGE UNBOUNDED]
    """

    def interrupted_run(wanted: int) -> int:
        engine = windrow.connect(spark=spark, checkpoint=str(tmp_path / "checkpoint"), rows_a_batch=2_000)
        engine.resume(statements)

        def interrupt() -> None:
            until(lambda: engine.status()["streams"].get("g", {"rows": 0})["rows"] >= wanted, "rows that are made")
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            engine.run()
        status = engine.status()
        assert status["streams"]["f"]["rows"] == 2
        assert status["streams"]["f"]["unread"] == 0
        (counted,) = answer(engine, "counted")
        assert counted["n"] <= status["streams"]["g"]["rows"]
        engine.close()
        return int(status["streams"]["g"]["rows"])

    first = interrupted_run(4_000)
    assert interrupted_run(first + 4_000) > first


def test_answers_expire_without_input(spark: SparkSession, tmp_path: Path) -> None:
    clock = ManualClock(100 * SECOND)
    engine = SparkEngine(spark, checkpoint=str(tmp_path), clock=clock)
    ticks = recorded_ticks(engine)
    engine.sql("CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts HEARTBEAT 1 SECOND")
    query = engine.query("SELECT k FROM s [RANGE 3 SECONDS]")
    engine.start()
    engine.push("s", rows(100))
    until(lambda: engine.wait(0) or engine.status()["streams"].get("s", {"rows": 0})["rows"], "the first row")
    clock.advance(4 * SECOND)
    until(lambda: engine.wait(0) or engine.watermark > 103 * SECOND, "the row's expiry")
    assert query.answer().num_rows == 0
    (change,) = query.changes().to_pylist()
    assert (change["_ts"].timestamp(), change["_exp"].timestamp()) == (100, 103)
    clock.advance(60 * SECOND)
    asked, quiet = len(ticks), engine.status()["batch"]
    until(lambda: engine.wait(0) or len(ticks) >= asked + 3, "a look at the clock")
    assert not any(ticks[asked:]) and engine.status()["batch"] == quiet, "nothing can change any more"
    engine.close()


def recorded_ticks(engine: SparkEngine) -> list[bool]:
    """Whether a micro-batch was due, each time that the engine looked."""
    batches, found = engine._driver.batches, list[bool]()
    tick = batches.tick

    def recorded() -> bool:
        found.append(tick())
        return found[-1]

    batches.tick = recorded  # type: ignore[method-assign]
    return found


def test_a_dataframe_that_fails_stops_nobody_else(spark: SparkSession, tmp_path: Path) -> None:
    def wrong(value):  # type: ignore[no-untyped-def]  # hints would have Spark look for a pandas function
        raise ValueError(f"cannot take {value}")

    engine = windrow.connect(spark=spark, checkpoint=str(tmp_path))
    rate = spark.readStream.format("rate").option("rowsPerSecond", "10").load()
    engine.stream("r", rate.select("timestamp", F.udf(wrong, "bigint")("value").alias("v")), timestamp="timestamp")
    engine.query("SELECT SUM(v) AS total FROM r [RANGE 1 MINUTE]")
    engine.sql(f"{CREATE}; CREATE QUERY q AS SELECT k FROM s [RANGE 1 HOUR]")
    engine.start()
    engine.push("s", rows(1, 2, 3))
    until(
        lambda: engine.wait(0) or (engine.health() and engine.status()["streams"]["s"]["rows"] == 3),
        "rows beside a failure",
    )
    (failing,) = engine.health()
    assert (failing.what, failing.name) == ("source", "r")
    assert re.match(r"a function failed \(wrong, .*test_life_cycle.py line \d+\): ValueError", failing.message)
    engine.close()


def test_a_step_says_that_a_dataframe_fails(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def wrong(value):  # type: ignore[no-untyped-def]
        raise ValueError(f"cannot take {value}")

    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.json").write_text('{"ts": "2026-01-01 00:00:00", "v": 1}\n')
    with windrow.connect(spark=spark, checkpoint=str(tmp_path / "run")) as engine:
        files = spark.readStream.schema("ts timestamp, v bigint").json(str(tmp_path / "rows"))
        engine.stream("r", files.select("ts", F.udf(wrong, "bigint")("v").alias("v")), timestamp="ts")
        engine.query("SELECT SUM(v) AS total FROM r [RANGE 1 MINUTE]")
        engine.step()
        assert [(one.what, one.name) for one in engine.health()] == [("source", "r")]
    said = [record.getMessage() for record in caplog.records]
    assert sum("stream r cannot be read, and is tried again" in message for message in said) == 1


class Listener:
    """Spark's QueryExecutionListener, from Python: keeps what Windrow has it observe."""

    class Java:
        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def onSuccess(self, function: str, execution: Any, nanoseconds: int) -> None:
        observed = execution.observedMetrics()
        if observed.contains("windrow"):
            row = observed.apply("windrow")
            self.seen.append({name: json.loads(row.getAs(name)) for name in row.schema().fieldNames()})

    def onFailure(self, function: str, execution: Any, error: Any) -> None: ...


def test_listeners_of_spark_see_what_operators_do(spark: SparkSession, tmp_path: Path) -> None:
    engine = windrow.connect(spark=spark, checkpoint=str(tmp_path), shards=2)
    engine.sql(f"{CREATE}; CREATE QUERY counted AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k")
    ensure_callback_server_started(spark.sparkContext._gateway)
    listener = Listener()
    manager = engine.inner_spark._jsparkSession.listenerManager()
    manager.register(listener)
    try:
        engine.push("s", rows(1, 2, 3))
        engine.step()
        until(lambda: listener.seen, "the call of the listener")  # Spark tells its listeners afterwards
    finally:
        manager.unregister(listener)
    (seen,) = listener.seen
    assert {*seen} == {"stage 1 shard 0", "stage 1 shard 1"}
    told = [operator for operators in seen.values() for operator in operators]
    assert sorted(told, key=str) == sorted(engine.status()["operators"], key=str)
    assert sum(operator["state_bytes"] for operator in told) > 0
    assert sum(operator["rows_in"] for operator in told if operator["operator"] == "GroupBy") == 2
    engine.close()


@pytest.mark.parametrize(
    ("java", "message"),
    [
        (None, "there is no Java"),
        ("echo 'java.lang.UnsupportedClassVersionError: class file version 61.0' >&2; exit 1", "is too old for it"),
    ],
    ids=["no Java", "an old Java"],
)
def test_spark_that_does_not_start(java: str | None, message: str, tmp_path: Path) -> None:
    if java is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\n{java}\n")
        (tmp_path / "bin" / "java").chmod(0o755)
    made = (
        "CREATE STREAM g (ts TIMESTAMP, sensor INT, value DOUBLE) FROM generator('sensors', rows => 1) TIMESTAMP BY ts"
    )
    (tmp_path / "small.cql").write_text(f"{made}; CREATE QUERY q AS SELECT sensor FROM g")
    command = [str(Path(sys.executable).with_name("windrow")), "run", str(tmp_path / "small.cql")]
    environment = os.environ | {"JAVA_HOME": str(tmp_path)}
    finished = subprocess.run(command, capture_output=True, text=True, env=environment)

    assert finished.returncode == 1
    assert finished.stderr.splitlines()[0].startswith("Spark could not be started: ")
    assert message in finished.stderr
    assert "Traceback" not in finished.stderr


def test_the_scratch_folder_goes_although_a_task_writes_a_moment_longer() -> None:
    scratch = Scratch()
    until = time.monotonic() + 0.5

    def write() -> None:
        while time.monotonic() < until:
            with contextlib.suppress(FileNotFoundError):
                (scratch.path / "shard").mkdir(parents=True, exist_ok=True)
                (scratch.path / "shard" / str(time.monotonic_ns())).touch()

    cancelled = threading.Thread(target=write)
    cancelled.start()
    scratch.remove()
    cancelled.join()
    scratch.remove()
    assert not scratch.path.exists()
