"""One Spark session for all tests that need Spark itself: starting one costs more than most of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from windrow.runtime.spark.spark_session import own_session

SOURCE = str(Path(__file__).parents[2] / "src")
TESTS = str(Path(__file__).parents[1])


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session in this process on two cores, with what `windrow.connect` would set."""
    # Workers import the package and the tests from where this process has them.
    paths = [SOURCE, TESTS, os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    session = own_session("local[2]")
    yield session
    session.stop()
