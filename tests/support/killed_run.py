"""A run on Spark that others kill: `python killed_run.py FOLDER` goes on from the folder's checkpoint until it is done.

Which rows are in which micro-batch is fixed (one push of each stream, so many generated rows), and a statement
is said just before the batch that it belongs to: so all runs have the same effect times, killed or not. Beside them
Spark brings a stream of its own, file by file: nothing else depends on when.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession

from support.interrupted import Came, Rows, came
from windrow.errors import WindrowError
from windrow.runtime.shards.batch_loop import Job
from windrow.runtime.spark import engine as engines
from windrow.runtime.spark.engine import SparkEngine
from windrow.sources.rows import rows_table

SOURCE, TESTS = (str(Path(__file__).parents[2] / "src"), str(Path(__file__).parents[1]))  # for workers to import from
TOO_BUSY = ("machine is too busy", "CANNOT_OPEN_SOCKET")  # Spark waits ten seconds for a worker: start again
BATCHES = 14
ROWS_A_BATCH = 60
BROUGHT, BROUGHT_ROWS = 5, 12  # files that Spark brings, and rows in each
DECLARED = (
    "CREATE STREAM a (t TIMESTAMP, k BIGINT, v BIGINT, s STRING) TIMESTAMP BY t SLACK 2 SECONDS",
    "CREATE STREAM b (t TIMESTAMP, k BIGINT, v BIGINT, s STRING) TIMESTAMP BY t SLACK 2 SECONDS",
    "CREATE STREAM link (ts TIMESTAMP, src STRING, dst STRING, protocol STRING, bytes BIGINT, duration INTERVAL)"
    f" FROM generator('traffic', rate => {ROWS_A_BATCH // 2}, rows => {ROWS_A_BATCH * BATCHES},"
    " start => '1970-01-01 00:00:00') TIMESTAMP BY ts",
    "CREATE TABLE names (k BIGINT, name STRING)",
    "INSERT INTO names VALUES (0, 'zero'), (1, 'one')",
    "CREATE QUERY joined AS SELECT a.k, a.v, b.v AS w, a.s FROM a [RANGE 6 SECONDS], b [RANGE 4 SECONDS]"
    " WHERE a.k = b.k INTO json('SINKS/joined')",
    "CREATE QUERY grouped AS SELECT protocol, COUNT(*) AS n, SUM(bytes) AS total FROM link [RANGE 5 SECONDS]"
    " GROUP BY protocol",
    "CREATE QUERY newest AS SELECT k, v, s FROM a [ROWS 3]",
    "CREATE QUERY every AS SELECT k, COUNT(*) AS n FROM a [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY k"
    " INTO json('SINKS/every')",
    "CREATE QUERY of_brought AS SELECT k, COUNT(*) AS n FROM brought [RANGE 4 SECONDS] GROUP BY k"
    " INTO json('SINKS/of_brought')",
)
SAID = {  # just before a batch
    2: ["INSERT INTO names VALUES (2, 'two')"],
    3: [
        "CREATE QUERY unmatched AS SELECT k FROM a [RANGE 6 SECONDS] EXCEPT ALL SELECT k FROM b [RANGE 6 SECONDS]",
        "CREATE QUERY named AS SELECT a.v, names.name FROM a [RANGE 5 SECONDS], names WHERE a.k = names.k"
        " INTO json('SINKS/named')",
    ],
    5: ["DROP QUERY newest", "DELETE FROM names WHERE k = 1"],
    7: [
        "CREATE QUERY regrouped AS SELECT n, COUNT(*) AS m FROM"
        " (SELECT k, COUNT(*) AS n FROM b [RANGE 5 SECONDS] GROUP BY k) AS q GROUP BY n",
    ],
    9: ["INSERT INTO names VALUES (1, 'uno')", "CREATE QUERY newest AS SELECT k, s FROM b [ROWS 4]"],
    BATCHES - 1: ["END a", "END b"],
}
SINKS = ("joined", "every", "named", "of_brought")


def rows_of(batch: int) -> Rows:
    dice = random.Random(batch)

    def row() -> dict[str, Any]:
        time = max(0, 20 * batch + dice.randrange(-20, 20)) * 100_000
        return {"t": time, "k": dice.randrange(3), "v": dice.randrange(9), "s": f"s{batch // 3}"}

    return Rows({name: [row() for _ in range(dice.randrange(1, 8))] for name in "ab"})


def brought_rows(number: int) -> pa.Table:
    """What is in a file: ten seconds, after those of the file before."""
    dice = random.Random(number)
    tenths = sorted(100 * number + dice.randrange(100) for _ in range(BROUGHT_ROWS))
    times = pa.array([tenth * 100_000 for tenth in tenths], pa.timestamp("us", "UTC"))
    return pa.table({"t": times, "k": [dice.randrange(3) for _ in tenths]})


def put_brought(place: Path, number: int, content: bytes) -> None:
    """At once; Spark reads files in the order of their times."""
    hidden, path = (place / "brought" / f"{dot}{number}.parquet" for dot in (".", ""))
    hidden.parent.mkdir(parents=True, exist_ok=True)
    hidden.write_bytes(content)
    os.utime(hidden, (1_700_000_000 + number,) * 2)
    hidden.rename(path)


def parquet_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


class Scripted(SparkEngine):
    """Says what is to be said just before each batch, and hands over its rows."""

    declared: Sequence[str] = DECLARED
    said: Mapping[int, Sequence[str]] = SAID
    endless: Mapping[str, int] = {"brought": BROUGHT * BROUGHT_ROWS}  # rows of streams that have no end of their own

    def __init__(
        self, place: Path, spark: SparkSession | None, master: str | None, checkpoint: Path | None = None
    ) -> None:
        super().__init__(spark, master, checkpoint=str(checkpoint or place / "checkpoint"), shards=2)
        self._place = place
        self._unscripted = self._driver.batches.micro_batch
        self._driver.batches.micro_batch = self._scripted  # type: ignore[method-assign]
        (place / "brought").mkdir(parents=True, exist_ok=True)
        reader = self.spark.readStream.schema("t timestamp, k bigint").option("maxFilesPerTrigger", 1)
        self.stream("brought", reader.parquet(str(place / "brought")), timestamp="t")  # the first statement

    def _scripted(self, job: Job, delivered: Mapping[str, int] | None = None) -> None:
        batches = self._driver.batches
        number = 0 if batches.last is None else batches.last.number + 1
        if batches.begun is None and number < BATCHES:
            self._push_up_to(number)
            due = sum(len(texts) for batch, texts in self.said.items() if batch <= number)
            self.say_up_to(len(self.declared) + due)
        self._unscripted(job, delivered)

    def _push_up_to(self, batch: int) -> None:
        """One push of each stream for a batch: those that a run before has made are not made again."""
        for stream, rows in rows_of(batch).rows.items():
            pushed = self._driver.readers.pushed(stream)
            assert pushed is not None and batch <= pushed.count <= batch + 1
            if pushed.count == batch:
                pushed.push(rows_table(rows))

    def say_up_to(self, count: int) -> None:
        for text in self._everything[self._driver.statements.last - 1 : count]:
            text = text.replace("SINKS", str(self._place))
            if text.startswith("END "):
                self._driver.end(text.split()[1])
            else:
                list(self._driver.sql(text, self._made))  # without waking Spark: that would be another batch

    @property
    def _everything(self) -> list[str]:
        return [*self.declared, *(text for texts in self.said.values() for text in texts)]

    @property
    def has_read_all(self) -> bool:
        """Whether everything has been said, and all rows of the endless streams have come."""
        read = {name: one["rows"] for name, one in self.status()["streams"].items()}
        is_said = self._driver.statements.last > len(self._everything)
        return is_said and all(read.get(name, 0) == rows for name, rows in self.endless.items())

    def end_if_read(self) -> None:
        if self.has_read_all:
            for name in self.endless:
                self.end(name)


def carried_out(place: Path, spark: SparkSession | None = None, master: str | None = None) -> Came:
    engines.ROWS_A_BATCH = ROWS_A_BATCH
    if not (place / "brought").exists():
        for number in range(BROUGHT):
            put_brought(place, number, parquet_bytes(brought_rows(number)))
    while True:
        engine = Scripted(place, spark, master)
        try:
            engine.say_up_to(len(DECLARED))
            engine.run(engine.end_if_read)
            return came(engine, {name: place / name for name in SINKS})
        except WindrowError as error:
            if not any(words in str(error) for words in TOO_BUSY):
                raise
        finally:
            engine.close()


def read_came(place: Path) -> Came:
    read: Came = pickle.loads((place / "came").read_bytes())
    return read


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    outcome = carried_out(folder, master=sys.argv[2] if len(sys.argv) > 2 else "local[2]")
    (folder / "came").write_bytes(pickle.dumps(outcome))
    os._exit(0)  # the JVM goes with its input; taking leave of it costs seconds
