"""A running query: its current answer, what it has emitted so far, and its subscribers and sinks.

A continuous query emits its changes; a periodic one its whole answer at every refresh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from windrow.batch import Batch, Segment, changelog_to_arrow, concat, empty, last_change, rows_to_arrow
from windrow.errors import WindrowError
from windrow.plan.explain import Explanation
from windrow.plan.nodes import AppendOnly, Limit, Node, OutputKind, OutputStream, Sort
from windrow.runtime.bounds import with_bounds
from windrow.runtime.health import Failing
from windrow.runtime.local.dataflow import TakenUp
from windrow.runtime.local.first_answer import FirstAnswer
from windrow.runtime.local.inputs import Inputs
from windrow.runtime.local.query_life import QueryLife
from windrow.runtime.local.queued_feed import QueuedFeed, Wait
from windrow.runtime.modes import Mode, default_mode, rows_in_mode
from windrow.runtime.outputs.differences import AnswerAt, difference
from windrow.runtime.outputs.feed import MOST_TRIES, Receiver
from windrow.runtime.outputs.feeder import Feeder
from windrow.runtime.outputs.sinks import Sink, SinkForm
from windrow.runtime.query import Query, Subscriber
from windrow.runtime.readers import Reader
from windrow.runtime.refreshes import answers_at_refreshes, refresh_slide, refreshes_to_arrow
from windrow.runtime.shown_order import in_shown_order
from windrow.runtime.view import View
from windrow.units import BEGINNING, FOREVER, format_timestamp


class LocalQuery(Query):
    """What `engine.query(...)` gives."""

    def __init__(
        self,
        inputs: Inputs,
        changelog_limit: Callable[[], int],
        name: str,
        plan: Node,
        reader: Reader,
        explain: Callable[[], Explanation],
    ) -> None:
        """`changelog_limit` says about how many tuples of its changelog are kept for looking at afterwards."""
        self._inputs = inputs
        self._changelog_limit = changelog_limit
        self.name = name
        self.plan = plan
        self._reader = reader
        self.slide = refresh_slide(plan)
        below = plan.input if isinstance(plan, OutputStream | AppendOnly) else plan
        self._sorted = below if isinstance(below, Sort | Limit) else None
        self._explain = explain
        self._view = View()
        self._changes: list[Batch] = []
        self._changelog_size = 0
        self._feeds: list[tuple[QueuedFeed, SinkForm]] = []
        self.is_fed_by_time = False  # whether somebody is told of more than changes, such as what has ended
        self._pieces = 0
        self._until: int | None = None  # answers before it stand, when it is set aside
        self._first: FirstAnswer | None = None  # until its own time comes
        self.life = QueryLife()

    def begin(self, taken_up: TakenUp) -> None:
        """It is taken up, with the answer as of its creation."""
        self._coverage = taken_up.coverage
        if self._reader.start != BEGINNING:
            is_stream = isinstance(self.plan, OutputStream) and self.plan.kind is not OutputKind.RSTREAM
            self._first = FirstAnswer(concat([self._none(), taken_up.answer]), self._reader.start, is_stream)

    @property
    def watermark(self) -> int:
        if self._until is not None:
            return self._until
        return self._inputs.watermark_of(self._reader.streams)

    def _answer(self, at: int | None) -> pa.Table:
        with self._inputs.lock:
            instant = self._latest(self.watermark - 1) if at is None else at
            if self._until is not None and instant >= self._until:
                hint = f"it has answers before {format_timestamp(self._until)}; engine.health() says why"
                raise WindrowError(f"{self.name} is set aside", hint)
            if instant < self._view.known_from:
                hint = f"ask for {format_timestamp(self._view.known_from)} or later; changes() has what was before"
                raise WindrowError(f"the answer at {format_timestamp(instant)} is not kept any more", hint)
            return with_bounds(self._answer_at(instant), self.plan)

    def latest_answer(self) -> pa.Table:
        """The answer to show: now, or once the sources have ended at the last row's time, before everything expired.

        Without ORDER BY it is in the order of its values, so that it is always shown in the same way.
        """
        with self._inputs.lock:
            shown = min(self.watermark - 1, self._inputs.progress.last_row_of(self._reader.streams))
            rows = (self._first or self._view).at(max(self._latest(shown), self._view.known_from))
            return with_bounds(rows_to_arrow(self._in_order(rows), self.plan.schema.names), self.plan)

    def _latest(self, instant: int) -> int:
        """An instant of which there is an answer: what was there at the creation is known at once."""
        return instant if self._first is None else max(instant, self._first.created)

    def changes(self) -> pa.Table:
        """The newest changes: the columns, `_ts`, `_exp` (null when open) and `_sign`; `subscribe` gets all."""
        with self._inputs.lock:
            return pa.concat_tables([self._changelog(batch) for batch in self._changes or [self._none()]])

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber` with every new piece of what the query emits."""
        receiver = Receiver("subscriber", self.name, most_tries=MOST_TRIES)
        self.feed(receiver, lambda table, number: subscriber(table), SinkForm(default_mode(self.slide)))

    def feed(self, receiver: Receiver, sink: Sink, form: SinkForm) -> None:
        """Give a sink every new piece of what the query emits, in a form of its own."""
        with self._inputs.lock:  # not in the middle of a segment
            self._feeds.append((self._inputs.feeds.queued(receiver, sink, form), form))
            self.is_fed_by_time = self.is_fed_by_time or form.mode is not Mode.CHANGELOG

    def explain(self) -> Explanation:
        return self._explain()

    def take(self, changes: Batch, segment: Segment) -> None:
        """What the dataflow gave in a segment."""
        if self._first is not None:
            changes, self._first = self._first.with_later([changes]), None
        ends_at = self.life.end(self._inputs.progress, self._reader)
        if segment.begin >= ends_at:
            return
        if segment.end > ends_at:
            changes, segment = changes.take(changes.ts < ends_at), segment._replace(end=ends_at)
        self._view.add(changes)
        if len(changes):
            self._remember(changes)
        feeds = list(self._feeds)
        emitted = {form: self._emitted(form, changes, segment) for _, form in feeds}
        for feed, form in feeds:
            feed.put(emitted[form], self._pieces)
        self._pieces += 1
        if segment.end != FOREVER:  # when the sources have ended, all that is still there may be asked for
            self._view.move_on(segment.end - 1)

    def hold(self, changes: Batch) -> None:
        """What it gave in a segment before its creation, where some of its streams are behind the others."""
        if self._first is not None:
            self._first.hold(changes)

    def set_aside(self, until: int) -> None:
        """Nothing is computed for it any more."""
        self._until = until

    def resume(self, reader: Reader) -> None:
        """Start anew; who has the old answer gets the difference to the new one."""
        for feed, _ in self._feeds:
            feed.close(self._answer_now())
        self._view, self._reader, self._until, self._first = View(), reader, None, None

    def deliver(self, now: bool, wait: Wait) -> None:
        """Have each who gets something take what waits for it; `now` also those that failed a moment ago."""
        for feed, _ in self._feeds:
            feed.deliver(now, wait)
            if feed.is_to_reopen:
                with self._inputs.lock:
                    feed.reopen(self._difference)
                feed.deliver(now, wait)
            if feed.is_to_close():
                with self._inputs.lock:
                    feed.close(self._answer_now())

    def feeders(self) -> list[Feeder]:
        return [feed.feeder for feed, _ in self._feeds]

    def _difference(self, had: AnswerAt, form: SinkForm) -> tuple[pa.Table, int]:
        """A piece of its own."""
        self._pieces += 1
        return difference(had, self._answer_now(), form, self.plan.schema, self.slide), self._pieces - 1

    def _answer_now(self) -> AnswerAt:
        last_row, watermark = self._inputs.progress.last_row_of(self._reader.streams), self.watermark
        instant = last_row if watermark == FOREVER else watermark - 1
        return AnswerAt(concat([self._none(), *self._view.batches()]), instant)

    def health(self) -> Iterator[Failing]:
        yield from (found for feed, _ in self._feeds if (found := feed.health()) is not None)

    def _remember(self, changes: Batch) -> None:
        self._changes.append(changes)
        self._changelog_size += len(changes)
        while self._changelog_size > self._changelog_limit() and len(self._changes) > 1:
            self._changelog_size -= len(self._changes.pop(0))

    def _emitted(self, form: SinkForm, changes: Batch, segment: Segment) -> pa.Table:
        """What a segment brings, in a form; of a periodic query all its refreshes, one after the other."""
        if form.mode is Mode.CHANGELOG:
            return self._changelog(changes)
        if self.slide is None or form.mode is not Mode.SNAPSHOT:
            answer = concat([self._none(), *self._view.batches()])
            return rows_in_mode(form.mode, self.plan.schema.names, form.key, changes, answer, segment)
        begin = self._inputs.progress.begin_of(self._reader)  # the first refresh is the first window end after it
        assert begin is not None, self._reader
        rows = concat([self._none(), *self._view.batches()])
        changed = last_change(rows) if segment.end == FOREVER else -FOREVER
        emitted = answers_at_refreshes(rows, self.slide, begin, segment, changed)
        if self._sorted is not None:
            emitted = in_shown_order(emitted, self.plan.schema, self._sorted.keys).sorted_by_time()
        return refreshes_to_arrow(emitted, self.plan.schema.names)

    def _answer_at(self, instant: int) -> pa.Table:
        rows = (self._first or self._view).at(instant)
        if self._sorted is not None or not rows:
            rows = [self._in_order(rows)]
        return pa.concat_tables([rows_to_arrow(batch, self.plan.schema.names) for batch in rows])

    def _in_order(self, rows: list[Batch]) -> Batch:
        keys = self._sorted.keys if self._sorted is not None else ()
        return in_shown_order(concat(rows), self.plan.schema, keys) if rows else self._none()

    def _changelog(self, changes: Batch) -> pa.Table:
        return changelog_to_arrow(changes, self.plan.schema.names)

    def _none(self) -> Batch:
        return empty(self.plan.schema.types, self._inputs.dictionary)
