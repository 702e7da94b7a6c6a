"""The Python that Spark's workers run: it must have Windrow."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from windrow.errors import WindrowError
from windrow.runtime.spark.spark_errors import translated

_HOW = (
    "install the same there, or name a Python that has it on all machines, before Spark starts: "
    "PYSPARK_PYTHON, or spark.pyspark.python"
)


@contextmanager
def python_of_workers(context: SparkContext) -> Iterator[None]:
    """Functions that are shipped inside run, on this machine, with the Python of this process.

    PySpark takes the name of the interpreter from the context when a function is made. A session that was started
    without PYSPARK_PYTHON would run whatever `python3` is; the functions of its user still do.
    """
    if not _is_local(context) or not sys.executable:
        yield
        return
    with _lock:
        before, context.pythonExec = context.pythonExec, sys.executable
        try:
            yield
        finally:
            context.pythonExec = before


def check_workers(spark: SparkSession) -> None:
    """One job that imports what tasks need; workers of this machine run the Python of this process."""
    if not _is_local(spark.sparkContext) and spark.sparkContext not in _checked:
        probe(spark)
        _checked.append(spark.sparkContext)


def probe(spark: SparkSession) -> None:
    """Raise if a worker has no Windrow, in half a minute less than the first micro-batch would."""
    try:
        spark.range(1).mapInArrow(_loaded, "id long").collect()
    except PySparkException as error:
        raise _without_windrow(str(error)) or translated(error) from error


def _is_local(context: SparkContext) -> bool:
    return str(context.master).startswith("local")


def _loaded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from windrow.runtime.shards.tasks import router, shard  # noqa: F401

    yield from batches


def _without_windrow(text: str) -> WindrowError | None:
    if (missing := re.search(r"No module named '([\w.]+)'", text)) is not None:
        return WindrowError(f"the workers run another Python, which has no {missing[1].split('.')[0]}", _HOW)
    if "PYTHON_VERSION_MISMATCH" in text:
        here = ".".join(map(str, sys.version_info[:2]))
        return WindrowError(f"the workers run another Python than this process, which is {here}", _HOW)
    return None


_lock = threading.RLock()
_checked: list[SparkContext] = []
