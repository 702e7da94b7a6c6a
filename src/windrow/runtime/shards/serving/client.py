"""Asking shard servers, and starting them where there are none.

Whoever asks waits for as long as the server shows that it lives. One that is gone, or hangs, is replaced, and asked
again: what it answers is a function of the question and the checkpoint, so asking twice does no harm.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from windrow.clock import monotonic
from windrow.runtime.shards.serving.channel import Channel, SentBatch
from windrow.runtime.shards.serving.frames import Part, receive_parts, send_parts

PARENT = "parent.pid"  # has the number of the process that servers are forked from
PING, FORGET, ROUTE, STEP = b"ping", b"forget", b"route", b"step"
DONE, FAILED, NO_PLAN = b"done", b"failed", b"no plan"

PATIENCE = 60.0  # seconds for a sign of life
_BETWEEN_SIGNS = 5.0
_BETWEEN_LOOKS = 0.02
_TRIES = 5
_LONGEST = 60  # letters of the folder for temporary files
_IDLE = 120.0  # seconds without a question after which servers on a machine of a cluster end
_PAUSE = 0.1  # seconds before the second try, twice as many before each other


class ShardServerError(Exception):
    """What went wrong in a server: its trace."""


class Request(NamedTuple):
    what: bytes
    stage: int
    rows: Part  # an Arrow stream


@dataclass(frozen=True)
class ShardServers:
    """The servers of a machine that have their sockets in a folder; the same words find them from every task.

    `owner` is the process that they end with. 0 stands for the one that has started whoever asks first: then the folder
    is the same on all machines, below what they have for temporary files.
    """

    folder: str
    count: int
    owner: int = 0

    @property
    def place(self) -> str:
        return self.folder if self.owner else f"{short_temporary_folder()}/{self.folder}"

    def ask(self, channel: Channel, batch: SentBatch, requests: Sequence[tuple[int, Request]]) -> list[memoryview]:
        """Answers to requests, each with the number of a shard or task, in their order; servers work side by side."""
        by_server: dict[int, list[int]] = {}
        for place, (number, _) in enumerate(requests):
            by_server.setdefault(number % self.count, []).append(place)

        def answers(server: int) -> Mapping[int, memoryview]:
            return {place: self._answer(server, channel, batch, requests[place][1]) for place in by_server[server]}

        if len(by_server) == 1:
            found = answers(*by_server)
        else:
            with ThreadPoolExecutor(len(by_server)) as threads:
                found = {place: answer for part in threads.map(answers, by_server) for place, answer in part.items()}
        return [found[place] for place in range(len(requests))]

    def forget(self, checkpoint: str) -> None:
        """Nobody will go on with what the servers have in memory of a checkpoint."""
        for server in range(self.count):
            with suppress(OSError), self._connected(server) as connection:
                send_parts(connection, [FORGET, checkpoint.encode()])
                receive_parts(connection)

    def start(self) -> subprocess.Popen[bytes] | None:
        """Have servers come up, if there are none; they take requests at once, and answer when they are ready."""
        folder, until = Path(self.place), monotonic() + PATIENCE
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise ShardServerError(f"{self.place} is not a folder that only this user can write to")
        with locked(folder):
            if self._is_listening(0):
                return None
            started = self._started()
            while not self._is_listening(self.count - 1):
                if started.poll() is not None or monotonic() > until:
                    started.kill()
                    raise ShardServerError(f"the servers of shards did not start: {self._log()}")
                time.sleep(_BETWEEN_LOOKS)
            return started

    def _started(self) -> subprocess.Popen[bytes]:
        owner = self.owner or os.getppid()
        words = ["-P", "-m", "windrow.runtime.shards.serving.server", self.place, str(self.count), str(owner)]
        words.append("inf" if self.owner else str(_IDLE))
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
            "MALLOC_ARENA_MAX": "1",  # one thread works at a time: what one has freed the next one takes
            "ARROW_DEFAULT_MEMORY_POOL": "system",  # and Arrow too, instead of keeping memory of its own
        }
        with Path(f"{self.place}/log").open("ab") as log:
            started = subprocess.Popen(
                [sys.executable, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        threading.Thread(target=started.wait, daemon=True).start()  # or else it stays as a zombie
        return started

    def _answer(self, server: int, channel: Channel, batch: SentBatch, request: Request) -> memoryview:
        for attempt in range(_TRIES):
            try:
                with self._connected(server) as connection:
                    return self._asked(connection, server, channel, batch, request)
            except OSError as error:
                lost = error
                time.sleep(_PAUSE * 2**attempt)  # what ends may still be listening
                self.start()
        raise ShardServerError(f"the server of a shard was lost {_TRIES} times: {lost}; {self._log()}")

    def _asked(
        self, connection: socket.socket, server: int, channel: Channel, batch: SentBatch, request: Request
    ) -> memoryview:
        what, stage, rows = request
        send_parts(connection, [what, str(stage).encode(), batch.plan_key.encode(), batch.spec, rows])
        outcome, content = self._received(connection, server)
        if bytes(outcome) == NO_PLAN:
            send_parts(connection, [_plan(channel, batch), json.dumps(sys.path).encode()])
            outcome, content = self._received(connection, server)
        if bytes(outcome) == FAILED:
            raise ShardServerError(bytes(content).decode())
        return content

    def _received(self, connection: socket.socket, server: int) -> list[memoryview]:
        """Wait for as long as there are signs of life."""
        while not select.select([connection], [], [], _BETWEEN_SIGNS)[0]:
            self._check_alive(server)
        return receive_parts(connection)

    def _check_alive(self, server: int) -> None:
        try:
            with self._connected(server) as connection:
                send_parts(connection, [PING])
                receive_parts(connection)
        except TimeoutError:
            kill_server(self.place, f"{server}.pid")
            raise

    @contextmanager
    def _connected(self, server: int) -> Iterator[socket.socket]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(f"{self.place}/{server}")
            yield connection

    def _is_listening(self, server: int) -> bool:
        try:
            with self._connected(server):
                return True
        except OSError:
            return False

    def _log(self) -> str:
        with suppress(OSError):
            return Path(f"{self.place}/log").read_text(errors="replace")[-2000:].strip()
        return "there is no log"


def short_temporary_folder() -> str:
    """Where sockets can be: their addresses have room for little more than a hundred letters."""
    usual = tempfile.gettempdir()
    return usual if len(usual) <= _LONGEST else "/tmp"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else starts servers in a folder, or takes it away."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def kill_server(place: str, file: str) -> None:
    """The process whose number a file of the folder has, if it is still one of those that were started there."""
    with suppress(OSError, ValueError):
        process = int(Path(f"{place}/{file}").read_text())
        command = Path(f"/proc/{process}/cmdline")
        if not command.exists() or place.encode() in command.read_bytes():
            os.kill(process, signal.SIGKILL)


def _plan(channel: Channel, batch: SentBatch) -> bytes:
    try:
        return channel.plan(batch.plan_key)
    except OSError as error:  # nothing is wrong with the server
        raise ShardServerError(f"the plan of the micro-batch is gone: {error}") from error
