"""The Spark session that an engine runs on: one of its own, or the one that the user has.

What the Java machine of an own session has to say goes to a log file, not to the terminal.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from windrow.runtime.spark.data_sources import Log, Numbers, Wake
from windrow.runtime.spark.spark_errors import not_started

# Spark binds sources to their offsets by position unless they have names: streams could not come and go.
_NEEDED = {
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    "spark.sql.streaming.offsetLog.formatVersion": "2",
}
_OWN = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",  # stages are small and their partitions are chosen
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.pollingDelay": "50ms",
    "spark.python.worker.reuse": "true",
    "spark.log.level": "WARN",
}
_IN_THIS_MACHINE = {"spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1"}
_ATTEMPTS = 4  # a task is tried this often before the query stops; Spark's own number on clusters


def own_session(master: str | None) -> SparkSession:
    """A session of our own: in this process unless a master is named. One that runs already is used."""
    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers have what this process has
    master = _with_attempts(master or f"local[{os.cpu_count() or 2}]")
    here = _IN_THIS_MACHINE if master.startswith("local") else {}
    settings = {"spark.app.name": "windrow", "spark.master": master, **_NEEDED, **_OWN, **here}
    conf = SparkConf().setAll(list(settings.items()))
    if SparkContext._gateway is None:
        _launch(conf)
    SparkContext(conf=conf)
    return SparkSession.builder.getOrCreate()


def prepared(spark: SparkSession) -> SparkSession:
    """What an engine needs of any session: sources can be given names only while the settings are on."""
    for name, value in _NEEDED.items():
        spark.conf.set(name, value)
    for source in (Numbers, Wake, Log):
        spark.dataSource.register(source)
    return spark


def _with_attempts(master: str) -> str:
    """A lost worker ends no local run: Spark tries a task once there unless told otherwise."""
    if master == "local":
        return f"local[1,{_ATTEMPTS}]"
    if master.startswith("local[") and "," not in master:
        return f"{master[:-1]},{_ATTEMPTS}]"
    return master


def _launch(conf: SparkConf) -> None:
    """Start the Java machine with its output in a file."""
    handle, name = tempfile.mkstemp(prefix="windrow-spark-", suffix=".log")
    with os.fdopen(handle, "wb") as file:
        try:
            gateway = launch_gateway(conf, {"stdout": file, "stderr": file})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            said = Path(name).read_text(errors="replace")
            Path(name).unlink()
            raise not_started(said) from error
    SparkContext._ensure_initialized(gateway=gateway)
    _logs.append(Path(name))
    atexit.register(_forget_logs)


def log_to_read() -> Path | None:
    """The log of the Java machine, for somebody to look into: it outlives the process."""
    found = _logs[-1] if _logs else None
    _logs_to_read.update(_logs)
    return found


def _forget_logs() -> None:
    for log in _logs:
        if log not in _logs_to_read:
            log.unlink(missing_ok=True)


_logs: list[Path] = []  # of Java machines that this process has started
_logs_to_read: set[Path] = set()
