"""Queries that are looked up, or share, on Spark itself: the same answers as in one process, also after a restart."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import windrow
from support.lookup_queries import answers, begun_later, create, create_later, feed, pieces
from windrow.runtime.local import LocalEngine


def test_the_same_answers_with_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    local = LocalEngine()
    create(local)
    on_spark = windrow.connect(spark=spark, checkpoint=str(tmp_path), shards=2)
    create(on_spark)
    for number, piece in enumerate(pieces(4)):
        if number == 1:
            create_later(on_spark)
            later = begun_later()
        if number == 3:
            for query in local.queries:
                on_spark.sql(f"DROP QUERY {query.name}")
        for engine in (local, on_spark) if number == 0 else (local, later, on_spark):
            feed(engine, piece)
        wanted = answers(local) if number == 0 else answers(local) | answers(later)
        assert answers(on_spark).items() <= wanted.items()
        if number == 1:
            on_spark.close()
            on_spark = windrow.connect(spark=spark, checkpoint=str(tmp_path))
            assert answers(on_spark) == wanted
    text = "SELECT k, SUM(x) AS t FROM s [RANGE 7 SECONDS] GROUP BY k ORDER BY k"
    assert on_spark.lookup(text).to_pylist() == local.lookup(text).to_pylist()
    on_spark.close()
