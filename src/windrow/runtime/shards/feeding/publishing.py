"""Who gets what a micro-batch gave out once it is committed: sinks and subscribers, each from the log and on its own.

The log keeps what the slowest of them has not had, up to `SET sink_backlog` for each. Then nothing more is kept for it,
and the answer as of then is written down. When it takes what was kept it gets the difference between that answer and
the present one, as one piece, and goes on with the batches after. Late and rejected rows have no answer: their sinks go
on with what the log still has, and the gap is counted. Files are written by the shards themselves, hidden; they get
their names here, and those that a shard could not write come from the log.

Each is fed by a thread of its own, which reads the log and moves its position. All else, such as what is kept for whom,
is decided by whoever runs the batches; positions are saved there too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from windrow.catalog import QueryEntry, StreamEntry
from windrow.clock import Clock
from windrow.runtime.health import Failing
from windrow.runtime.outputs.feed import Feed, HandOver
from windrow.runtime.outputs.feeder import Feeder, raise_first
from windrow.runtime.outputs.side_sinks import MissingRows, side_sinks
from windrow.runtime.outputs.sink_folders import FILES
from windrow.runtime.outputs.sinks import receiver_of, sink_by_batch, sink_form
from windrow.runtime.query import Subscriber
from windrow.runtime.shards.feeding.closed_feeds import ClosedFeeds, can_reopen
from windrow.runtime.shards.feeding.emitted_log import EmittedLog
from windrow.runtime.shards.feeding.log_feed import (
    LogFeed,
    SideRows,
    difference_sink,
    query_pieces,
    subscriber_feed,
)
from windrow.runtime.shards.feeding.sink_files import SinkFiles
from windrow.runtime.shards.feeding.stored_answers import ASIDE, StoredAnswers
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.shards.storage.checkpoint import Checkpoint, Commit
from windrow.runtime.shards.storage.collection import SWEPT_EVERY
from windrow.runtime.shards.storage.sink_records import Position, SinkRecords


class Publishing:
    """`backlog` is how many bytes of the log are kept for one who does not take them."""

    def __init__(self, checkpoint: Checkpoint, clock: Clock, backlog: Callable[[], float]) -> None:
        self._checkpoint, self._clock, self._backlog = checkpoint, clock, backlog
        self._log = EmittedLog(checkpoint)
        self._feeds: list[LogFeed] = []
        self.lock = self._lock = threading.RLock()  # while it is held the last batch, also for answers, is the same
        self.deciding = threading.RLock()  # of who runs a batch, or decides between two what is kept for whom
        self._last = checkpoint.last_commit()
        self._has_given = False  # something that positions are to be saved for
        self._records = SinkRecords(checkpoint.folder, checkpoint.check_owner)
        self.answers = StoredAnswers(self._records)
        self._closed = ClosedFeeds(checkpoint, self.answers, clock)
        self._stored = self._records.positions()

    def add_query(self, entry: QueryEntry, query: ShardedQuery) -> None:
        """The sink of a query, from the next batch on, or from where it was."""

        def subscribe(query: ShardedQuery, subscriber: Subscriber) -> None:
            self._add(subscriber_feed(self._log, query, subscriber, self._clock, self._last_number))

        query.on_subscribe = subscribe
        if entry.sink is None or entry.sink.name == "memory":
            return
        form = sink_form(entry.sink, query.plan, query.slide)
        sink = sink_by_batch(entry.sink, entry.name)
        pieces, begin, files = query_pieces(self._log, query, form, sink), self._begin(query.key), None
        if entry.sink.name in FILES:
            files, sink = SinkFiles(self._log, query, form, entry.sink), difference_sink(entry.sink, entry.name)
            pieces, begin = files.pieces, self._begin(query.key, SWEPT_EVERY)  # they say themselves what is left
        feed = Feed(receiver_of(entry.sink, "sink", entry.name), self._clock)
        self._add(LogFeed(query.key, feed, begin, pieces, sink, form, query, files=files))

    def add_stream(self, stream: StreamEntry, number: int) -> None:
        """The sinks of its late and rejected rows; `number` is that of the statement that created it."""
        for kind, connector in side_sinks(stream):
            key = f"{kind}/{stream.name.lower()}.{number}"
            feed = Feed(receiver_of(connector, f"{kind} sink", stream.name), self._clock)
            sink, side = sink_by_batch(connector, f"{stream.name} {kind}"), SideRows(self._log, stream, kind)
            self._add(LogFeed(key, feed, self._begin(key), side.pieces(sink), side=side))

    def drop(self, name: str) -> None:
        """The feeds of a query or stream."""
        with self._lock:
            gone = [feed for feed in self._feeds if feed.feed.receiver.name.lower() == name.lower()]
            self._feeds = [feed for feed in self._feeds if feed not in gone]
            for feed in gone:
                feed.feeder.close()
                self.answers.forget(feed.key)

    def forget_strangers(self, aside: Iterable[ShardedQuery]) -> None:
        """Remove what was written for those who are not there any more; `aside` are queries that are set aside."""
        self.answers.keep_only((feed.key for feed in self._feeds), (query.keys[0] for query in aside))

    def set_aside(self, query: ShardedQuery, batch: int) -> None:
        """Write down the last good answer; what waits for sinks is all they get until the query is resumed.

        Files that shards have written in the batch that failed are removed: for the query it has not happened.
        """
        with self._lock:
            answer = query.answer_now()
            self.answers.keep(query.keys[0], ASIDE, answer)
            for feed in self._feeds:
                if feed.query is query and feed.position.kept_until is None:
                    self._closed.close(feed, answer, self._last)
                if feed.query is query and feed.files is not None:
                    feed.files.discard(batch)
            self._save()

    def _begin(self, key: str, before: int = 0) -> Position:
        """Where somebody was; without a position, so many batches before the last one."""
        begin = self._stored.get(key, Position(max(self._last_number - before, -1)))
        return begin._replace(had=min(begin.had, self._last_number))  # a copy may have gone back to an earlier batch

    def _add(self, feed: LogFeed) -> None:
        feed.feeder = Feeder(feed.feed, partial(self._pieces, feed))
        feed.has_stored = feed.position.kept_until is not None or feed.position.owes is not None
        with self._lock:
            self._feeds.append(feed)
            if feed.files is not None:
                for record in self._pending(feed):
                    feed.put(record)
                feed.files.sweep(feed.position.had, self._last_number)
            feed.count_waiting(self._pending(feed))

    @property
    def _last_number(self) -> int:
        return -1 if self._last is None else self._last.number

    @property
    def closed_files(self) -> tuple[str, ...]:
        """Queries whose files shards are not to write: their sinks get the difference when they work again."""
        feeds = (feed for feed in self._feeds if feed.position.kept_until is not None)
        return tuple(feed.query.key for feed in feeds if feed.query is not None)

    def needs(self, batch: int) -> bool:
        """Whether somebody has still to get what a batch gave out."""
        return any(feed.needs(batch) for feed in list(self._feeds))

    def put(self, record: Commit) -> None:
        """A batch has been committed, and waits to be handed over."""
        with self._lock:
            self._last = record
            for feed in self._feeds:
                feed.put(record)

    def publish(self, record: Commit) -> None:
        """Hand over what a committed batch gave out; one who fails or is slow keeps nobody else from it."""
        self._deliver_all(record.ended, Feeder.wait_a_moment)
        if record.number % SWEPT_EVERY == 0:
            self._save()

    def retry(self) -> None:
        """Hand over what waits to those whose pause is over."""
        self._deliver_all(False, Feeder.wait_a_moment)

    def settle(self, is_over: Callable[[], bool] = lambda: False) -> None:
        """The same, and wait until all have what there is, but for those who fail or hang; nor when it `is_over`."""
        self._deliver_all(False, partial(Feeder.wait, is_over=is_over))

    def wait(self) -> None:
        """For what others have started."""
        for feed in list(self._feeds):
            feed.feeder.wait()

    @property
    def times_raised(self) -> int:
        """How often somebody has failed who is to stop the engine."""
        return sum(feed.feeder.times_raised for feed in list(self._feeds))

    def close(self) -> None:
        """Nobody gets anything more; what they have had is known."""
        self.wait()
        for feed in self._feeds:
            feed.feeder.close()
        if self._has_given:
            self._save()

    def health(self) -> list[Failing]:
        return [found for feed in list(self._feeds) if (found := feed.feeder.health(_behind(feed))) is not None]

    def missed(self, stream: StreamEntry) -> Iterator[tuple[str, int, int]]:
        """Late and rejected rows of a stream that their sinks did not get."""
        for feed in list(self._feeds):
            if feed.side is not None and feed.side.stream.name == stream.name and feed.position.missed:
                yield MissingRows(feed.position.missed, feed.position.since).warning(feed.side.kind, stream.name)

    def _deliver_all(self, now: bool, wait: Callable[[Feeder], None]) -> None:
        feeds = list(self._feeds)
        try:
            for feed in feeds:
                feed.start(now, self._last_number)
                wait(feed.feeder)
                is_to_close = feed.is_to_close(self._backlog)
                with self.deciding:
                    goes_on = self._tend(feed, is_to_close)
                if goes_on:
                    feed.start(now, self._last_number)
                    wait(feed.feeder)
        finally:
            if self._has_given:
                self._save()
        raise_first(feed.feeder for feed in feeds)

    def _tend(self, feed: LogFeed, is_to_close: bool) -> bool:
        """See to it that not too much is kept for a receiver; whether one is to go on that had too much."""
        with self._lock:
            if feed.feed.is_aside:
                feed.waiting.clear()
            if feed.feed.is_aside or self._last is None:
                return False
            if can_reopen(feed, self._last):
                self._closed.reopen(feed, self._last)
                feed.count_waiting(self._pending(feed))
                self._save()
                return True
            if is_to_close and feed.position.kept_until is None:
                self._closed.close(feed, None if feed.query is None else feed.query.answer_now(), self._last)
                self._save()
            return False

    def _pieces(self, feed: LogFeed) -> Iterator[HandOver]:
        """What a receiver is to get, for its thread: what it owes, then what batches have for it."""
        if feed.position.owes is not None and feed.sink is not None:
            yield partial(feed.sink, self.answers.difference(feed.key), feed.position.owes)
            with self._lock:
                feed.position = feed.position._replace(owes=None)
                self._has_given = self._has_given or feed.is_durable
        for record in self._pending(feed):
            hand_over = feed.pieces(record)
            if hand_over is not None:
                yield hand_over
            with self._lock:
                self._has_given = self._has_given or (hand_over is not None and feed.is_durable)
                feed.took(record.number)

    def _pending(self, feed: LogFeed) -> Iterable[Commit]:
        """What is kept for a receiver and it has not had."""
        with self._lock:
            newest, had, until = self._last, feed.position.had, feed.position.kept_until
        last = self._last_number if until is None else until
        if newest is None or had >= last:
            return ()
        if had == last - 1 and last == newest.number:
            return (newest,)
        return self._checkpoint.commits(had, last)

    def _save(self) -> None:
        with self._lock:
            durable = (feed for feed in self._feeds if feed.is_durable)
            self._has_given = False
            self._records.save_positions({feed.key: feed.position for feed in durable})
            for feed in self._feeds:
                if feed.has_stored and feed.position.kept_until is None and feed.position.owes is None:
                    self.answers.forget(feed.key)  # only now: a restart goes by the positions
                    feed.has_stored = False


def _behind(feed: LogFeed) -> str:
    if feed.position.kept_until is not None:
        then = "then the difference" if feed.side is None else "then what the log still has; the rest is counted"
        return f"more waits than SET sink_backlog allows: when it works again it gets what was kept, {then}"
    return f"it gets the {len(feed.waiting)} batches that wait when it works again"
