"""A machine's shard servers: `python -m windrow.runtime.shards.serving.server FOLDER COUNT OWNER IDLE`.

One process loads everything and forks as many servers as there are sockets; when one of them dies it forks another.
All of them end with the process that owns them, however that ends, and when nobody has asked for IDLE seconds. Nothing
but this file may be loaded before the sockets are there: whoever asks waits at a socket, not for one.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.clock import SystemClock
from windrow.runtime.shards.serving.client import DONE, FAILED, FORGET, NO_PLAN, PARENT, PATIENCE, PING, locked
from windrow.runtime.shards.serving.frames import receive_parts, send_parts

if TYPE_CHECKING:
    from windrow.runtime.shards.serving.handling import Handling

_BETWEEN_LOOKS = 0.2  # seconds
_WAITING = 64  # connections at a socket
_UNWANTED = 5  # seconds


def main(folder: str, count: int, owner: int, idle: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner, who ends us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    servers: dict[int, int] = {}
    try:
        Path(f"{folder}/{PARENT}").write_text(str(os.getpid()))
        sockets = [_listening(f"{folder}/{number}") for number in range(count)]
        from windrow.runtime.shards.serving.handling import Handling  # loads all that there is to share

        while _is_alive(owner) and not _is_idle(folder, servers, idle):
            for number in set(range(count)) - set(servers.values()):
                with suppress(OSError):  # too many processes, too little memory: maybe later
                    servers[_forked(number, sockets, folder, Handling)] = number
            time.sleep(_BETWEEN_LOOKS)
            _reap(servers)
    finally:
        for server in servers:
            with suppress(ProcessLookupError):
                os.kill(server, signal.SIGKILL)
        _remove(Path(folder))


def _remove(folder: Path) -> None:
    """Unless others have been started there meanwhile."""
    with suppress(OSError), locked(folder):
        if (folder / PARENT).read_text() == str(os.getpid()):
            shutil.rmtree(folder, ignore_errors=True)


def _is_idle(folder: str, servers: Mapping[int, int], most: float) -> bool:
    """Whether nobody has asked any of them for longer than that."""
    files = [Path(f"{folder}/{number}.pid") for number in servers.values()]
    if not files or not all(map(Path.exists, files)):
        return False
    return SystemClock().now() / 1e6 - max(file.stat().st_mtime for file in files) > most


def _listening(path: str) -> socket.socket:
    Path(path).unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(_WAITING)
    return listening


def _forked(number: int, sockets: list[socket.socket], folder: str, handling: Callable[[], Handling]) -> int:
    parent = os.getpid()
    if child := os.fork():
        return child
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for other in sockets:
            if other is not sockets[number]:
                other.close()
        seen = Path(f"{folder}/{number}.pid")
        seen.write_text(str(os.getpid()))
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
        _serve(sockets[number], handling(), seen)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _serve(listening: socket.socket, handling: Handling, seen: Path) -> None:
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=_answer, args=(connection, handling, seen), daemon=True).start()


def _answer(connection: socket.socket, handling: Handling, seen: Path) -> None:
    """One question; who asks may be gone before the answer."""
    connection.settimeout(PATIENCE)
    with connection, suppress(OSError):
        what, *question = receive_parts(connection)
        if bytes(what) == PING:
            seen.touch()  # who asks for a sign of life waits for an answer
            send_parts(connection, [DONE])
            return
        if bytes(what) == FORGET:
            handling.forget(bytes(question[0]).decode())
            send_parts(connection, [DONE])
            return
        stage, key, spec, rows = question
        with handling.lock:
            seen.touch()
            if _is_gone(connection):
                return
            plan_key = bytes(key).decode()
            try:
                if not handling.has_plan(plan_key):
                    send_parts(connection, [NO_PLAN, b""])
                    plan, paths = receive_parts(connection)
                    sys.path.extend(path for path in json.loads(bytes(paths)) if path not in sys.path)
                    handling.add_plan(plan_key, bytes(plan))
                with _wanted(connection):
                    answer = handling.answer(bytes(what), int(bytes(stage)), plan_key, spec, rows)
            except OSError as error:
                if _is_gone(connection):
                    raise
                send_parts(connection, [FAILED, _trace(error)])
                return
            except Exception as error:
                send_parts(connection, [FAILED, _trace(error)])
                return
        send_parts(connection, [DONE, answer])


def _trace(error: Exception) -> bytes:
    return "".join(traceback.format_exception(error)).encode()


@contextmanager
def _wanted(connection: socket.socket) -> Iterator[None]:
    """Work that nobody waits for any more holds up all others: when it does not end soon, this process does."""
    done = threading.Event()

    def watch() -> None:
        gone = 0
        while not done.wait(1.0) and gone < _UNWANTED:
            gone = gone + 1 if _is_gone(connection) else 0
        if not done.is_set():
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _is_gone(connection: socket.socket) -> bool:
    """Whether nobody waits for the answer any more: then it is not worked out."""
    try:
        is_readable = bool(select.select([connection], [], [], 0)[0])
        return is_readable and connection.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_BETWEEN_LOOKS)
    os._exit(0)


def _is_alive(process: int) -> bool:
    """Also when nobody has taken note of its end yet."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's, or a machine without /proc
    return state != "Z"


def _reap(servers: dict[int, int]) -> None:
    while servers:
        ended, _ = os.waitpid(-1, os.WNOHANG)
        if not ended:
            return
        servers.pop(ended, None)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
