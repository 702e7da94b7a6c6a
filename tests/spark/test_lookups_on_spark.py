"""Queries that are looked up, or share, on Spark itself: the same answers as in one process, also after a restart."""

from __future__ import annotations

from pathlib import Path

from lookup_queries import answers, create, feed, pieces
from pyspark.sql import SparkSession

import windrow
from windrow.runtime.local import Engine


def test_the_same_answers_with_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    local = Engine()
    create(local)
    on_spark = windrow.connect(spark=spark, checkpoint=str(tmp_path), shards=2)
    create(on_spark)
    for number, piece in enumerate(pieces(4)):
        feed(local, piece)
        feed(on_spark, piece)
        assert answers(on_spark) == answers(local)
        if number == 1:
            on_spark.close()
            on_spark = windrow.connect(spark=spark, checkpoint=str(tmp_path))
            assert answers(on_spark) == answers(local)
    text = "SELECT k, SUM(x) AS t FROM s [RANGE 7 SECONDS] GROUP BY k ORDER BY k"
    assert on_spark.lookup(text).to_pylist() == local.lookup(text).to_pylist()
    on_spark.close()
