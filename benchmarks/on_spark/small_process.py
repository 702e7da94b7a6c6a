"""One process of the benchmark `small`: a side from its start to a warm micro-batch; its times as a line of JSON.

    python -m benchmarks.on_spark.small_process windrow|periodic|empty|native QUERIES BATCHES

`first_answer` is from the start of the process, `cpu` and `memory` are of all its processes at that moment.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from statistics import median
from typing import Any

SECOND = 1_000_000
Batches = Generator[None, None, None]  # every `next` is one; it ends when it is closed


def main(side: str, queries: int, batches: int) -> None:
    with closing(SIDES[side](queries)) as batch:  # not at the end of the interpreter, where Spark waits for its threads
        next(batch)
        first = time.time() - _begun()
        cpu, memory = _used()
        taken = [_timed(batch) for _ in range(batches)]
    found = {"first_answer": first, "second": taken[0], "warm": median(taken[len(taken) // 2 :])}
    print(json.dumps({**found, "cpu": cpu, "memory": memory}), flush=True)


def windrow(queries: int) -> Batches:
    """Rows are pushed; every query counts them by key over a window of its own."""
    return _answered([f"[RANGE {number + 1} MINUTES]" for number in range(queries)])


def periodic(queries: int) -> Batches:
    """The same for windows that are refreshed every 10 to 60 seconds; a micro-batch is 10 seconds of time."""
    slides = itertools.cycle((10, 20, 30, 60))
    return _answered([f"[RANGE {number + 1} MINUTES SLIDE {next(slides)} SECONDS]" for number in range(queries)])


def _answered(windows: Sequence[str]) -> Batches:
    import windrow

    with windrow.connect() as engine:
        engine.sql("CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts")
        for number, window in enumerate(windows):
            engine.sql(f"CREATE QUERY q{number} AS SELECT k, COUNT(*) AS n FROM s {window} GROUP BY k")
        for rows in _batches():
            engine.push("s", rows)
            engine.step()
            engine["q0"].answer()
            yield


def empty(_: int) -> Batches:
    """What Spark takes for nothing: `foreachBatch` with a function that does nothing, Spark's defaults."""
    return _followed(lambda rows: rows.writeStream.foreachBatch(lambda frame, number: None))


def native(_: int) -> Batches:
    """Spark's own count of each key, with as many partitions as cores: its 200 would be 200 tasks for ten rows."""
    return _followed(
        lambda rows: (
            rows.groupBy("k")
            .count()
            .writeStream.outputMode("update")
            .foreachBatch(lambda frame, number: frame.collect())
        )
    )


def _followed(written: Callable[[Any], Any]) -> Batches:
    """Every micro-batch is a file, and is over when Spark has committed it."""
    import pyarrow.parquet
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.config("spark.log.level", "ERROR").config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.sql.shuffle.partitions", str(os.cpu_count())).getOrCreate()
    with tempfile.TemporaryDirectory() as place:
        files = Path(place) / "rows"
        files.mkdir()
        rows = spark.readStream.schema("ts timestamp, k bigint").parquet(str(files))
        query = written(rows).option("checkpointLocation", f"{place}/checkpoint").start()
        try:
            for number, table in enumerate(_batches()):
                pyarrow.parquet.write_table(table, files / f".{number}")
                (files / f".{number}").rename(files / f"{number}.parquet")
                query.processAllAvailable()
                yield
        finally:
            query.stop()
            spark.stop()


def _batches() -> Iterator[Any]:
    import pyarrow as pa

    second = 0
    while True:
        times = range(second, second + 10)
        second += 10
        ts = pa.array([time * SECOND for time in times], pa.timestamp("us", "UTC"))
        yield pa.table({"ts": ts, "k": pa.array([time % 3 for time in times], pa.int64())})


def _timed(batch: Iterator[None]) -> float:
    began = time.perf_counter()
    next(batch)
    return time.perf_counter() - began


def _begun() -> float:
    """When this process was started."""
    ticks = int(_stat("self")[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - (float(Path("/proc/uptime").read_text().split()[0]) - ticks)


def _used() -> tuple[float, float]:
    """Processor seconds and megabytes (what processes share counted once) of this process and all below it."""
    stats = {}
    for process in (path.name for path in Path("/proc").iterdir() if path.name.isdigit()):
        with suppress(OSError):  # it has ended meanwhile
            stats[process] = _stat(process)
    found = {str(os.getpid())}
    while below := {process for process, stat in stats.items() if stat[1] in found} - found:
        found |= below
    cpu = sum(sum(map(int, stats[process][11:15])) for process in found) / os.sysconf("SC_CLK_TCK")
    return cpu, sum(map(_megabytes, found))


def _stat(process: str) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _megabytes(process: str) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


SIDES: dict[str, Callable[[int], Batches]] = {
    "windrow": windrow,
    "periodic": periodic,
    "empty": empty,
    "native": native,
}

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
