"""A run on Spark with everything that can go wrong around it: `python chaos_run.py FOLDER CHECKPOINT MASTER [last]`.

It is the run that others kill (`killed_run`), with a folder beside it into which files are put in all kinds of ways, a
stream that is silent to the end, a query that waits for it, and subscribers that raise or are slow. A run goes on until
all rows are there; the last one then ends its streams, and says what came of it.
"""

from __future__ import annotations

import os
import pickle
import random
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa

from support.interrupted import came
from support.killed_run import BATCHES, DECLARED, ROWS_A_BATCH, SAID, SINKS, TOO_BUSY, Scripted
from windrow.errors import WindrowError
from windrow.runtime.spark import engine as engines

FILES, FILE_ROWS = 8, 20
WAS_TOO_BUSY, GAVE_UP = 3, 4  # exit codes: Spark was too slow; an error that Windrow has words for


def file_rows(number: int) -> pa.Table:
    dice = random.Random(number)
    seconds = sorted(dice.randrange(60) for _ in range(FILE_ROWS))
    times = pa.array([second * 1_000_000 for second in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"t": times, "k": [dice.randrange(5) for _ in seconds], "file": [number] * len(seconds)})


SAID_HERE = {**SAID, BATCHES - 1: [*SAID[BATCHES - 1], "END silent"]}
ENDLESS_HERE = {**Scripted.endless, "f": FILES * FILE_ROWS}


class Chaotic(Scripted):
    declared = (
        *DECLARED,
        "CREATE STREAM f (t TIMESTAMP, k BIGINT, file BIGINT) FROM parquet('SINKS/files') TIMESTAMP BY t SLACK 1 HOUR",
        "CREATE STREAM silent (t TIMESTAMP, k BIGINT) TIMESTAMP BY t",
        "CREATE QUERY of_files AS SELECT k, COUNT(*) AS n, SUM(file) AS files FROM f [RANGE 10 SECONDS] GROUP BY k",
        "CREATE QUERY waiting AS SELECT k FROM b [RANGE 3 SECONDS] EXCEPT SELECT k FROM silent [RANGE 3 SECONDS]",
    )
    said = SAID_HERE
    endless = ENDLESS_HERE

    def leave_if_read(self) -> None:
        if self.has_read_all:
            os._exit(0)


def raising(changes: pa.Table) -> None:
    if random.random() < 0.5:
        raise RuntimeError(f"a subscriber that does not like {changes.num_rows} rows")


def slow(changes: pa.Table) -> None:
    time.sleep(random.choice((0.0, 0.0, 0.2)))


def carried_out(place: Path, checkpoint: Path, master: str, is_last: bool) -> None:
    engines.ROWS_A_BATCH = ROWS_A_BATCH
    engine = Chaotic(place, None, master, checkpoint)
    engine.say_up_to(len(engine.declared))
    for query in engine.queries:
        query.subscribe(raising)
        query.subscribe(slow)
    engine.run(engine.end_if_read if is_last else engine.leave_if_read, follow=True)
    outcome = came(engine, {name: place / name for name in SINKS})
    (place / "came").write_bytes(pickle.dumps(outcome))


if __name__ == "__main__":
    folder, where, spark_master, *words = sys.argv[1:]
    try:
        carried_out(Path(folder), Path(where), spark_master, words == ["last"])
    except BaseException as error:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)  # there is room again, for the trace
        if not isinstance(error, WindrowError):
            raise
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(WAS_TOO_BUSY if any(words in str(error) for words in TOO_BUSY) else GAVE_UP)
    os._exit(0)  # the JVM goes with its input; taking leave of it costs seconds
