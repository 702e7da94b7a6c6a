"""Micro-batches of ten rows on Spark beside an empty one and Spark's own count: the first, the second, those after."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.runner import Report, measuring

ROWS = 10  # a micro-batch
MANY = 1_000  # periodic queries
SIDES = {  # what a process runs, and how many queries
    "windrow": ("windrow", 1),
    "windrow, 10 queries": ("windrow", 10),
    "windrow, 100 queries": ("windrow", 100),
    f"windrow, {MANY} periodic queries": ("periodic", MANY),
    "empty": ("empty", 1),
    "native": ("native", 1),
}


def run(quick: bool) -> Report:
    batches, processes = (20, 1) if quick else (60, 3)
    seen = {}
    for side, (_, queries) in SIDES.items():
        is_long = queries == MANY
        seen[side] = _measured(side, batches // 3 if is_long else batches, 1 if is_long else processes)
    params = {"rows": ROWS, "batches": batches, "processes": processes, "quick": quick}
    return Report("small", params, [{"side": side, **found} for side, found in seen.items()], _ratios(seen))


def _measured(side: str, batches: int, processes: int) -> dict[str, float]:
    """Medians over processes, each of which starts Spark from nothing."""
    measuring(side)
    command = [
        sys.executable,
        "-m",
        "benchmarks.on_spark.small_process",
        *map(str, SIDES[side]),
        str(batches),
    ]
    runs = [_one(command) for _ in range(processes)]
    return {name: median(run[name] for run in runs) for name in runs[0]}


def _one(command: Sequence[str]) -> dict[str, float]:
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # what goes wrong is shown
    found: dict[str, float] = json.loads(finished.stdout.splitlines()[-1])
    return found


def _ratios(seen: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    ours, native = seen["windrow"], seen["native"]
    return {
        "warm_over_empty": ours["warm"] / seen["empty"]["warm"],
        "native_over_warm": native["warm"] / ours["warm"],
        "second_over_warm": ours["second"] / ours["warm"],
        "first_answer_over_native": ours["first_answer"] / native["first_answer"],
        "cpu_over_native": ours["cpu"] / native["cpu"],
        "memory_over_native": ours["memory"] / native["memory"],
        "warm_100_queries_over_1": seen["windrow, 100 queries"]["warm"] / ours["warm"],
        "warm_1000_periodic_over_1": seen[f"windrow, {MANY} periodic queries"]["warm"] / ours["warm"],
    }
