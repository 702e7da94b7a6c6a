"""A feed: one who gets what a query emits, piece by piece and in order, and may fail without stopping anybody else.

A piece that is refused is given again, with growing pauses, before any later one. A subscriber that has failed
`MOST_TRIES` times in a row is set aside; sinks are tried for as long as they are there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from windrow.clock import Clock, pause_after
from windrow.runtime.health import Failing

HandOver = Callable[[], object]  # gives one piece to a receiver

LOG = logging.getLogger("windrow")
MOST_TRIES = 10  # of a subscriber, in a row


@dataclass(frozen=True)
class Receiver:
    """Who is fed, as messages name it; `stops` if an error of it is to stop the engine."""

    what: str  # sink, subscriber
    name: str
    stops: bool = False
    most_tries: int | None = None

    @property
    def names(self) -> tuple[str, str]:
        return self.what, self.name


class Feed:
    def __init__(self, receiver: Receiver, clock: Clock) -> None:
        self.receiver = receiver
        self.clock = clock
        self._since = self._next_try = 0
        self.tries = 0  # that failed, in a row
        self.error: Exception | None = None

    @property
    def is_aside(self) -> bool:
        """Whether it gets nothing more."""
        return self.receiver.most_tries is not None and self.tries >= self.receiver.most_tries

    @property
    def is_due(self) -> bool:
        """Whether it may be given something: it does not fail, or its pause is over; a clock set back ends it too."""
        waits = self.tries > 0 and self._since <= self.clock.now() < self._next_try
        return not self.is_aside and not waits

    def give(self, hand_over: HandOver) -> bool:
        """Hand over one piece; whether it was taken."""
        try:
            hand_over()
        except Exception as error:
            self.refuse(error)
            return False
        if self.tries:
            LOG.warning("%s of %s works again", *self.receiver.names)
        self.tries, self.error = 0, None
        return True

    def refuse(self, error: Exception) -> None:
        """It was tried, and failed."""
        now = self.clock.now()
        self._since = self._since if self.tries else now
        self.tries += 1
        self._next_try = now + pause_after(self.tries)
        first, self.error = self.error is None or str(self.error) != str(error), error
        if self.is_aside:
            LOG.warning("%s of %s is set aside: %s", *self.receiver.names, described(error))
        elif first:  # each try would fill the log with the same
            LOG.warning("%s of %s fails, and is tried again: %s", *self.receiver.names, described(error))

    def health(self, behind: str) -> Failing | None:
        """What is wrong with it, if something is; `behind` says what it has not had."""
        if self.error is None:
            return None
        what, name = self.receiver.names
        if self.is_aside:
            hint = "subscribe again when it is repaired"
            return Failing(what, name, self._since, described(self.error), None, hint)
        return Failing(what, name, self._since, described(self.error), self._next_try, behind)


def described(error: BaseException) -> str:
    """What was raised, in one line, with what was noted of it."""
    text = " ".join(str(error).split())
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {text}{notes}" if text else f"{type(error).__name__}{notes}"
