"""A streaming query in the background, with a thread beside it that polls it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pyspark.sql.streaming.query import StreamingQuery

_POLL_INTERVAL = 0.1  # seconds


class Background:
    """`poll` is called every now and then, until it says that the run is over or something goes wrong."""

    def __init__(
        self, streaming: StreamingQuery, poll: Callable[[StreamingQuery], bool], stop: Callable[[], None]
    ) -> None:
        self._streaming = streaming
        self._poll = poll
        self._stop = stop
        self._stopping = threading.Event()
        self._over = threading.Event()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._poll_until_over, name="windrow", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def wait(self, seconds: float | None) -> bool:
        """Until it is over, in short waits that an interrupt can end."""
        return self._over.wait(seconds)

    def take_available(self) -> None:
        try:
            self._streaming.processAllAvailable()
        except Exception as error:
            self._fail(error)

    def stop(self) -> None:
        self._stopping.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._stop()
        self._over.set()

    def _poll_until_over(self) -> None:
        try:
            while not self._stopping.wait(_POLL_INTERVAL):
                if not self._streaming.isActive:
                    failed = self._streaming.exception()
                    if failed is not None:
                        raise failed
                    break
                if self._poll(self._streaming):
                    break
        except Exception as error:
            self._fail(error)
        self._over.set()

    def _fail(self, error: BaseException) -> None:
        self.error = self.error or error
        self._over.set()
