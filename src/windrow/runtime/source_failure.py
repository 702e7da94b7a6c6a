"""A source that cannot be reached: since when, why, and when it is tried again. The other streams go on meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from windrow.clock import pause_after
from windrow.errors import WindrowError
from windrow.runtime.health import Failing

LOG = logging.getLogger("windrow")
_TRIES = 3  # after which a run that waits for nothing else gives up
_HINT = "it is tried again by itself; on_error => 'stop' in CREATE STREAM ends the run instead"


@dataclass(frozen=True)
class SourceFailure:
    """Times are the clock's, in microseconds."""

    stream: str
    message: str
    since: int
    next_try: int
    tries: int = 1

    def health(self) -> Failing:
        return Failing("source", self.stream, self.since, self.message, self.next_try, _HINT)


class SourceFailures:
    """Those that fail at present, by the names of streams in lower case."""

    def __init__(self) -> None:
        self._failing: dict[str, SourceFailure] = {}

    def failed(self, stream: str, message: str, now: int) -> SourceFailure:
        """It was tried and could not be reached: the pause before the next try doubles, up to a minute."""
        before = self._failing.get(stream.lower())
        tries = 1 if before is None else before.tries + 1
        since = now if before is None else before.since
        if before is None or before.message != message:  # each try would fill the log with the same
            LOG.warning("stream %s cannot be read, and is tried again: %s", stream, message)
        failure = SourceFailure(stream, message, since, now + pause_after(tries), tries)
        self._failing[stream.lower()] = failure
        return failure

    def works(self, stream: str) -> None:
        """It has been reached."""
        if self._failing.pop(stream.lower(), None) is not None:
            LOG.warning("stream %s can be read again", stream)

    def forget(self, stream: str) -> None:
        """It is gone."""
        self._failing.pop(stream.lower(), None)

    def of(self, stream: str) -> SourceFailure | None:
        return self._failing.get(stream.lower())

    def is_due(self, stream: str, now: int) -> bool:
        """Whether a stream may be read: it does not fail, or its pause is over."""
        failure = self._failing.get(stream.lower())
        return failure is None or not failure.since <= now < failure.next_try  # a clock set back ends the pause

    def check_hope(self, streams: Collection[str]) -> None:
        """For a run that waits for nothing but these streams: raise why, when they have been tried often enough."""
        failures = [self._failing[name] for name in streams if name in self._failing]
        if failures and all(failure.tries > _TRIES for failure in failures):
            told = "; ".join(f"{failure.stream}: {failure.message}" for failure in failures)
            hint = "bring it back, then run again: with a checkpoint nothing is lost"
            raise WindrowError(f"sources cannot be reached: {told}", hint)

    def all(self) -> Mapping[str, SourceFailure]:
        return dict(self._failing)

    def health(self) -> list[Failing]:
        return [failure.health() for failure in self.all().values()]
