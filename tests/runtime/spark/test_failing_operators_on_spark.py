"""On Spark, too, an operator that raises sets aside the queries above it and nobody else, over a restart as well."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from support.own_aggregates import Longest
from support.spark_readers import read_all
from windrow.errors import WindrowError
from windrow.runtime.spark import SparkEngine
from windrow.types import STRING
from windrow.units import SECOND

QUERIES = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts;
    CREATE QUERY broken AS SELECT LONGEST(k) AS l FROM s [RANGE 100 SECONDS];
    CREATE QUERY above AS SELECT l FROM (SELECT LONGEST(k) AS l FROM s [RANGE 100 SECONDS]) AS q WHERE l <> '';
    CREATE QUERY counted AS SELECT k, COUNT(*) AS n FROM s [RANGE 100 SECONDS] GROUP BY k;
    CREATE QUERY plain AS SELECT v FROM s [RANGE 100 SECONDS]
"""


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    logging.getLogger("windrow").setLevel(logging.ERROR)
    yield
    logging.getLogger("windrow").setLevel(logging.NOTSET)


def test_only_the_queries_above_an_operator_that_raises_are_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "broken"

    class Breakable(Longest):
        """Has no state to begin with while the file is there: then the operator that asks for one fails."""

        def initial(self) -> str:
            if file.exists():
                raise OSError("the model is gone")
            return ""

    def connected() -> SparkEngine:
        return SparkEngine(spark, checkpoint=str(tmp_path / "checkpoint"), shards=2)

    def step(engine: SparkEngine, *seconds: int) -> None:
        for second in seconds:
            engine.push("s", [{"ts": second * SECOND, "k": "k" * second, "v": second}])
        engine.step()

    def aside(engine: SparkEngine) -> list[tuple[str, str]]:
        return sorted((one.what, one.name) for one in engine.health())

    def read(frame: DataFrame, name: str) -> list[Any]:
        """What a reader gets that has a checkpoint of its own, and goes on in it."""
        place = str(tmp_path / name)
        writer = frame.writeStream.format("parquet").option("checkpointLocation", f"{place}.reader")
        read_all(lambda: writer.trigger(availableNow=True).start(place))
        return sorted(row["l"] for row in spark.read.parquet(place).collect() if row["l"] and row["_sign"] > 0)

    def values(engine: SparkEngine, query: str, column: str) -> list[Any]:
        return sorted(engine[query].answer()[column].to_pylist())

    first = connected()
    first.register_aggregate("longest", [STRING], STRING, Breakable)
    first.sql(QUERIES)
    step(first, 1, 2, 3)
    assert values(first, "broken", "l") == values(first, "above", "l") == ["kk"]
    early = first["broken"].dataframe()
    assert read(early, "early") == ["k", "kk"]
    file.touch()
    step(first, 4, 5)
    file.unlink()
    step(first, 6)
    assert aside(first) == [("query", "above"), ("query", "broken")]
    assert "OSError: the model is gone, in the operator" in first.health()[0].message
    assert values(first, "plain", "v") == [1, 2, 3, 4, 5] and len(values(first, "counted", "n")) == 5
    assert values(first, "broken", "l") == ["kk"], "the last good answer"
    first.close()

    second = connected()
    step(second, 7)
    assert aside(second) == [("query", "above"), ("query", "broken")]
    assert values(second, "broken", "l") == ["kk"] and len(values(second, "counted", "n")) == 6
    second.resume_query("broken")
    with pytest.raises(WindrowError, match="plain is not set aside"):
        second.resume_query("plain")
    step(second, 8, 9)
    assert aside(second) == [("query", "above")]
    assert values(second, "broken", "l") == ["k" * 8]
    assert read(early, "early") == read(second["broken"].dataframe(), "late") == ["k", "kk", "k" * 8]
    assert values(second, "plain", "v") == [*range(1, 9)]
    second.close()
