"""Disturbing a run on Spark at random, again and again, and letting it come to its end: all output is to be the same.

Killed are the driver with Java and all workers, Java alone, a worker, a shard server, or an executor; the disk is full
for all of them; the folder of a sink is away for a while. Between two runs the checkpoint is moved, or a copy takes its
place. Meanwhile files come: at once, slowly, or as something that cannot be read and is mended later.
"""

from __future__ import annotations

import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from support.chaos_run import FILES, GAVE_UP, WAS_TOO_BUSY, file_rows
from support.interrupted import Came
from support.killed_run import BROUGHT, brought_rows, parquet_bytes, put_brought
from support.waiting import until
from windrow.runtime.shards.storage.checkpoint import Checkpoint

HERE = Path(__file__).parent
WORKERS = (b"-m\0pyspark.daemon", b"-m\0windrow.runtime.spark.workers_daemon")
SERVERS = (b"-m\0windrow.runtime.shards.serving.server",)
MARK = "CHAOS_RUN"  # in the environment of all processes of a run, wherever they belong
Spoil = Callable[[bytes], bytes]
SPOILED: dict[str, Spoil] = {"half": lambda content: content[: len(content) // 2], "no Parquet": lambda content: b"?"}


class Run(subprocess.Popen[bytes]):
    """A driver, and all that it starts."""

    def __init__(self, command: list[str], log: Path, mark: str) -> None:
        self.mark = mark
        environment = {**os.environ, MARK: mark}
        with log.open("ab") as file:
            super().__init__(command, env=environment, start_new_session=True, stdout=file, stderr=file)


class Chaos:
    """`happened` tells what was done to the runs; every kind of disturbance comes once before one comes again."""

    def __init__(self, place: Path, seed: int, master: str = "local[2]") -> None:
        self.happened: list[str] = []
        self._place, self._dice, self._master = place, random.Random(seed), master
        self._checkpoint, self._moves = place / "checkpoint", 0
        self._ways: dict[str, Callable[[Run], None]] = {
            "driver": _kill_all,
            "Java": self._lose_java,
            "worker": partial(self._lose_one, WORKERS),
            "server": partial(self._lose_one, SERVERS),
            "disk": self._lose_disk,
            "sink": self._lose_sink,
        }
        if "cluster" in master:
            self._ways["executor"] = partial(self._lose_one, (b"CoarseGrainedExecutorBackend",))
        self._kinds = self._dealt()
        (place / "files").mkdir(parents=True)

    def disturbed(self, times: int) -> Came:
        writers = [
            threading.Thread(target=self._come, args=(count, put, random.Random(self._dice.random())))
            for count, put in ((FILES, self._put_file), (BROUGHT, self._put_brought))
        ]
        for writer in writers:
            writer.start()
        for _ in range(times):
            self._disturb()
        for writer in writers:
            writer.join()
        return self._finished()

    def undisturbed(self) -> Came:
        for count, put in ((FILES, self._put_file), (BROUGHT, self._put_brought)):
            for number in range(count):
                put(number, bytes)
        return self._finished()

    def _finished(self) -> Came:
        while (run := self._started("last")).wait() == WAS_TOO_BUSY:
            pass
        assert run.returncode == 0, self._log()
        until(lambda: not list(_processes(str(self._place))), "the end of all processes")
        came: Came = pickle.loads((self._place / "came").read_bytes())
        return came

    def _dealt(self) -> Iterator[str]:
        while True:
            yield from self._dice.sample(list(self._ways), len(self._ways))

    def _disturb(self) -> None:
        run, kind, under = self._started(), next(self._kinds), self._dice.choice(("batches", "manifests", "commits"))
        if self._wait_for_news(run, under):
            time.sleep(self._dice.choice((0.0, 0.1, 1.0)))
            self.happened.append(f"{kind}, after something new in {under}")
            self._ways[kind](run)
        if run.poll() is not None:
            self.happened.append(f"the run ended with {run.returncode}")
            assert run.returncode in (0, WAS_TOO_BUSY, GAVE_UP, -signal.SIGKILL), self._log()
        _kill_all(run)
        self._dice.choice((self._stay, self._move, self._copy))()

    def _lose_java(self, run: Run) -> None:
        if self._killed(run, (b"SparkSubmit",)):
            until(lambda: run.poll() is not None, "the end of a run without Java")

    def _lose_one(self, words: Sequence[bytes], run: Run) -> None:
        if self._killed(run, words):
            self._wait_for_news(run, "commits")  # it goes on, or ends with an error: both will do

    def _killed(self, run: Run, words: Sequence[bytes]) -> bool:
        """One of the processes of a run that have one of some words in their command; whether there was one."""
        found = [process for process in _processes(run.mark) if any(word in _command(process) for word in words)]
        if not found:
            self.happened.append("there was none")
            return False
        with suppress(ProcessLookupError):
            os.kill(self._dice.choice(sorted(found)), signal.SIGKILL)
        return True

    def _lose_disk(self, run: Run) -> None:
        """Nothing can be written any more, or only by Java: the run ends with an error, unless it was through."""
        spared = self._dice.choice((b"java", b"nobody"))
        for process in _processes(run.mark):
            if spared not in _command(process):
                with suppress(ProcessLookupError):
                    resource.prlimit(process, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        until(lambda: run.poll() is not None, "the end of a run without room on the disk")

    def _lose_sink(self, run: Run) -> None:
        folder, away = self._place / "every", self._place / "away"
        if folder.exists():
            folder.rename(away)
            self._wait_for_news(run, "commits")
            assert not folder.exists(), "nobody else makes the folder of a sink again"
            away.rename(folder)
            self._wait_for_news(run, "commits")

    def _stay(self) -> None:
        pass

    def _move(self) -> None:
        if self._checkpoint.exists():
            self.happened.append("the checkpoint is moved")
            self._checkpoint = self._checkpoint.rename(self._next_place())

    def _copy(self) -> None:
        if (self._checkpoint / "windrow" / "format").exists():
            self.happened.append("a copy takes its place")
            target = self._next_place()
            Checkpoint(str(self._checkpoint)).copy(str(target))
            self._checkpoint = target

    def _next_place(self) -> Path:
        self._moves += 1
        return self._place / f"place {self._moves}"

    def _started(self, *words: str) -> Run:
        program, places = str(HERE / "chaos_run.py"), (str(self._place), str(self._checkpoint))
        command = [sys.executable, program, *places, self._master, *words]
        return Run(command, self._place / "log", f"{self._place} {time.monotonic_ns()}")

    def _wait_for_news(self, run: Run, under: str) -> bool:
        """Whether something new was written before the run was over."""
        folder = self._checkpoint / "windrow" / under
        before = _names(folder)
        while run.poll() is None:
            if _names(folder) - before:
                return True
            time.sleep(0.01)
        return False

    def _come(self, count: int, put: Callable[[int, Spoil], None], dice: random.Random) -> None:
        """Files, one after the other; some are spoiled for a while."""
        for number in range(count):
            if dice.random() < 0.6:
                put(number, dice.choice(list(SPOILED.values())))
                time.sleep(dice.uniform(0.5, 4.0))
            put(number, bytes)

    def _put_file(self, number: int, spoil: Spoil) -> None:
        hidden = self._place / "files" / f".{number}.parquet"
        hidden.write_bytes(spoil(parquet_bytes(file_rows(number))))
        hidden.rename(self._place / "files" / f"{number}.parquet")

    def _put_brought(self, number: int, spoil: Spoil) -> None:
        put_brought(self._place, number, spoil(parquet_bytes(brought_rows(number))))

    def _log(self) -> str:
        return (self._place / "log").read_text()[-3000:]


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")} if folder.is_dir() else set()


def _kill_all(run: Run) -> None:
    if run.poll() is None:
        os.killpg(run.pid, signal.SIGKILL)
    run.wait()


def _processes(mark: str) -> Iterator[int]:
    """All that there are with a mark, or one that begins like it."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                yield int(folder.name)
        except OSError:
            continue


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""  # it is gone
