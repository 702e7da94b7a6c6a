"""Who gets what a micro-batch gave out once it is committed: sinks and subscribers, each from the log and on its own.

The log keeps what the slowest of them has not had, up to `SET sink_backlog` for each. Then nothing more is kept for it,
and the answer as of then is written down. When it takes what was kept it gets the difference between that answer and
the present one, as one piece, and goes on with the batches after. Files are written by the shards themselves; only
those that a shard could not write come from here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import takewhile

from windrow.catalog import QueryEntry, StreamEntry
from windrow.clock import Clock
from windrow.runtime.health import Failing
from windrow.runtime.outputs.differences import AnswerAt, difference
from windrow.runtime.outputs.feed import LOG, Feed, give_all
from windrow.runtime.outputs.side_sinks import side_sinks
from windrow.runtime.outputs.sink_folders import FILES, remove_parts
from windrow.runtime.outputs.sinks import receiver_of, sink_by_batch, sink_form
from windrow.runtime.query import Subscriber
from windrow.runtime.shards.feeding.emitted_log import EmittedLog
from windrow.runtime.shards.feeding.log_feed import (
    LogFeed,
    difference_sink,
    file_pieces,
    log_bytes,
    query_pieces,
    side_pieces,
    subscriber_feed,
)
from windrow.runtime.shards.feeding.stored_answers import ASIDE, HAD, StoredAnswers
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.shards.storage.checkpoint import Checkpoint, Commit
from windrow.runtime.shards.storage.collection import SWEPT_EVERY
from windrow.runtime.shards.storage.sink_records import Position, SinkRecords
from windrow.runtime.shards.tasks.shard_sinks import batch_prefix


class Publishing:
    """`backlog` is how many bytes of the log are kept for one who does not take them."""

    def __init__(self, checkpoint: Checkpoint, clock: Clock, backlog: Callable[[], float]) -> None:
        self._checkpoint, self._clock, self._backlog = checkpoint, clock, backlog
        self._log = EmittedLog(checkpoint)
        self._feeds: list[LogFeed] = []
        self._lock = threading.RLock()
        self._last = checkpoint.last_commit()
        self._has_given = False  # something that positions are to be saved for
        self._records = SinkRecords(checkpoint.folder, checkpoint.check_owner)
        self._answers = StoredAnswers(self._records)
        self._stored = self._records.positions()

    def add_query(self, entry: QueryEntry, query: ShardedQuery) -> None:
        """The sink of a query, from the next batch on, or from where it was."""
        query.on_subscribe = self._subscribe
        if entry.sink is None or entry.sink.name == "memory":
            return
        form = sink_form(entry.sink, query.plan, query.slide)
        sink = sink_by_batch(entry.sink, entry.name)
        pieces = query_pieces(self._log, query, form, sink)
        folder = None
        if entry.sink.name in FILES:
            pieces, sink = file_pieces(self._log, query, form, entry.sink), difference_sink(entry.sink, entry.name)
            folder = str(entry.sink.arguments[0])
        feed = Feed(receiver_of(entry.sink, "sink", entry.name), self._clock)
        self._add(LogFeed(query.key, feed, self._begin(query.key), pieces, sink, form, query, folder=folder))

    def add_stream(self, stream: StreamEntry, number: int) -> None:
        """The sinks of its late and rejected rows; `number` is that of the statement that created it."""
        for kind, connector in side_sinks(stream):
            key = f"{kind}/{stream.name.lower()}.{number}"
            feed = Feed(receiver_of(connector, f"{kind} sink", stream.name), self._clock)
            sink = sink_by_batch(connector, f"{stream.name} {kind}")
            self._add(LogFeed(key, feed, self._begin(key), side_pieces(self._log, stream, kind, sink)))

    def drop(self, name: str) -> None:
        """The feeds of a query or stream."""
        with self._lock:
            gone = [feed for feed in self._feeds if feed.feed.receiver.name.lower() == name.lower()]
            self._feeds = [feed for feed in self._feeds if feed not in gone]
            for feed in gone:
                self._answers.forget(feed.key)

    def forget_strangers(self, aside: Iterable[ShardedQuery]) -> None:
        """Remove what was written for those who are not there any more; `aside` are queries that are set aside."""
        self._answers.keep_only((feed.key for feed in self._feeds), (query.keys[0] for query in aside))

    def set_aside(self, query: ShardedQuery, batch: int) -> None:
        """Write down the last good answer; what waits for sinks is all they get until the query is resumed.

        Files that shards have written in the batch that failed are removed: for the query it has not happened.
        """
        with self._lock:
            answer = query.answer_now()
            self._answers.keep(query.keys[0], ASIDE, answer)
            for feed in self._feeds:
                if feed.query is query and feed.position.kept_until is None:
                    self._close(feed, answer)
                if feed.query is query and feed.folder is not None:
                    with suppress(OSError):  # a folder that is gone has no files
                        remove_parts(feed.folder, batch_prefix(batch))

    def restore_aside(self, query: ShardedQuery) -> None:
        """Have a query that is set aside know its last good answer."""
        query.aside = self._answers.read(query.keys[0], ASIDE, query.plan.schema.types)

    def _subscribe(self, query: ShardedQuery, subscriber: Subscriber) -> None:
        with self._lock:
            self._feeds.append(subscriber_feed(self._log, query, subscriber, self._clock, self._last_number))

    def _begin(self, key: str) -> Position:
        begin = self._stored.get(key, Position(self._last_number))
        return begin._replace(had=min(begin.had, self._last_number))  # a copy may have gone back to an earlier batch

    def _add(self, feed: LogFeed) -> None:
        with self._lock:
            self._feeds.append(feed)
            for record in self._pending(feed):
                feed.waiting[record.number] = log_bytes(record)

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

    def publish(self, record: Commit) -> None:
        """Hand over what a committed batch gave out; one who fails keeps nobody else from it."""
        with self._lock:
            self._last = record
            for feed in self._feeds:
                if feed.position.kept_until is None:
                    feed.waiting[record.number] = log_bytes(record)
            self._deliver_all(now=record.ended)
            if record.number % SWEPT_EVERY == 0:
                self._save()

    def retry(self) -> None:
        """Hand over what waits to those whose pause is over."""
        with self._lock:
            self._deliver_all(now=False)

    def health(self) -> list[Failing]:
        return [found for feed in list(self._feeds) if (found := feed.feed.health(_behind(feed))) is not None]

    def _deliver_all(self, now: bool) -> None:
        try:
            give_all([partial(self._deliver, feed, now) for feed in self._feeds])
        finally:
            if self._has_given:
                self._save()

    def _deliver(self, feed: LogFeed, now: bool) -> None:
        due = feed.feed.is_due or (now and not feed.feed.is_aside)
        if due and self._give_owed(feed) and self._give_pending(feed) and self._can_reopen(feed):
            self._reopen(feed)
        if feed.position.kept_until is None and sum(feed.waiting.values()) > self._backlog():
            self._close(feed, None if feed.query is None else feed.query.answer_now())
            LOG.warning("%s of %s: more waits than sink_backlog, nothing more is kept", *feed.feed.receiver.names)
        if feed.feed.is_aside:
            feed.waiting.clear()

    def _give_pending(self, feed: LogFeed) -> bool:
        for record in self._pending(feed):
            hand_over = feed.pieces(record)
            if hand_over is not None and not feed.feed.give(hand_over):
                return False
            self._has_given = self._has_given or (hand_over is not None and feed.is_durable)
            feed.position = feed.position._replace(had=record.number)
            feed.waiting.pop(record.number, None)
        return True

    def _pending(self, feed: LogFeed) -> Iterable[Commit]:
        """What is kept for a receiver and it has not had."""
        had, until = feed.position.had, feed.position.kept_until
        last = self._last_number if until is None else until
        if had >= last:
            return ()
        if self._last is not None and had == last - 1 and last == self._last.number:
            return (self._last,)
        return takewhile(lambda record: record.number <= last, self._checkpoint.commits(had))

    def _close(self, feed: LogFeed, answer: AnswerAt | None) -> None:
        """Keep nothing more for a receiver but the answer as it is now, if there is one."""
        if answer is not None:
            self._answers.keep(feed.key, HAD, answer)
        feed.position = feed.position._replace(kept_until=self._last_number)
        self._save()

    def _can_reopen(self, feed: LogFeed) -> bool:
        """Whether there is a batch that it will not get, whose number the difference can have."""
        is_aside = feed.query is not None and feed.query.aside is not None
        return feed.position.kept_until is not None and self._last_number > feed.position.had and not is_aside

    def _reopen(self, feed: LogFeed) -> None:
        """What a receiver has not had is made up for by the difference, which is written down before it is given."""
        number, owes = self._last_number, None
        if feed.query is None or feed.form is None:
            LOG.warning("%s of %s has missed batches %s to %s", *feed.feed.receiver.names, feed.position.had, number)
        else:
            columns = feed.query.plan.schema
            had = self._answers.read(feed.key, HAD, columns.types)
            table = difference(had, feed.query.answer_now(), feed.form, columns, feed.query.slide)
            if table.num_rows:
                self._answers.keep_difference(feed.key, table)
                owes = number
        feed.position = Position(number, owes=owes)
        self._save()
        if self._give_owed(feed):
            self._answers.forget(feed.key)

    def _give_owed(self, feed: LogFeed) -> bool:
        owes = feed.position.owes
        if owes is None or feed.sink is None:
            return True
        if not feed.feed.give(partial(feed.sink, self._answers.difference(feed.key), owes)):
            return False
        feed.position = feed.position._replace(owes=None)
        return True

    def _save(self) -> None:
        durable = (feed for feed in self._feeds if feed.is_durable)
        self._has_given = False
        self._records.save_positions({feed.key: feed.position for feed in durable})


def _behind(feed: LogFeed) -> str:
    if feed.position.kept_until is not None:
        then = "then the difference" if feed.query is not None else "newer rows are lost"
        return f"more waits than SET sink_backlog allows: when it works again it gets what was kept, {then}"
    return f"it gets the {len(feed.waiting)} batches that wait when it works again"
