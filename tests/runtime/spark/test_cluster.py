"""The same run on a standalone cluster of two workers, one of which is killed in the middle: the same answers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from support import killed_run
from support.interrupted import Came
from support.killed_run import SOURCE, TESTS
from support.killing import started
from support.waiting import until

SPARK = Path(pyspark.__file__).parent
HOST = "127.0.0.1"


@contextmanager
def process(place: Path, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon of Spark's, in a process group of its own with all that it starts."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": HOST,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([SOURCE, TESTS]),
    }
    with (place / f"{name}.log").open("wb") as log:
        command = [str(SPARK / "bin" / "spark-class"), *arguments]
        running = subprocess.Popen(command, env=environment, start_new_session=True, stdout=log, stderr=log)
        try:
            yield running
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def worker(place: Path, name: str, master: str):  # type: ignore[no-untyped-def]
    work = place / name
    work.mkdir()
    arguments = ["--host", HOST, "--cores", "1", "--memory", "1g", "--work-dir", str(work), "--webui-port", "0", master]
    return process(place, name, "org.apache.spark.deploy.worker.Worker", *arguments)


def test_a_cluster_that_loses_a_worker_comes_to_the_same(
    undisturbed: Came, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lossy = tmp_path / "lossy"
    port = free_port()
    master = f"spark://{HOST}:{port}"
    arguments = ["--host", HOST, "--port", str(port), "--webui-port", "0"]
    monkeypatch.setenv("SPARK_LOCAL_IP", HOST)
    with process(tmp_path, "master", "org.apache.spark.deploy.master.Master", *arguments):
        until(lambda: "New state: ALIVE" in (tmp_path / "master.log").read_text(), "the start of the master")
        with worker(tmp_path, "first", master) as first, worker(tmp_path, "second", master):
            until(
                lambda: (tmp_path / "master.log").read_text().count("Registering worker") == 2,
                "the start of the workers",
            )
            driver = started(lossy, master)
            try:
                commits = lossy / "checkpoint" / "windrow" / "commits"
                until(lambda: any(commits.glob("000000003-*")) or driver.poll() is not None, "the fourth batch")
                manifests = lossy / "checkpoint" / "windrow" / "manifests"
                until(lambda: any(manifests.glob("000000005-*")) or driver.poll() is not None, "the sixth batch")
                assert driver.poll() is None, (lossy / "log").read_text()[-3000:]
                os.killpg(first.pid, signal.SIGKILL)  # the worker, its executor and its Python workers
                assert driver.wait() == 0, (lossy / "log").read_text()[-3000:]
                assert "Removing worker" in (tmp_path / "master.log").read_text(), "it was lost while the driver ran"
            finally:
                if driver.poll() is None:
                    os.killpg(driver.pid, signal.SIGKILL)
                    driver.wait()
    assert killed_run.read_came(lossy) == undisturbed
