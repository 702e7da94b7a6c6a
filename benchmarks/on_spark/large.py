"""Micro-batches over a state of 1, 4 and 13 million rows: how even they are, and what shard servers take."""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
from pathlib import Path

import windrow
from benchmarks.figure import drawn, plotting
from benchmarks.runner import Report, measuring
from benchmarks.spark_runs import in_process_of_its_own, readings, run_on, write_files

RANGE = 600  # seconds
SIZES = (1, 4, 13)  # million rows in the window
FILLING = 5  # micro-batches that fill the window
QUERY = f"SELECT k, AVG(v) AS a, COUNT(*) AS n FROM s [RANGE {RANGE} SECONDS] GROUP BY k"
SERVER = b"windrow.runtime.shards.serving.server"


def run(quick: bool) -> Report:
    million = 100_000 if quick else 1_000_000
    rows, batches = million // 5, 8 if quick else 30
    results: list[dict[str, object]] = []
    for size in SIZES:
        measuring(f"a state of {size * million:,} rows")
        results.append(in_process_of_its_own(measured, size * million, rows, batches, million))
    _draw(results)
    medians = [float(str(one["median"])) for one in results]
    last = results[-1]
    ratios = {
        "worst_over_median": max(float(str(one["worst"])) / float(str(one["median"])) for one in results),
        "time_13_over_1": medians[-1] / medians[0],
        "memory_over_state": float(str(last["memory"])) / float(str(last["state_bytes"])),
        "held_memory_over_state": float(str(last["memory_held"])) / float(str(last["state_bytes"])),
    }
    params = {"range": RANGE, "keys": million, "rows_a_batch": rows, "batches": batches, "quick": quick}
    return Report("large", params, results, ratios)


def measured(size: int, rows: int, batches: int, keys: int) -> dict[str, object]:
    """Fill a window, then slide it on by micro-batches of so many rows."""
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as place:
        filling = readings(FILLING, size // FILLING, RANGE // FILLING, keys, popular=False)
        pace = max(1, RANGE * rows // size)  # seconds of time in a micro-batch, at the same rate
        after = -(-RANGE // pace)
        sliding = readings(batches, rows, pace, keys, seed=2, popular=False, first=after)
        files = write_files(Path(place) / "rows", [*filling, *sliding])
        engine = windrow.connect(checkpoint=f"{place}/checkpoint")
        with _Watching() as memory:
            status = run_on(engine, {"s": files}, QUERY, None)
    seconds = list(status["batch_seconds"])[-batches:]
    return {
        "rows": size,
        "median": statistics.median(seconds),
        "worst": max(seconds),
        "state_bytes": status["most_state_bytes"],
        "written_bytes": status["written_bytes"],
        "memory": max(memory.seen),
        "memory_held": statistics.median(memory.seen[len(memory.seen) // 2 :]),
    }


class _Watching:
    """The memory of all shard servers of this process together, several times a second."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> _Watching:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        servers: list[int] = []
        while not self._stop.wait(0.2):
            servers = servers or _servers()
            if taken := sum(map(_taken, servers)):
                self.seen.append(taken)


def _servers() -> list[int]:
    """The processes of shard servers that belong to this one."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else []
        except OSError:
            continue
        if SERVER in words and str(os.getpid()).encode() in words:
            found.append(int(folder.name))
    return found if len(found) > 1 else []  # the one that forks comes first


def _taken(pid: int) -> int:
    """Bytes of memory; what processes share counts as a part of each."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def _draw(results: list[dict[str, object]]) -> None:
    figure, (left, right) = plotting().subplots(1, 2, figsize=(8, 3.2))
    rows = [float(str(one["rows"])) / 1e6 for one in results]
    for axes, names in ((left, ("median", "worst")), (right, ("state_bytes", "memory"))):
        for name in names:
            axes.plot(rows, [one[name] for one in results], marker="o", label=name)
        axes.set(xlabel="million rows of state", ylim=(0, None))
        axes.legend()
    left.set(ylabel="seconds a micro-batch")
    right.set(ylabel="bytes")
    drawn(figure, "large")
