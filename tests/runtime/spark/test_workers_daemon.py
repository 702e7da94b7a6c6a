"""The process that workers are forked from: which PySpark it loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

import windrow

INSTALLED = Path(pyspark.__file__).parent
SHIPPED = sorted((INSTALLED / "python" / "lib").glob("*.zip"))  # py4j and PySpark, as Spark puts them before all else
LOAD = "import windrow.runtime.spark.workers_daemon as daemon; print(daemon.pyspark.__file__)"


@pytest.mark.parametrize("is_installed", [True, False], ids=["installed", "only what Spark ships"])
def test_the_installed_pyspark_is_loaded_or_else_the_one_that_spark_ships(tmp_path: Path, is_installed: bool) -> None:
    """Under `spark-submit` there may be no other."""
    for package in INSTALLED.parent.iterdir():
        if is_installed or not package.name.startswith(("pyspark", "py4j")):
            (tmp_path / package.name).symlink_to(package)
    places = [*SHIPPED, Path(windrow.__file__).parent.parent, tmp_path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    command = [sys.executable, "-S", "-c", LOAD]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    assert ("pyspark.zip" in finished.stdout) is not is_installed
