"""Who holds a checkpoint: a process on a machine, and whether it is still there."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from windrow.errors import CheckpointError


@dataclass(frozen=True)
class Holder:
    token: str  # of one opening
    host: str
    machine: str  # processes with the same have numbers that can be compared
    pid: int
    started: str  # when the process was: a number is used again
    since: int  # microseconds

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @property
    def is_here(self) -> bool:
        """On this machine, where it can be asked for."""
        return self.machine == _machine()

    @property
    def is_alive(self) -> bool:
        """Whether the process is still there; only for one of this machine."""
        return _started(self.pid) == self.started


def holder_from_bytes(content: bytes) -> Holder:
    try:
        return Holder(**json.loads(content))
    except (ValueError, TypeError):
        hint = "if no engine has this checkpoint open, remove its folder windrow/leases"
        raise CheckpointError("the lease of the checkpoint is damaged", hint) from None


def this_process(now: int) -> Holder:
    pid = os.getpid()
    return Holder(secrets.token_hex(16), socket.gethostname(), _machine(), pid, _started(pid), now)


@cache
def _machine() -> str:
    """Since when the machine is up, and within which namespace of process numbers: containers have their own."""
    try:
        booted = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{booted} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str:
    """When a process started, in whatever words the system has; empty when it is not there."""
    try:
        # the second field is a name in brackets and may contain anything; the 22nd is the start in ticks
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    except OSError:
        if Path("/proc/self").exists():
            return ""
    said = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return said.stdout.strip()
