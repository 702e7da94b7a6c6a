"""A Spark of Windrow's own, in this process: what its Java machine has to say goes to a file, not to the terminal."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import Any, NoReturn

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from windrow.runtime.shards.serving.pool import POOL
from windrow.runtime.spark import class_data
from windrow.runtime.spark.servers import local_cores
from windrow.runtime.spark.spark_errors import not_started

_SETTINGS = {
    "spark.app.name": "windrow",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.worker.reuse": "true",
    "spark.log.level": "WARN",
}
_IN_THIS_MACHINE = {
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
}
_WITH_THIS_PYTHON = {"spark.python.daemon.module": "windrow.runtime.spark.workers_daemon"}
_JAVA_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_FIRST = "SPARK_SUBMIT_OPTS"
_ATTEMPTS = 4  # a task is tried this often before the query stops; Spark's own number on clusters


def started_session(master: str | None, archive: Path | None = None) -> SparkSession:
    """The first session of a Spark that is started here, in this process unless a master is named.

    With a path for an archive Java leaves its class data there when it ends.
    """
    start = _Starting(master, archive)
    start.begin()
    return start.session()


@contextmanager
def coming_up(master: str | None) -> Iterator[None]:
    """Spark comes up while the caller does something else, until it takes it by `came_up`; what is not taken ends.

    Shard servers come up beside it. Nothing is done where there is a Spark already, or one is coming up.
    """
    cores = local_cores(master or "local[*]")
    with ExitStack() as undone:
        with _lock:
            is_there = SparkContext._active_spark_context is not None or _coming
            is_wanted = not is_there and not is_remote() and "SPARK_REMOTE" not in os.environ
            if is_wanted:
                start = _Starting(master)
                undone.callback(_abandon_unless_taken, start)  # first: an interrupt may come at any moment
                _coming.append(start)
                start.begin()
        if is_wanted and cores is not None:
            POOL.acquire(cores)
            undone.callback(POOL.release)
        yield


def _abandon_unless_taken(start: _Starting) -> None:
    """Not one that another thread has begun since."""
    with _lock:
        if start not in _coming:
            return
        _coming.remove(start)
    start.abandon()


def came_up() -> SparkSession | None:
    """The first session of the Spark that was coming up."""
    with _lock:
        start = _coming.pop() if _coming else None
    return None if start is None else start.session()


class _Starting:
    """It goes on in a thread of its own: Java takes seconds, and whoever waits can be interrupted at any moment."""

    def __init__(self, master: str | None, archive: Path | None = None) -> None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers have what this process has
        self._conf, self._archive = _conf(master), archive
        self._session: SparkSession | None = None
        self._error: BaseException | None = None
        self._is_abandoned = False
        self._thread = threading.Thread(target=self._run, name="start of Spark", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def session(self) -> SparkSession:
        try:
            self._thread.join()
        except BaseException:
            self.abandon()
            raise
        if self._session is None:
            assert self._error is not None
            raise self._error
        _take_over(self._session)
        return self._session

    def abandon(self) -> None:
        """Nothing is left of a Spark that had come up half, nor a word of Py4J's: the next one is started from new.

        A Java machine that comes up is ended when it is there: before that nobody has hold of it, and it would stay.
        """
        with _without_a_word():
            self._is_abandoned = True
            if SparkContext._gateway is not None:
                _java_machine(SparkContext._gateway).kill()
            if self._thread.ident is not None:
                self._thread.join()
            _forget_java_machine()

    def _run(self) -> None:
        try:
            if SparkContext._gateway is None:
                _launch(self._conf, self._archive)
            if not self._is_abandoned:
                self._session = SparkSession(SparkContext(conf=self._conf))
        except BaseException as error:
            self._error = error


def _conf(master: str | None) -> SparkConf:
    master = with_attempts(master or f"local[{os.cpu_count() or 2}]")
    settings = {**_SETTINGS, "spark.master": master}
    if master.startswith("local"):
        settings |= _IN_THIS_MACHINE
        if os.environ["PYSPARK_PYTHON"] == sys.executable:
            settings |= _WITH_THIS_PYTHON
    return SparkConf().setAll(list(settings.items()))


def _take_over(session: SparkSession) -> None:
    """What Spark does for the thread that makes a session, for the one that has waited for it."""
    context, jvm = session.sparkContext, session._jvm
    assert jvm is not None
    SparkSession._get_j_spark_session_class(jvm).setActiveSession(session._jsparkSession)

    def interrupt(*_: object) -> NoReturn:
        try:
            context.cancelAllJobs()
        finally:
            raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)


def with_attempts(master: str) -> str:
    """A lost worker ends no local run: Spark tries a task once there unless told otherwise."""
    if master == "local":
        return f"local[1,{_ATTEMPTS}]"
    if master.startswith("local[") and "," not in master:
        return f"{master[:-1]},{_ATTEMPTS}]"
    return master


@contextmanager
def _without_a_word() -> Iterator[None]:
    """Py4J tells of every call that is cut off, also by the root itself, which makes a handler for it if there is none.

    What others log meanwhile is heard.
    """
    py4j, nobody = logging.getLogger("py4j"), logging.NullHandler()
    level = py4j.level
    py4j.setLevel(logging.CRITICAL + 1)
    logging.root.addFilter(_nothing)
    logging.root.addHandler(nobody)
    try:
        yield
    finally:
        logging.root.removeHandler(nobody)
        logging.root.removeFilter(_nothing)
        py4j.setLevel(level)


def _nothing(record: logging.LogRecord) -> bool:
    """Of what is logged to the root itself: loggers below it do not ask."""
    return False


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


class _FirstOptions(dict[str, Any]):
    """How PySpark is to start Java, with options of ours in the environment that it makes.

    Spark's script takes these before all others. As a setting they would replace what a file of the user's says there,
    and in the environment of this process other threads would see them.
    """

    def __init__(self, options: Sequence[str], given: dict[str, Any]) -> None:
        super().__init__(given)
        self._options = options

    def __setitem__(self, name: str, value: Any) -> None:
        if name == "env":
            value = {**value, _FIRST: " ".join([*self._options, value.get(_FIRST, "")])}
        super().__setitem__(name, value)


def _launch(conf: SparkConf, archive: Path | None) -> None:
    """Start the Java machine with its output in a file; with our options, or without if it refuses them."""
    handle, name = tempfile.mkstemp(prefix="windrow-spark-", suffix=".log")
    _logs.append(Path(name))
    atexit.register(_forget_logs)
    if archive is None:
        atexit.register(class_data.make_in_background)
    data = class_data.reading_options() if archive is None else class_data.writing_options(archive)
    with os.fdopen(handle, "wb") as file:
        for options in ([*_JAVA_OPTIONS, *data], ()):
            if (gateway := _gateway(conf, options, file)) is not None:
                SparkContext._ensure_initialized(gateway=gateway)
                return
    raise not_started(Path(name).read_text(errors="replace"))


def _gateway(conf: SparkConf, options: Sequence[str], output: Any) -> Any:
    """To a Java machine, or None if it has ended at once. What the user says about Java comes after our options."""
    started = _FirstOptions(options, {"stdout": output, "stderr": output})
    try:
        return launch_gateway(conf, started)  # type: ignore[no-untyped-call]
    except PySparkRuntimeError:
        return None


def log_to_read() -> Path | None:
    """The log of the Java machine, for somebody to look into: it outlives the process."""
    found = _logs[-1] if _logs else None
    _logs_to_read.update(_logs)
    return found


def _forget_logs() -> None:
    for log in _logs:
        if log not in _logs_to_read:
            log.unlink(missing_ok=True)


_lock = threading.Lock()
_coming: list[_Starting] = []  # at most one
_logs: list[Path] = []  # of Java machines that this process has started
_logs_to_read: set[Path] = set()
