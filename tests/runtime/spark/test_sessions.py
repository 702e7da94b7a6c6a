"""Inside somebody else's PySpark job: what was there before `connect` goes on as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pyspark
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import windrow
from support.spark_readers import reader_of
from support.waiting import until
from windrow.errors import WindrowError
from windrow.runtime.shards import run_loop
from windrow.runtime.spark import micro_batches, own_spark, workers
from windrow.units import SECOND

CREATE = "CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts; CREATE QUERY q AS SELECT k FROM s [RANGE 1 HOUR]"
OTHER_PYTHON = str(Path(sys.base_prefix) / "bin" / "python3")  # the same version, without what this one has installed


def rows(*times: int) -> pa.Table:
    return pa.table({"ts": pa.array([t * SECOND for t in times], pa.timestamp("us", "UTC")), "k": times})


def what_a_job_sees(spark: SparkSession) -> dict[str, Any]:
    sessions = SparkSession._get_j_spark_session_class(spark._jvm)
    assert spark._jvm is not None
    root = spark._jvm.org.apache.logging.log4j.LogManager.getRootLogger()
    return {
        "settings": dict(spark.conf.getAll),
        "active": SparkSession.getActiveSession(),
        "of this thread": sessions.getActiveSession().get().sessionUUID(),
        "default": sessions.getDefaultSession().get().sessionUUID(),
        "queries": [query.name for query in spark.streams.active],
        "log level": root.getLevel().toString(),
        "checkpoint folder": spark.sparkContext._jsc.sc().getCheckpointDir().isDefined(),
        "views": [table.name for table in spark.catalog.listTables()],
        "python": spark.sparkContext.pythonExec,
        "properties": spark.sparkContext._jsc.getLocalProperty("spark.jobGroup.id"),
    }


def test_two_engines_leave_the_job_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    made_before = spark.readStream.format("rate").load().writeStream.format("memory").queryName("before").start()
    seen = what_a_job_sees(spark)
    engines = [windrow.connect(spark=spark, checkpoint=str(tmp_path / place / "run")) for place in ("a", "b")]
    for number, engine in enumerate(engines):
        engine.sql(CREATE)
        engine.start()
        engine.push("s", rows(1, 2 + number, 9))
        rate = spark.readStream.format("rate").load()
        engine.stream("r", rate, timestamp="timestamp")
    until(lambda: all(engine.inner_spark.streams.active for engine in engines), "the start of both")
    assert [engine.inner_spark.streams.active[0].name for engine in engines] == ["windrow-run-r", "windrow-run-2-r"]
    assert {engine.inner_spark.conf.get("spark.sql.shuffle.partitions") for engine in engines} == {"7"}
    for number, engine in enumerate(engines):
        engine.step()
        assert engine["q"].answer()["k"].to_pylist() == [1, 2 + number]
        assert engine.spark is spark
    query: Any = engines[0]["q"]
    assert query.dataframe().sparkSession is spark, "what a query emits is for queries of the job"
    assert what_a_job_sees(spark) == seen

    unnamed = spark.readStream.format("rate").load().writeStream.format("memory").queryName("after").start()
    for query in (made_before, unnamed):
        until(lambda query=query: query.recentProgress or not query.isActive, "a batch")  # type: ignore[misc]
        assert query.isActive
        query.stop()
    for engine in engines:
        engine.end("s")
        engine.end("r")
        engine.run()
        engine.close()
    assert not spark.sparkContext._jsc.sc().isStopped()
    seen["queries"].remove("before")
    assert {**what_a_job_sees(spark), "views": []} == {**seen, "views": []}
    spark.conf.unset("spark.sql.shuffle.partitions")


def test_without_a_session_named_the_one_that_runs_is_used_and_left_alone(spark: SparkSession) -> None:
    seen = what_a_job_sees(spark)
    with windrow.connect() as engine:
        assert engine.spark is spark
    assert what_a_job_sees(spark) == seen
    with pytest.raises(WindrowError, match=r"this process runs Spark on local\[2,4\] already, and can run only one"):
        windrow.connect(master="spark://elsewhere:7077")
    windrow.connect(master="local[2]").close()
    assert not spark.sparkContext._jsc.sc().isStopped()


def test_dataframes_from_before_are_read_once_over_restarts(spark: SparkSession, tmp_path: Path) -> None:
    """Of the job's own session, without names, with a function, a view and a table of the job's."""
    spark.createDataFrame([(0, "even"), (1, "odd")], "rest int, name string").createOrReplaceTempView("names")
    schema, place = "ts timestamp, k bigint", tmp_path / "rows"
    place.mkdir()
    rest = F.udf(lambda k: k % 2, "int")  # type: ignore[no-untyped-call, misc]
    frame = spark.readStream.schema(schema).parquet(str(place)).withColumn("rest", rest("k"))
    frame = frame.join(spark.table("names"), "rest").select("ts", "k", "name")
    static = spark.table("names")
    for first in (1, 4, 7):
        pa.parquet.write_table(rows(first, first + 1, first + 2), place / f"{first}.parquet")
        with windrow.connect(spark=spark, checkpoint=str(tmp_path / "run")) as engine:
            engine.stream("s", frame, timestamp="ts")
            if first == 1:
                engine.query("SELECT k, name FROM s [RANGE UNBOUNDED]", name="q")
                with pytest.raises(WindrowError, match="the DataFrame of stream names does not stream"):
                    engine.stream("names", static, timestamp="ts")
            engine.step()
            assert not spark.streams.active and not engine.health()
            found = sorted((row["k"], row["name"]) for row in engine["q"].answer().to_pylist())
            assert found == [(k, ("even", "odd")[k % 2]) for k in range(1, first + 2)]
            assert engine.status()["streams"]["s"]["rows"] == first + 2


def test_sessions_that_want_names_of_sources_get_them(spark: SparkSession) -> None:
    """Also while another session, the active one, has read what a query emits."""
    with windrow.connect(spark=spark) as other:
        other.sql(CREATE)
        emitting: Any = other["q"]
        emitting.dataframe()
    named = spark.newSession()
    named.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "true")
    named.conf.set("spark.sql.streaming.offsetLog.formatVersion", "2")
    with windrow.connect(spark=named) as engine:
        engine.stream("given", named.readStream.name("mine").format("rate").load(), timestamp="timestamp")
        engine.sql("CREATE STREAM stated (timestamp TIMESTAMP, value BIGINT) FROM rate() TIMESTAMP BY timestamp")
        query: Any = engine.query("SELECT value FROM given [RANGE UNBOUNDED]")
        engine.start()
        streams = ("given", "stated")
        until(
            lambda: all(engine.status()["streams"].get(name, {"rows": 0})["rows"] for name in streams), "rows of both"
        )
        reader = reader_of(query.dataframe())
        assert reader.isActive, reader.exception()
        assert not engine.health()
        assert [active.id for active in named.streams.active] == [reader.id]
        reader.stop()


@pytest.fixture
def as_started_by_others(spark: SparkSession) -> Iterator[None]:
    """Workers come from PySpark's own daemon, as in a Spark that Windrow has not started."""
    settings, name = spark.sparkContext._jsc.sc().conf(), "spark.python.daemon.module"
    ours = settings.get(name)
    settings.set(name, "pyspark.daemon")
    yield
    settings.set(name, ours)


