"""A feed of this process: what its sink or subscriber has not taken waits in memory, up to the backlog.

When more waits than that, nothing more is kept. Once the sink takes what waits, it gets the difference between the
answer as it was then and the present one; of late and rejected rows there is none, and they are counted as missed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pyarrow as pa

from windrow.runtime.health import Failing
from windrow.runtime.outputs.differences import AnswerAt
from windrow.runtime.outputs.feed import LOG, Feed
from windrow.runtime.outputs.sinks import Sink, SinkForm

Difference = Callable[[AnswerAt, SinkForm], tuple[pa.Table, int]]  # a piece, and its number


class QueuedFeed:
    """`form` is in which it gets what a query emits; None of late and rejected rows."""

    def __init__(self, feed: Feed, sink: Sink, form: SinkForm | None, backlog: Callable[[], float]) -> None:
        self.form = form
        self._feed, self._sink, self._backlog = feed, sink, backlog
        self._waiting: deque[tuple[pa.Table, int]] = deque()
        self._had: AnswerAt | None = None
        self._is_closed = False
        self.missed = 0  # rows that it will not get

    @property
    def is_full(self) -> bool:
        """Whether nothing more is to be kept; `close` says what the answer was then."""
        return not self._is_closed and sum(table.nbytes for table, _ in self._waiting) > self._backlog()

    def close(self, had: AnswerAt | None) -> None:
        """Keep nothing more; `had` is the answer as of what was put last."""
        if not self._is_closed:
            self._is_closed, self._had = True, had

    def put(self, rows: pa.Table, number: int) -> None:
        if not rows.num_rows or self._feed.is_aside:
            return
        if self._is_closed:
            self.missed += rows.num_rows
        else:
            self._waiting.append((rows, number))

    def deliver(self, now: bool, difference: Difference | None = None) -> None:
        """Hand over what waits, unless it is to be tried later; `now` tries all the same.

        Raises only for a sink that is to stop the engine.
        """
        if not (self._feed.is_due or (now and not self._feed.is_aside)):
            return
        while self._waiting:
            rows, given = self._waiting[0]
            if not self._feed.give(lambda rows=rows, given=given: self._sink(rows, given)):  # type: ignore[misc]
                if self._feed.is_aside:
                    self._waiting.clear()
                return
            self._waiting.popleft()
        if self._is_closed:
            self._reopen(difference)

    def _reopen(self, difference: Difference | None) -> None:
        self._is_closed = False
        if self._had is not None and self.form is not None and difference is not None:
            had, self._had, self.missed = self._had, None, 0
            self.put(*difference(had, self.form))
            self.deliver(now=False)
        elif self.missed:
            of = self._feed.receiver
            LOG.warning("%s of %s has missed %d rows: more waited than sink_backlog", of.what, of.name, self.missed)

    def health(self) -> Failing | None:
        pieces = len(self._waiting)
        if not self._is_closed:
            return self._feed.health(f"it gets the {pieces} pieces that wait when it works again")
        then = "it gets what waits and then the difference" if self._had is not None else "the newer rows are lost"
        return self._feed.health(f"more waits than SET sink_backlog allows: {then}")
