"""A feed of this process: what its sink or subscriber has not taken waits in memory, up to the backlog.

When more waits than that, nothing more is kept. Once the sink has taken what waits, it gets the difference between the
answer as it was then and the present one; of late and rejected rows there is none, and they are counted as missed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa

from windrow.runtime.health import Failing
from windrow.runtime.outputs.differences import AnswerAt
from windrow.runtime.outputs.feed import Feed, HandOver
from windrow.runtime.outputs.feeder import Feeder
from windrow.runtime.outputs.side_sinks import MissingRows
from windrow.runtime.outputs.sinks import Sink, SinkForm

Difference = Callable[[AnswerAt, SinkForm], tuple[pa.Table, int]]  # a piece, and its number
Wait = Callable[[Feeder], None]


class QueuedFeed:
    """`form` is in which it gets what a query emits; None of late and rejected rows.

    The engine puts, closes and opens it again; its own thread takes what waits.
    """

    def __init__(self, feed: Feed, sink: Sink, form: SinkForm | None, backlog: Callable[[], float]) -> None:
        self.form = form
        self.feeder = Feeder(feed, self._pieces)
        self._feed, self._sink, self._backlog = feed, sink, backlog
        self._waiting: deque[tuple[pa.Table, int]] = deque()
        self._lock = threading.Lock()  # for what waits
        self._had: AnswerAt | None = None
        self._is_closed = False
        self.missed = MissingRows()  # that it will not get

    def is_to_close(self) -> bool:
        """Whether nothing more is to be kept; `close` says what the answer was then."""
        return self._is_full() and self.feeder.is_to_close(self._is_full)

    def _is_full(self) -> bool:
        with self._lock:
            return not self._is_closed and sum(table.nbytes for table, _ in self._waiting) > self._backlog()

    @property
    def is_to_reopen(self) -> bool:
        """Whether it has had all that was kept."""
        return self._is_closed and not self._waiting and not self.feeder.is_busy

    def close(self, had: AnswerAt | None) -> None:
        """Keep nothing more; `had` is the answer as of what was put last."""
        if not self._is_closed:
            self._is_closed, self._had = True, had

    def put(self, rows: pa.Table, number: int) -> None:
        if not rows.num_rows or self._feed.is_aside:
            return
        if not self._is_closed:
            with self._lock:
                self._waiting.append((rows, number))
        elif self.form is None:
            self.missed = self.missed.more(rows.num_rows, self._feed.clock.now())

    def deliver(self, now: bool, wait: Wait) -> None:
        """Have what waits be taken, unless it is to be tried later; `now` tries all the same."""
        if self._waiting:
            self.feeder.start(now)
        wait(self.feeder)
        if self._feed.is_aside:
            with self._lock:
                self._waiting.clear()

    def reopen(self, difference: Difference | None) -> None:
        self._is_closed = False
        if self._had is not None and self.form is not None and difference is not None:
            had, self._had = self._had, None
            self.put(*difference(had, self.form))

    def _pieces(self) -> Iterator[HandOver]:
        while self._waiting:
            yield partial(self._sink, *self._waiting[0])
            with self._lock:
                self._waiting.popleft()

    def health(self) -> Failing | None:
        pieces = len(self._waiting)
        if not self._is_closed:
            return self.feeder.health(f"it gets the {pieces} pieces that wait when it works again")
        then = "it gets what waits and then the difference" if self.form is not None else self.missed.told()
        return self.feeder.health(f"more waits than SET sink_backlog allows: {then}")
