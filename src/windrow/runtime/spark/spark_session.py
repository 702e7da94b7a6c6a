"""The Spark sessions of an engine: the user's, which stays as it is, and beside it one of Windrow's own.

Both are of one SparkContext. Windrow's queries, with their settings and names, are not seen from the user's; what the
user has set, and any DataFrame of theirs, is taken over.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from itertools import count
from os import environ
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.udf import _wrap_function
from pyspark.sql.utils import is_remote

from windrow.errors import WindrowError
from windrow.runtime.spark.own_spark import came_up, started_session, with_attempts
from windrow.runtime.spark.workers import check_workers, python_of_workers

_NAMED_SOURCES = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",  # stages are small and their partitions are chosen
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.pollingDelay": "50ms",
}


@dataclass(frozen=True)
class Sessions:
    """`inner` runs Windrow's queries; `user` is the session that was given, or of the Spark that Windrow has started.

    `name` is what queries of this engine are called, in this process no other's.
    """

    user: SparkSession
    inner: SparkSession
    name: str

    def close(self) -> None:
        """Spark ends with the last engine that uses it, if an engine has started it."""
        with _lock:
            _names.discard(self.name)
            context = self.user.sparkContext
            if context not in _engines_on:
                return
            _engines_on[context] -= 1
            if _engines_on[context] == 0:
                del _engines_on[context]
                self.user.stop()


def sessions(spark: Any, master: str | None, checkpoint: str | None) -> Sessions:
    """On the session that is given; or on the Spark that this process has; or on one that is started."""
    with _lock:
        if spark is None and (came := came_up()) is not None:
            _engines_on[came.sparkContext] = 0
        user = _running(master) if spark is None else _given(spark)
        if user is None:
            user = started_session(master)
            _engines_on[user.sparkContext] = 0
        found = Sessions(user, _inner(user), _free_name(checkpoint))
        if user.sparkContext in _engines_on:
            _engines_on[user.sparkContext] += 1
        return found


def check_running(spark: SparkSession) -> None:
    """Raise if the job has stopped its Spark, or the Java machine is gone."""
    hint = "connect again with the same checkpoint: nothing is lost. Close engines before spark.stop()"
    if spark.sparkContext._jsc is None:
        raise WindrowError("Spark was stopped while an engine was running on it", hint)
    try:
        is_stopped = spark.sparkContext._jsc.sc().isStopped()
    except (Py4JError, OSError) as error:
        raise WindrowError("the Java machine of Spark is gone", hint) from error
    if is_stopped:
        raise WindrowError("Spark was stopped while an engine was running on it", hint)


def moved(rows: DataFrame, spark: SparkSession) -> DataFrame:
    """The same DataFrame in another session: views and functions that it uses have been looked up in its own."""
    jvm = spark._jvm
    assert jvm is not None
    made = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, rows._jdf.queryExecution().analyzed())
    return DataFrame(made, spark)


def has_named_sources(spark: SparkSession) -> bool:
    """Whether streaming sources of a session can and must have names."""
    return spark.conf.get(_NAMED_SOURCES) == "true"


def registered(spark: SparkSession, source: type[DataSource]) -> SparkSession:
    """With a source of ours, once: Spark warns of one that is registered again.

    Not by `spark.dataSource.register`, which refuses it when the active session has it, whichever session that is.
    """
    manager = spark._jsparkSession.sessionState().dataSourceManager()
    if not manager.dataSourceExists(source.name()):
        jvm = spark._jvm
        assert jvm is not None
        with python_of_workers(spark.sparkContext):
            function = _wrap_function(spark.sparkContext, source)
        made = jvm.org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource(function)
        manager.registerDataSource(source.name(), made)
    return spark


def _free_name(checkpoint: str | None) -> str:
    """After the last folder of the checkpoint, for the eyes of somebody who looks at Spark's list of queries."""
    folder = re.sub(r"[^\w.-]+", "-", (checkpoint or "").rstrip("/").rpartition("/")[2]).strip("-")
    wanted = f"windrow-{folder}" if folder else "windrow"
    free = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
    name = next(name for name in free if name not in _names)
    _names.add(name)
    return name


def _running(master: str | None) -> SparkSession | None:
    if is_remote() or "SPARK_REMOTE" in environ:
        raise _remote()
    context = SparkContext._active_spark_context
    if context is None:
        return None
    if master is not None and with_attempts(master) != with_attempts(str(context.master)):
        hint = "leave master out to use it, or stop it first"
        raise WindrowError(f"this process runs Spark on {context.master} already, and can run only one", hint)
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def _given(spark: Any) -> SparkSession:
    if any(kind.__module__.startswith("pyspark.sql.connect") for kind in type(spark).__mro__):
        raise _remote()
    if not isinstance(spark, SparkSession):
        hint = "write connect(spark=SparkSession.builder.getOrCreate()), or connect() for a Spark of its own"
        raise WindrowError(f"spark is a {type(spark).__name__}, not a SparkSession", hint)
    if spark.sparkContext._jsc is None:
        hint = "start another one: SparkSession.builder.getOrCreate()"
        raise WindrowError("the Spark session that was given has been stopped", hint)
    return spark


def _remote() -> WindrowError:
    hint = (
        "run the program beside the driver (spark-submit, or SparkSession.builder.master(...) without SPARK_REMOTE); "
        "or use windrow.connect(local=True), and push rows: engine.push('trades', df.toArrow())"
    )
    return WindrowError("an engine cannot run on a Spark Connect session: it drives Spark from inside its driver", hint)


def _inner(user: SparkSession) -> SparkSession:
    """A session with the user's settings and ours; the first one on a cluster also asks its workers for Windrow."""
    inner = user.newSession()
    known = inner.conf.getAll
    for name, value in {**user.conf.getAll, **_SETTINGS}.items():
        if known.get(name) != value and inner.conf.isModifiable(name):
            inner.conf.set(name, value)
    check_workers(inner)
    return inner


_lock = threading.RLock()
_engines_on: dict[SparkContext, int] = {}  # how many engines use a Spark that an engine has started
_names: set[str] = set()  # of engines that are open
