"""A run on Spark that others kill: `python killed_run.py FOLDER` goes on from the folder's checkpoint until it is done.

Which rows are in which micro-batch is fixed (one push of each stream, so many generated rows), and a statement
is said just before the batch that it belongs to: so all runs have the same effect times, killed or not.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from pyspark.sql import SparkSession

from support.interrupted import Came, Rows, came
from windrow.errors import WindrowError
from windrow.runtime.shards.batch_loop import Job
from windrow.runtime.spark import engine as engines
from windrow.runtime.spark.engine import SparkEngine
from windrow.sources.rows import rows_table

SOURCE, TESTS = (str(Path(__file__).parents[2] / "src"), str(Path(__file__).parents[1]))  # for workers to import from
TOO_BUSY = ("failed to connect back", "CANNOT_OPEN_SOCKET")  # Spark waits ten seconds for a worker: start again
BATCHES = 14
ROWS_A_BATCH = 60
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
SINKS = ("joined", "every", "named")


def rows_of(batch: int) -> Rows:
    dice = random.Random(batch)

    def row() -> dict[str, Any]:
        time = max(0, 20 * batch + dice.randrange(-20, 20)) * 100_000
        return {"t": time, "k": dice.randrange(3), "v": dice.randrange(9), "s": f"s{batch // 3}"}

    return Rows({name: [row() for _ in range(dice.randrange(1, 8))] for name in "ab"})


class Scripted(SparkEngine):
    """Says what is to be said just before each batch, and hands over its rows."""

    def __init__(self, place: Path, spark: SparkSession | None, master: str | None) -> None:
        super().__init__(spark, master, checkpoint=str(place / "checkpoint"), shards=2)
        self._place = place
        self._unscripted = self._driver.batches.micro_batch
        self._driver.batches.micro_batch = self._scripted  # type: ignore[method-assign]

    def _scripted(self, job: Job, delivered: Mapping[str, int] | None = None) -> None:
        batches = self._driver.batches
        number = 0 if batches.last is None else batches.last.number + 1
        if batches.begun is None and number < BATCHES:
            self._push_up_to(number)
            due = sum(len(texts) for batch, texts in SAID.items() if batch <= number)
            self.say_up_to(len(DECLARED) + due)
        self._unscripted(job, delivered)

    def _push_up_to(self, batch: int) -> None:
        """One push of each stream for a batch: those that a run before has made are not made again."""
        for stream, rows in rows_of(batch).rows.items():
            pushed = self._driver.readers.pushed(stream)
            assert pushed is not None and batch <= pushed.count <= batch + 1
            if pushed.count == batch:
                pushed.push(rows_table(rows))

    def say_up_to(self, count: int) -> None:
        everything = [*DECLARED, *(text for texts in SAID.values() for text in texts)]
        for text in everything[self._driver.statements.last : count]:
            text = text.replace("SINKS", str(self._place))
            if text.startswith("END "):
                self._driver.end(text.split()[1])
            else:
                self._driver.sql(text)  # without waking Spark: that would be another batch


def carried_out(place: Path, spark: SparkSession | None = None, master: str | None = None) -> Came:
    engines.ROWS_A_BATCH = ROWS_A_BATCH
    while True:
        engine = Scripted(place, spark, master)
        try:
            engine.say_up_to(len(DECLARED))
            engine.run()
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
