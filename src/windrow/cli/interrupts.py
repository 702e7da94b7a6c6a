"""Ctrl-C: it is heard at any moment, and acted upon at one at which nothing is half done.

An exception out of nowhere would come back from a compiled loop, or from Java, as something else, and PySpark has a way
of its own with interrupts. So they are kept from the process, and a thread waits for them. Before anything runs there
is nothing to put in order, and the process ends at once. A run is left when it is next polled; whoever presses again
while it is being stopped is not heard, unless stopping takes very long.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from windrow.clock import monotonic

INTERRUPTED = 130  # the exit code of a process that was interrupted, by convention
_PATIENCE = 10.0  # seconds after which another Ctrl-C ends a process that does not stop


class Interrupts:
    def __init__(self) -> None:
        self._is_running = False
        self._asked: float | None = None
        self._thread: threading.Thread | None = None

    def listen(self) -> None:
        """From now on; before there are other threads and processes, which are kept from interrupts as this one is."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._is_running, self._asked = False, None
        if self._thread is None:
            self._thread = threading.Thread(target=self._wait, name="interrupts", daemon=True)
            self._thread.start()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Something runs that has to be stopped properly; from its end on nothing is heard any more."""
        self._is_running = True
        try:
            yield
        finally:
            self._asked = self._asked or monotonic()

    def check(self) -> None:
        """Leave the run if somebody has asked for it; called where that does no harm."""
        if self._asked is not None:
            raise KeyboardInterrupt

    def hear(self) -> None:
        """Somebody has pressed Ctrl-C."""
        if not self._is_running or (self._asked is not None and monotonic() - self._asked > _PATIENCE):
            end_at_once()
        self._asked = self._asked or monotonic()

    def _wait(self) -> None:
        while True:
            signal.sigwait({signal.SIGINT})
            self.hear()


def end_at_once() -> None:
    """Without any tidying: Java ends with us, and a checkpoint is made for worse."""
    if sys.stdout.isatty():
        sys.stdout.write("\x1b[?25h\n")  # the cursor may have been hidden
    sys.stdout.flush()
    os._exit(INTERRUPTED)


INTERRUPTS = Interrupts()  # of the process: it has one keyboard
