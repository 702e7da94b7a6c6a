"""On Spark, too, a sink that fails stops nobody and gets what it missed: here a function, and a folder that is gone."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.failing_sink import GOT, REFUSING
from windrow.clock import ManualClock
from windrow.runtime.spark import SparkEngine
from windrow.units import SECOND

ALL = "SELECT v FROM s [RANGE 4 SECONDS]"


def test_sinks_that_fail_get_what_they_missed(spark: SparkSession, tmp_path: Path) -> None:
    GOT.clear()
    logging.getLogger("windrow").setLevel(logging.ERROR)
    clock, folder = ManualClock(10**9), tmp_path / "files"
    engine = SparkEngine(spark, checkpoint=str(tmp_path / "checkpoint"), shards=1, clock=clock)
    engine.sql(f"""
        CREATE STREAM s (ts TIMESTAMP, v INT) TIMESTAMP BY ts LATE INTO csv('{tmp_path}/late');
        CREATE QUERY called AS {ALL} INTO python('support.failing_sink:receive');
        CREATE QUERY other AS {ALL} INTO python('support.failing_sink:receive');
        CREATE QUERY files AS {ALL} INTO json('{folder}')
    """)

    def step(second: int) -> None:
        engine.push("s", [{"ts": second * SECOND, "v": second}, {"ts": 0, "v": -second}])
        engine.step()

    def received(query: str) -> list[int]:
        return [value for table in GOT.get(query, []) for value in table["v"].to_pylist()]

    try:
        step(1)
        REFUSING["called"] = "no room"
        folder.rename(tmp_path / "away")
        step(2)
        step(3)
        assert received("other") == [-1, 1, 2] and received("called") == [-1]
        assert sorted((one.what, one.name) for one in engine.health()) == [("sink", "called"), ("sink", "files")]
        REFUSING.clear()
        (tmp_path / "away").rename(folder)
        clock.advance(61 * SECOND)
        step(4)
        assert received("called") == received("other")
        written = [json.loads(line)["v"] for path in folder.iterdir() for line in path.read_text().splitlines()]
        assert sorted(written) == sorted(received("other"))
        assert engine.health() == []
        late = [line for path in sorted((tmp_path / "late").iterdir()) for line in path.read_text().splitlines()[1:]]
        assert [line.split(",")[1] for line in late] == ["-2", "-3", "-4"]
    finally:
        REFUSING.clear()
        logging.getLogger("windrow").setLevel(logging.NOTSET)
        engine.close()


@pytest.mark.parametrize("place", ["checkpoint", "checkpoint/windrow"])
def test_the_folder_of_the_checkpoint_is_no_sink(spark: SparkSession, tmp_path: Path, place: str) -> None:
    engine = SparkEngine(spark, checkpoint=str(tmp_path / "checkpoint"), shards=1)
    engine.sql("CREATE STREAM s (ts TIMESTAMP, v INT) TIMESTAMP BY ts")
    with pytest.raises(Exception, match="the engine itself is kept in"):
        engine.sql(f"CREATE QUERY q AS {ALL} INTO json('{tmp_path}/{place}')")
    engine.close()
