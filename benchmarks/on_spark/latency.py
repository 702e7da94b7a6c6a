"""A trickle of 100 rows a second: from a row's arrival to the answer that has it, beside Spark's own count."""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import windrow
from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring
from benchmarks.spark_runs import in_process_of_its_own, plain_session
from windrow.clock import monotonic

RATE = 100  # rows a second
KEYS = 10
QUERIES = 100
PATIENCE = 300.0  # seconds for the first answer, and for the last ones
STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts"

Latencies = list[float]  # seconds of each row, in the order of arrival


class Arrivals:
    """When rows came and when an answer had them: row n has key n modulo KEYS, so a count says which rows are in it."""

    def __init__(self) -> None:
        self._came: list[float] = []
        self._answered: dict[int, float] = {}
        self._counted = [0] * KEYS

    def trickle(self, seconds: float, send: Callable[[int], None]) -> None:
        """Rows at a constant rate, whatever becomes of them, until so many seconds after the first answer."""
        began = monotonic()
        while not self._answered or monotonic() < self._answered[0] + seconds:
            number = len(self._came)
            time.sleep(max(0.0, began + number / RATE - monotonic()))
            assert self._answered or monotonic() < began + PATIENCE, "there is no answer"
            self._came.append(monotonic())
            send(number)

    def answer(self, counts: Iterable[tuple[int, int]]) -> None:
        now = monotonic()
        for key, count in counts:
            for place in range(self._counted[key], count):
                self._answered[place * KEYS + key] = now
            self._counted[key] = max(count, self._counted[key])

    def latencies(self, warm: float) -> Latencies:
        """Of the rows that came so many seconds after the first answer or later, once all have been answered.

        The last ones only push others on and are not counted.
        """
        wanted, until = len(self._came) - 2 * KEYS, monotonic() + PATIENCE
        while any(number not in self._answered for number in range(wanted)):
            assert monotonic() < until, "some rows came into no answer"
            time.sleep(0.05)
        first = self._answered[0] + warm
        return [self._answered[number] - self._came[number] for number in range(wanted) if self._came[number] >= first]


def run(quick: bool) -> Report:
    warm, seconds = (8.0, 8.0) if quick else (15.0, 40.0)
    results: list[dict[str, object]] = []
    sides: dict[str, tuple[Any, ...]] = {
        "native": (native,),
        "spark": (on_spark, 1),
        f"spark, {QUERIES} queries": (on_spark, QUERIES),
        "local": (local,),
    }
    for side, (measured, *arguments) in sides.items():
        measuring(f"{side}, {warm + seconds:.0f} s")
        found = np.array(in_process_of_its_own(measured, *arguments, warm, seconds))
        p50, p99 = (float(np.quantile(found, share)) for share in (0.5, 0.99))
        results.append({"side": side, "rows": len(found), "p50": p50, "p99": p99, "most": float(found.max())})
    (native_p50, native_p99), (p50, p99), (many, _), _ = ((float(str(r["p50"])), float(str(r["p99"]))) for r in results)
    ratios = {
        "spark_p50_over_native": p50 / native_p50,
        "spark_p99_over_native": p99 / native_p99,
        "spark_100_queries_over_1": many / p50,
    }
    _draw(results)
    params = {"rate": RATE, "keys": KEYS, "warm_seconds": warm, "seconds": seconds, "quick": quick}
    return Report("latency", params, results, ratios)


def native(warm: float, seconds: float) -> Latencies:
    """`groupBy().count()` over lines of a socket, micro-batch after micro-batch; answers are collected."""
    spark, arrivals = plain_session(), Arrivals()
    spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)

    def collected(batch: DataFrame, _: int) -> None:
        arrivals.answer((int(row["k"]), int(row["count"])) for row in batch.collect())

    with (
        tempfile.TemporaryDirectory(prefix="windrow-bench-") as place,
        socket.create_server(("localhost", 0)) as server,
    ):
        lines = spark.readStream.format("socket").option("host", "localhost")
        rows = lines.option("port", server.getsockname()[1]).load()
        counts = rows.groupBy((F.col("value").cast("long") % KEYS).alias("k")).count()
        writer = counts.writeStream.outputMode("update").option("checkpointLocation", place)
        query = writer.foreachBatch(collected).start()
        connection = server.accept()[0]
        arrivals.trickle(warm + seconds, lambda number: connection.sendall(f"{number}\n".encode()))
        found = arrivals.latencies(warm)
        query.stop()
        connection.close()
    spark.stop()
    return found


def on_spark(queries: int, warm: float, seconds: float) -> Latencies:
    """The count of every key over windows of several lengths, by an engine that runs in the background."""
    arrivals = Arrivals()
    with windrow.connect() as engine:
        _declare(engine, queries, arrivals)
        engine.start()
        arrivals.trickle(warm + seconds, lambda number: engine.push("s", [_row(number)]))
        found = arrivals.latencies(warm)
        engine.stop()
    return found


def local(warm: float, seconds: float) -> Latencies:
    """The same in this process: a step for every row."""
    arrivals, engine = Arrivals(), windrow.connect(local=True)
    _declare(engine, 1, arrivals)

    def send(number: int) -> None:
        engine.push("s", [_row(number)])
        engine.step()

    arrivals.trickle(warm + seconds, send)
    return arrivals.latencies(warm)


def _declare(engine: Any, queries: int, arrivals: Arrivals) -> None:
    engine.sql(STREAM)
    for number in range(queries):
        window = f"[RANGE {10 + number} MINUTES]"
        engine.sql(f"CREATE QUERY q{number} AS SELECT k, COUNT(*) AS n FROM s {window} GROUP BY k")

    def told(changes: Any) -> None:
        columns = (changes[name].to_pylist() for name in ("k", "n", "_sign"))
        arrivals.answer((k, n) for k, n, sign in zip(*columns, strict=True) if sign > 0)

    engine[f"q{queries - 1}"].subscribe(told)


def _row(number: int) -> dict[str, int]:
    return {"ts": time.time_ns() // 1000, "k": number % KEYS}


def _draw(results: list[dict[str, object]]) -> None:
    figure, axes = plotting().subplots(figsize=(6, 3.5))
    for place, name in enumerate(("p50", "p99")):
        values = [float(str(one[name])) for one in results]
        axes.bar([number + place * 0.4 for number in range(len(results))], values, 0.4, label=name)
    axes.set(yscale="log", ylabel="seconds from arrival to answer")
    axes.set_xticks([number + 0.2 for number in range(len(results))], [str(one["side"]) for one in results])
    axes.legend()
    drawn(figure, "latency")
