"""Micro-batches that the host brings (of DataFrames, rate, sockets): each waits until a batch of ours has taken it.

Whoever delivers is held until that batch is committed, or hears that its rows were not taken; then it brings the same
micro-batch again, under the same number.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, NamedTuple


class Delivery(NamedTuple):
    number: int
    rows: Any  # as the host has them


class Deliveries:
    """By names of streams in lower case."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[str, Delivery] = {}
        self._refused: dict[str, BaseException] = {}
        self._woken = False

    def deliver(self, stream: str, number: int, rows: Any) -> None:
        """Returns when the rows have been taken, and raises what they were refused with."""
        with self._changed:
            mine = self._waiting[stream] = Delivery(number, rows)
            self._woken = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting.get(stream) is not mine)
            error = self._refused.pop(stream, None)
        if error is not None:
            raise error

    def waiting(self) -> dict[str, Delivery]:
        with self._changed:
            return dict(self._waiting)

    def took(self, streams: Iterable[str]) -> None:
        with self._changed:
            for stream in streams:
                self._waiting.pop(stream, None)
            self._changed.notify_all()

    def refuse(self, streams: Iterable[str], error: BaseException) -> None:
        with self._changed:
            for stream in streams:
                if self._waiting.pop(stream, None) is not None:
                    self._refused[stream] = error
            self._changed.notify_all()

    def wake(self) -> None:
        """Something else has come that is worth a look."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Until something more is delivered, somebody wakes us, or the time is over.

        What has been delivered before may be there still, because it is not to be taken yet.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._woken, seconds)
            self._woken = False
