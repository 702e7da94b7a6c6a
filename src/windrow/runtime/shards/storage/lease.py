"""The lease of a checkpoint: one engine at a time, and one that has lost it can do no harm.

Whoever opens a checkpoint claims the next *epoch* by creating `leases/epoch`, which only one can. It then gives signs
of life in `beats/epoch` every `BEAT` seconds and says there when it is through. A claim is passed over when its holder
has closed, when its process is gone (on the same machine), or when it has given no sign for `LEASE` seconds (on any
other, seen with the clock of the one who waits, so that clocks need not agree). A lease is not what keeps two engines
apart, it only decides whose turn it is: records carry the epoch of their writer (`records.py`), and those that an
engine writes after it was passed over do not count.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from typing import NamedTuple
from weakref import WeakValueDictionary

from windrow.clock import Clock
from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.holder import Holder, holder_from_bytes, this_process

BEAT = 10  # seconds
LEASE = 60
_LONG_AGO = 10 * LEASE  # clocks of machines do not differ by as much
_SECOND = 1_000_000
LOG = logging.getLogger("windrow")


class Beat(NamedTuple):
    """A sign of life."""

    number: int
    at: int  # by the clock of the holder
    identity: str  # of the claim: a copy of the folder has another one
    released: bool = False


class Lease:
    def __init__(self, folder: Folder, clock: Clock, pause: Callable[[float], None] = time.sleep) -> None:
        self._folder = folder
        self._clock = clock
        self._pause = pause
        self._count = 0
        self._pid = os.getpid()
        self._writing = threading.Lock()
        self.epoch = 0
        self.is_of_a_copy = False  # the one before was the holder of the folder that this is a copy of

    def claim(self) -> None:
        """Take the next epoch, or say who has the present one."""
        me = this_process(self._clock.now())
        while True:
            last = self._newest()
            if self._folder.exists(_claim(last)):
                self._check_free(last)
            try:
                self._folder.create(_claim(last + 1), me.to_bytes())
            except FileExistsError:
                continue  # somebody was quicker
            break
        self.epoch = last + 1
        for under in ("leases", "beats"):
            for name in self._folder.names(under):
                if name.isdecimal() and int(name) < last:
                    self._folder.delete(f"{under}/{name}")
        _LIVE[me.token] = self
        self.beat()
        _start_beating()

    def check(self) -> None:
        """That nobody has taken the checkpoint over."""
        newest = self._newest()
        if newest > self.epoch:
            holder = self._holder(newest)
            raise CheckpointError(
                f"another engine has taken this checkpoint over: {_described(holder)}, at {_shown(holder.since)}",
                "close this engine: it gave no sign of life for too long, and what it had not committed is run there",
            )

    def beat(self) -> None:
        self._give_sign(released=False)

    def release(self) -> None:
        """Let the next one in."""
        if self.epoch and self._pid == os.getpid():
            self._give_sign(released=True)
            self.epoch = 0

    def _give_sign(self, released: bool) -> None:
        with self._writing:
            if not self.epoch or self._newest() > self.epoch:
                return
            self._count += 1
            identity = self._folder.identity(_claim(self.epoch))
            said = Beat(self._count, self._clock.now(), identity, released)
            self._folder.write(_sign(self.epoch), json.dumps(said._asdict()).encode())

    def _newest(self) -> int:
        """The last epoch that anybody has claimed; fences outlive a lost folder of leases."""
        names = (*self._folder.names("leases"), *self._folder.names("fences"))
        return max((int(name) for name in names if name.isdecimal()), default=0)

    def _check_free(self, epoch: int) -> None:
        holder, beat = self._holder(epoch), self._beat(epoch)
        if beat is not None and beat.released:
            return
        if beat is not None and beat.identity != self._folder.identity(_claim(epoch)):
            self.is_of_a_copy = True
            return
        if holder.token in _LIVE:
            hint = "call close() of the engine that has it"
            raise CheckpointError(f"the checkpoint is in use in this process, since {_shown(holder.since)}", hint)
        if holder.is_here:
            is_held = holder.is_alive and holder.pid != os.getpid()  # an engine of this process that was forgotten
        else:
            is_held = self._gives_signs(epoch, holder, beat)
        if is_held:
            raise CheckpointError(
                f"the checkpoint is in use: {_described(holder)} has it since {_shown(holder.since)}",
                "close the engine there, or end that process; a copy can be opened beside it (windrow checkpoint copy)",
            )

    def _gives_signs(self, epoch: int, holder: Holder, before: Beat | None) -> bool:
        """Whether a holder on another machine does so within the time of a lease."""
        if self._clock.now() - (holder.since if before is None else before.at) > _LONG_AGO * _SECOND:
            return False
        LOG.warning("%s had the checkpoint; waiting whether it still does", _described(holder))
        for _ in range(LEASE):  # no clock is asked: it may be set meanwhile
            self._pause(1)
            now = self._beat(epoch)
            if now is not None and now.released:
                return False
            if now != before:
                return True
        return False

    def _holder(self, epoch: int) -> Holder:
        return holder_from_bytes(self._folder.read(_claim(epoch)))

    def _beat(self, epoch: int) -> Beat | None:
        try:
            return Beat(**json.loads(self._folder.read(_sign(epoch))))
        except (OSError, ValueError, TypeError):
            return None


def _claim(epoch: int) -> str:
    return f"leases/{epoch:09}"


def _sign(epoch: int) -> str:
    return f"beats/{epoch:09}"


def _described(holder: Holder) -> str:
    return f"process {holder.pid} on {holder.host}"


def _shown(time_of_day: int) -> str:
    return f"{datetime.fromtimestamp(time_of_day // _SECOND, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


_LIVE: WeakValueDictionary[str, Lease] = WeakValueDictionary()  # of this process, by the tokens of their holders


def forget_leases() -> None:
    """As if the engines of this process were gone."""
    _LIVE.clear()


def _start_beating() -> None:
    """One thread gives the signs of all engines of a process."""
    if not any(thread.name == _THREAD for thread in threading.enumerate()):
        threading.Thread(target=_beat_on, name=_THREAD, daemon=True).start()


_THREAD = "windrow-lease"


def _beat_on() -> None:
    while True:
        time.sleep(BEAT)
        for lease in list(_LIVE.values()):
            with suppress(OSError, CheckpointError):  # a disk that is full now may not be at the next one
                lease.beat()
