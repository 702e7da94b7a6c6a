"""The Spark session that an engine runs on: one of its own, or the one that the user has."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from windrow.runtime.spark.data_sources import Log, Numbers, Wake

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
    "spark.python.worker.reuse": "true",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "ERROR",
}


def own_session(master: str | None) -> SparkSession:
    """A session of our own: in this process unless a master is named."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers have what this process has
    builder = SparkSession.builder.appName("windrow").master(master or f"local[{os.cpu_count() or 2}]")
    settings = {**_NEEDED, **_OWN}
    if master is not None and not master.startswith("local"):
        settings = {name: value for name, value in settings.items() if not name.startswith("spark.driver.")}
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def prepared(spark: SparkSession) -> SparkSession:
    """What an engine needs of any session."""
    for name, value in _NEEDED.items():
        spark.conf.set(name, value)
    for source in (Numbers, Wake, Log):
        spark.dataSource.register(source)
    return spark
