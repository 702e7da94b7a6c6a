"""One Spark session for all tests that need Spark itself: starting one costs more than most of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from support import killed_run
from support.interrupted import Came
from windrow.runtime.shards.serving.pool import POOL
from windrow.runtime.spark.own_spark import started_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session in this process on two cores, with what `windrow.connect` would set."""
    POOL.acquire(2)  # so that engines do not start shard servers of their own
    session = started_session("local[2]")
    yield session
    session.stop()
    POOL.release()


@pytest.fixture(scope="session")
def undisturbed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Came:
    """What the run that others kill comes to when it is let alone."""
    place = tmp_path_factory.mktemp("undisturbed")
    return killed_run.carried_out(place, spark)
