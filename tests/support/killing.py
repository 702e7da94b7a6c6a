"""Killing a driver on Spark at chosen moments, seen from outside: by what it has written into its checkpoint."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from support import killed_run
from support.interrupted import Came
from windrow.runtime.shards.storage.codec import decoded

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Moment:
    """Just after the first new file under a folder of the checkpoint, and a while later."""

    under: str
    seconds: float = 0.0


MOMENTS = (
    Moment("windrow/batches"),  # decided, nothing has run
    Moment("windrow/manifests"),  # in the middle of the job: a shard is through, others may not be
    Moment("spark/brought/offsets"),  # Spark has decided what it brings, nobody has taken it
    Moment("windrow/statements"),  # in the middle of a change of statements
    Moment("windrow/plans"),  # the new plan is there, the batch that uses it is not
    Moment("windrow/commits"),  # committed, what was pushed for it is still there
    Moment("windrow/pushed/a"),  # one of two pushes for a batch has been made
    Moment("spark/brought/commits"),  # taken, and Spark knows
)


def moments(count: int, seed: int) -> Iterator[Moment]:
    """Each of the moments in turn, with delays that move them into whatever comes after."""
    dice = random.Random(seed)
    for number in range(count):
        moment = MOMENTS[number % len(MOMENTS)]
        yield Moment(moment.under, dice.choice((0.0, 0.0, 0.05, 0.3)))


@dataclass
class Death:
    moment: Moment
    batch: int  # the last one committed
    amid: str  # what was going on: `batch`, `statements` or `between`


def killed_run_until_done(place: Path, deaths: Sequence[Moment], master: str = "local[2]") -> tuple[Came, list[Death]]:
    """Start, kill, start again; at the end it is let alone."""
    happened: list[Death] = []
    for moment in deaths:
        process = started(place, master)
        if not _died(process, place / "checkpoint", moment):
            break
        happened.append(Death(moment, *_going_on(place / "checkpoint" / "windrow")))
    if not (place / "came").exists():
        process = started(place, master)
        assert process.wait() == 0, (place / "log").read_text()[-3000:]
    return killed_run.read_came(place), happened


def started(place: Path, master: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(HERE / "killed_run.py"), str(place), master]
    place.mkdir(parents=True, exist_ok=True)
    log = (place / "log").open("ab")
    return subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log)


def _died(process: subprocess.Popen[bytes], checkpoint: Path, moment: Moment) -> bool:
    """Kill the driver, its JVM and its workers at the moment; False when the run was through before."""
    before = _names(checkpoint / moment.under)
    while process.poll() is None:
        if _names(checkpoint / moment.under) - before:
            time.sleep(moment.seconds)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.002)
    assert process.returncode == 0, (checkpoint.parent / "log").read_text()[-3000:]
    return False


def _names(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if not name.startswith(".")} if folder.is_dir() else set()  # noqa: PTH208


def _going_on(checkpoint: Path) -> tuple[int, str]:
    commits = _names(checkpoint / "commits")
    newest = max(commits, default="")
    last = int(newest[:9] or -1)
    if any(int(name[:9]) > last for name in _names(checkpoint / "batches")):
        return last, "batch"
    taken = 0 if last < 0 else decoded((checkpoint / "commits" / newest).read_bytes()[4:]).statements
    said = max((int(name[:9]) for name in _names(checkpoint / "statements")), default=0)
    return last, "statements" if said > taken else "between"