@pytest.mark.usefixtures("as_started_by_others")
def test_workers_on_this_machine_run_this_python(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that was started without PYSPARK_PYTHON has workers without Windrow."""
    monkeypatch.setattr(spark.sparkContext, "pythonExec", OTHER_PYTHON)
    with windrow.connect(spark=spark) as engine:
        rate = spark.readStream.format("rate").option("rowsPerSecond", "100").load()
        engine.stream("r", rate, timestamp="timestamp")
        engine.query("SELECT COUNT(*) AS n FROM r [RANGE UNBOUNDED]", name="n")
        engine.start()
        until(lambda: engine.wait(0) or engine["n"].answer().num_rows, "an answer")
        assert not engine.wait(0)
    which = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.prefix).collect()
    assert which == [sys.base_prefix], "functions of the job run where they did"


@pytest.mark.usefixtures("as_started_by_others")
def test_workers_that_have_no_windrow_are_told_of_when_connecting(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.probe(spark)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", OTHER_PYTHON)
    with pytest.raises(WindrowError, match="the workers run another Python, which has no ") as caught:
        workers.probe(spark)
    assert "PYSPARK_PYTHON" in (caught.value.hint or "")


def test_sessions_that_cannot_be_used_are_refused(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    class Remote:
        """What `SparkSession.builder.remote(...)` gives, without the packages that it needs."""

    Remote.__module__ = "pyspark.sql.connect.session"
    with pytest.raises(WindrowError, match="cannot run on a Spark Connect session") as caught:
        windrow.connect(spark=Remote())
    assert "windrow.connect(local=True)" in (caught.value.hint or "")
    with pytest.raises(WindrowError, match="spark is a SparkContext, not a SparkSession"):
        windrow.connect(spark=spark.sparkContext)
    monkeypatch.setenv("SPARK_REMOTE", "sc://elsewhere")
    with pytest.raises(WindrowError, match="cannot run on a Spark Connect session"):
        windrow.connect()


def test_workers_of_an_own_spark_have_loaded_what_they_need(spark: SparkSession) -> None:
    """Before they were forked, and from the installed package."""

    def which(_: int) -> str:
        return str(sys.modules["pyspark"].__file__ if "windrow.runtime.spark.relay" in sys.modules else None)

    assert spark.sparkContext.parallelize([0], 1).map(which).collect() == [pyspark.__file__]
    assert spark.conf.get("spark.python.unix.domain.socket.enabled") == "true"


@pytest.mark.parametrize("patience", [0.0, 60.0], ids=["cancelled", "let end"])
def test_stop_in_the_middle_of_a_micro_batch_leaves_no_trace(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    patience: float,
) -> None:
    monkeypatch.setattr(micro_batches, "_PATIENCE", patience)
    monkeypatch.setattr(run_loop, "_PATIENCE", patience)
    begun, go_on = tmp_path / "begun", tmp_path / "go_on"

    def slow(value):  # type: ignore[no-untyped-def]  # hints would have Spark look for a pandas function
        begun.touch()
        while not go_on.exists():
            time.sleep(0.05)
        return value

    if patience:
        go_on.touch()
    log = own_spark._logs[-1]
    with windrow.connect(spark=spark, checkpoint=str(tmp_path / "run")) as engine:
        rate = spark.readStream.format("rate").option("rowsPerSecond", "10").load()
        engine.stream("r", rate.select("timestamp", F.udf(slow, "bigint")("value").alias("v")), timestamp="timestamp")
        engine.query("SELECT SUM(v) AS total FROM r [RANGE 1 MINUTE]")
        engine.start()
        until(begun.exists, "the first row")
        said = log.stat().st_size
        engine.stop()
        go_on.touch()
    new = log.read_bytes()[said:].decode()
    assert "Exception" not in new and "\tat " not in new and "ERROR" not in new, new
    assert not [record for record in caplog.records if record.name.startswith("py4j")]


def test_readers_of_an_engine_that_is_closed_hear_why(spark: SparkSession) -> None:
    """They are queries of the job's; without a checkpoint there is nothing more to read."""
    engine = windrow.connect(spark=spark)
    engine.sql(CREATE)
    engine.push("s", rows(1, 2, 3))
    engine.step()
    query: Any = engine["q"]
    reader = reader_of(query.dataframe())
    assert reader.isActive, reader.exception()
    engine.close()
    with pytest.raises(StreamingQueryException, match="the engine was closed, and what its queries have emitted is"):
        reader.awaitTermination(900)


START = """
import sys, windrow
from pyspark import SparkContext
from windrow.runtime.spark import own_spark

launch, moment, machines = own_spark._launch, sys.argv[1], []

def told(conf, archive):
    if moment == "Java comes up":
        print("now", flush=True)
    launch(conf, archive)
    machines.append(SparkContext._gateway.proc)
    if moment == "Java is there":
        print("now", flush=True)

own_spark._launch = told
try:
    windrow.connect()
except KeyboardInterrupt:
    print("interrupted", *(machine.poll() for machine in machines), flush=True)
if moment == "Java is there":
    with windrow.connect() as engine:
        engine.stream("r", engine.spark.readStream.format("rate").load(), timestamp="timestamp")
        engine.start()
        engine.spark.stop()
        try:
            engine.wait(900)
        except windrow.WindrowError as error:
            print(error.message)
"""


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        ("Java comes up", "interrupted -9\n"),
        ("Java is there", "interrupted -9\nnow\nSpark was stopped while an engine was running on it\n"),
    ],
)
def test_an_interrupt_while_spark_starts_is_only_that(moment: str, said: str) -> None:
    """And Spark can be started again in the same process; when it is stopped under an engine, the engine says so."""
    command = [sys.executable, "-c", START, moment]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "now\n"
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate()
    assert (out, errors, process.returncode) == (said, "", 0)
