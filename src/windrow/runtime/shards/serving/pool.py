"""The shard servers of this process: all of its engines use the same ones, and the last engine ends them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from contextlib import suppress

from windrow.runtime.shards.serving.client import PARENT, ShardServers, kill_server, short_temporary_folder

_PATIENCE = 5.0  # seconds for servers to end


class ServerPool:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._servers: ShardServers | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def acquire(self, count: int) -> ShardServers:
        """Servers of this process, as many as were asked for first; they come up while others do other things."""
        with self._lock:
            if self._servers is None:
                place = tempfile.mkdtemp(prefix="windrow-", dir=short_temporary_folder())
                servers = ShardServers(place, count, os.getpid())
                try:
                    self._process = servers.start()
                except BaseException:
                    shutil.rmtree(place, ignore_errors=True)
                    raise
                self._servers = servers
            self._users += 1
            return self._servers

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users or self._servers is None or self._process is None:
                return
            servers, process = self._servers, self._process
            self._servers = self._process = None
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
        kill_server(servers.place, PARENT)  # one that did not end, or took the place of the one that was started here
        shutil.rmtree(servers.place, ignore_errors=True)


POOL = ServerPool()
