"""A worker that hosts two shards while a window slides on: `python memory_run.py ROWS` tells what that takes.

The window holds ROWS rows when it is full, and slides on by as many again, in forty batches. Prints the rows and bytes
of state, and the most memory that the process took.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.shard_runs import ShardsInProcess
from windrow.sources.generators import generator

COLUMNS = "ts TIMESTAMP, src STRING, dst STRING, protocol STRING, bytes BIGINT, duration INTERVAL"
JOINED = (
    "CREATE QUERY joined AS SELECT wide.src, wide.bytes, few.dst FROM wide [RANGE 10 SECONDS], few [RANGE 1 SECOND]"
    " WHERE wide.bytes = few.bytes AND wide.dst = few.dst"
)


def slid(rows: int) -> dict[str, int]:
    engine = ShardsInProcess(2)
    for name in ("wide", "few"):
        engine.sql(f"CREATE STREAM {name} ({COLUMNS}) TIMESTAMP BY ts")
    engine.sql(JOINED)
    wide = generator("traffic", {"rate": rows // 10, "seed": 1})
    few = generator("traffic", {"rate": 20, "seed": 2})
    most_rows = most_bytes = 0
    for batch in range(40):
        engine.push("wide", wide.read(rows * batch // 20, rows * (batch + 1) // 20))
        engine.push("few", few.read(batch * 10, (batch + 1) * 10))
        engine.step()
        status = engine.status()
        most_rows, most_bytes = max(most_rows, status["state_rows"]), max(most_bytes, status["state_bytes"])
    engine.close()
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"rows": most_rows, "state": most_bytes, "process": taken}


if __name__ == "__main__":
    print(json.dumps(slid(int(sys.argv[1]))))
