"""A Spark of Windrow's own, in this process: what its Java machine has to say goes to a file, not to the terminal."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from windrow.runtime.spark.spark_errors import not_started

_SETTINGS = {
    "spark.app.name": "windrow",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.worker.reuse": "true",
    "spark.log.level": "WARN",
}
_IN_THIS_MACHINE = {"spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1"}
_ATTEMPTS = 4  # a task is tried this often before the query stops; Spark's own number on clusters


def started_session(master: str | None) -> SparkSession:
    """The first session of a Spark that is started here, in this process unless a master is named."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers have what this process has
    master = with_attempts(master or f"local[{os.cpu_count() or 2}]")
    here = _IN_THIS_MACHINE if master.startswith("local") else {}
    conf = SparkConf().setAll(list({**_SETTINGS, "spark.master": master, **here}.items()))
    with _interruptible() as interrupted:
        if SparkContext._gateway is None:
            _launch(conf)
        if interrupted.is_set():
            raise KeyboardInterrupt
        return SparkSession(SparkContext(conf=conf))


def with_attempts(master: str) -> str:
    """A lost worker ends no local run: Spark tries a task once there unless told otherwise."""
    if master == "local":
        return f"local[1,{_ATTEMPTS}]"
    if master.startswith("local[") and "," not in master:
        return f"{master[:-1]},{_ATTEMPTS}]"
    return master


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Ctrl-C ends the Java machine, and with it whatever was being asked of it: an interrupt, and no word of Py4J's.

    One that comes up is ended when it is there: before that nobody has hold of it, and it would stay.
    """
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread() or SparkContext._gateway is not None:
        yield interrupted
        return

    def interrupt(*_: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()
        if SparkContext._gateway is not None:
            logging.disable()
            _java_machine(SparkContext._gateway).kill()

    before = signal.signal(signal.SIGINT, interrupt)
    disabled, handlers = logging.root.manager.disable, list(logging.root.handlers)
    try:
        yield interrupted
    except BaseException:
        if not interrupted.is_set():
            raise
        _forget_java_machine()
        raise KeyboardInterrupt from None
    finally:
        logging.disable(disabled)
        if interrupted.is_set():
            logging.root.handlers[:] = handlers  # Py4J logs to the root, which makes a handler for it
        if signal.getsignal(signal.SIGINT) is interrupt:  # a context that is there has put its own in place
            signal.signal(signal.SIGINT, before)


def _java_machine(gateway: Any) -> Popen[bytes]:
    machine: Popen[bytes] = gateway.proc
    return machine


def _forget_java_machine() -> None:
    """After an interrupt nothing is left of a Spark that had come up half: the next one is started from new."""
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    if gateway is not None:
        _java_machine(gateway).kill()
        with suppress(Exception):
            gateway.shutdown()
        _java_machine(gateway).wait()


def _launch(conf: SparkConf) -> None:
    """Start the Java machine with its output in a file."""
    handle, name = tempfile.mkstemp(prefix="windrow-spark-", suffix=".log")
    _logs.append(Path(name))
    atexit.register(_forget_logs)
    with os.fdopen(handle, "wb") as file:
        try:
            gateway = launch_gateway(conf, {"stdout": file, "stderr": file})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise not_started(Path(name).read_text(errors="replace")) from error
    SparkContext._ensure_initialized(gateway=gateway)


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
