"""`python -m windrow.runtime.spark.class_data_record`: a first micro-batch on Spark, and what Java loads for it.

Whatever happens it ends: it and its Java are a group of processes, which has a limit as a whole; its shard servers
end when it is gone.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from windrow.runtime.spark import class_data
from windrow.units import SECOND

_STATEMENTS = """
CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts;
CREATE QUERY a AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k;
CREATE QUERY b AS SELECT k FROM s [ROWS 3];
"""
_LONGEST = 300  # seconds; where others leave it no time, it is tried again another day


def record(archive: Path) -> int:
    """Run what a first run does, with Java's class data left in a file; the exit code of Java."""
    import pyarrow as pa  # not loaded, as the rest, by who finds that others make it already
    from pyspark import SparkContext

    from windrow.runtime.spark.engine import SparkEngine
    from windrow.runtime.spark.own_spark import started_session

    spark = started_session(None, archive)
    with SparkEngine(spark=spark) as engine:
        engine.sql(_STATEMENTS)
        engine.stream("r", spark.readStream.format("rate").load(), timestamp="timestamp")
        engine.sql("CREATE QUERY c AS SELECT value FROM r [RANGE 1 HOUR]")
        for first in (1, 11):
            times = range(first, first + 10)
            ts = pa.array([time * SECOND for time in times], pa.timestamp("us", "UTC"))
            engine.push("s", pa.table({"ts": ts, "k": list(times)}))
            engine.step()
    gateway = SparkContext._gateway
    spark.stop()
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    code: int = gateway.proc.wait()
    return code


def end_after(seconds: int) -> None:
    """End this process then, and all that it has started and that have not left its group."""
    if os.getpgrp() != os.getpid():
        os.setpgrp()
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
    signal.alarm(seconds)


if __name__ == "__main__":
    end_after(_LONGEST)
    class_data.make(record)
