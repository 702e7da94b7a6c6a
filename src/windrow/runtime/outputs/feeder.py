"""A feeder: gives a receiver what waits for it, in a thread of its own: a slow or hanging one delays only itself.

The thread lives while there is something to give. Whoever starts it waits: a moment while micro-batches go on, so that
receivers who are quick are called one after the other and keep up; at the end of a step or a run for as long as the
receiver takes one piece after the other, and at most `PATIENCE` seconds for one piece. When too much waits for it the
micro-batches wait in the same way, so that one who is only slow gets all of it.

A receiver may call the engine. Who does so in such a thread waits for nobody, who may be waiting for it; and what
others have raised is not for it, but for whoever runs the engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

from windrow.clock import monotonic
from windrow.runtime.health import Failing
from windrow.runtime.outputs.feed import LOG, Feed, HandOver

PATIENCE = 10.0  # seconds that are waited for one piece to be taken
MOMENT = 0.1  # seconds that micro-batches wait for a receiver that was up to date
_BETWEEN_LOOKS = 0.1

Pieces = Callable[[], Iterator[HandOver]]  # what waits, in order; to ask for the next says that the last was taken


class _Feeding(threading.Thread):
    """In which receivers are called."""


def is_feeding() -> bool:
    """Whether a receiver is calling."""
    return isinstance(threading.current_thread(), _Feeding)


class Feeder:
    def __init__(self, feed: Feed, pieces: Pieces) -> None:
        self.feed, self._pieces = feed, pieces
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._looks_again = self._is_closed = self._is_told = False
        self._began = self._moved = 0.0  # when it had something to take, when it took something last
        self._began_at = self._moved_at = 0  # the same by the clock
        self._raised: BaseException | None = None
        self.times_raised = 0  # what is to stop the engine, also when it has been told

    @property
    def is_busy(self) -> bool:
        return self._thread is not None

    def start(self, now: bool) -> None:
        """Have the receiver take what waits, unless it is to be tried later; `now` tries all the same."""
        with self._changed:
            if self._thread is not None:
                self._looks_again = True
            elif not self._is_closed and not self.feed.is_aside and (now or self.feed.is_due):
                self._began = self._moved = monotonic()
                self._began_at = self._moved_at = self.feed.clock.now()
                self._is_told = False
                name = "windrow {} of {}".format(*self.feed.receiver.names)
                self._thread = _Feeding(target=self._go_on, name=name, daemon=True)
                self._thread.start()

    def wait_a_moment(self) -> None:
        """For one that was up to date; one that has been busy for longer is not waited for."""
        with self._changed:
            while self._is_waited_for() and (left := self._began + MOMENT - monotonic()) > 0:
                self._changed.wait(left)

    def wait(self, is_over: Callable[[], bool] = lambda: False) -> None:
        """Until it has all that waits, or fails; not longer than `PATIENCE` for one piece, nor when it `is_over`."""
        with self._changed:
            while self._is_waited_for() and not is_over():
                left = self._moved + PATIENCE - monotonic()
                if left <= 0:
                    self._tell()
                    return
                self._changed.wait(min(left, _BETWEEN_LOOKS))

    def is_to_close(self, is_full: Callable[[], bool]) -> bool:
        """Whether too much waits for one who takes nothing: it fails or hangs; one who is slow is waited for."""
        self.wait(is_over=lambda: not is_full())
        with self._changed:
            is_taking = self._thread is not None and monotonic() - self._moved < PATIENCE
        if is_taking or not is_full():
            return False
        LOG.warning("%s of %s: more waits than sink_backlog, nothing more is kept", *self.feed.receiver.names)
        return True

    def _is_waited_for(self) -> bool:
        return self._thread is not None and not is_feeding()

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            LOG.warning("%s of %s has not returned: nobody waits for it", *self.feed.receiver.names)

    def raised(self) -> BaseException | None:
        """What is to stop the engine, once."""
        raised, self._raised = self._raised, None
        return raised

    def close(self) -> None:
        """It gets nothing more than what it is busy with."""
        self._is_closed = True

    def health(self, behind: str) -> Failing | None:
        """What is wrong with it, if something is; `behind` says what it has not had."""
        with self._changed:
            is_busy, now = self._thread is not None, monotonic()
        what, name = self.feed.receiver.names
        if is_busy and now - self._moved > PATIENCE:
            return Failing(what, name, self._moved_at, "it has not returned since then", None, behind)
        if is_busy and now - self._began > PATIENCE and not self.feed.tries:
            return Failing(what, name, self._began_at, "it is slow, and behind since then", None, behind)
        return self.feed.health(behind)

    def _go_on(self) -> None:
        while True:
            try:
                self._give_all()
            except Exception as error:  # what waits could not be read
                self.feed.refuse(error)
            except BaseException as error:  # of a function that wants to end the program
                self._raise_later(error)
            if self.feed.error is not None and self.feed.receiver.stops:
                self._raise_later(self.feed.error)
            with self._changed:
                if not self._looks_again or self.feed.tries or self._is_closed or self._raised is not None:
                    self._thread, self._looks_again = None, False
                    self._changed.notify_all()
                    return
                self._looks_again = False

    def _raise_later(self, error: BaseException) -> None:
        self.times_raised += 1
        self._raised = error

    def _give_all(self) -> None:
        for piece in self._pieces():
            if self._is_closed or not self.feed.give(piece):
                return
            with self._changed:
                self._moved, self._moved_at = monotonic(), self.feed.clock.now()
                self._changed.notify_all()


def raise_first(feeders: Iterable[Feeder]) -> None:
    """What is to stop the engine, if something is; what others have raised is for the next call."""
    if is_feeding():
        return
    for feeder in feeders:
        if (error := feeder.raised()) is not None:
            raise error
