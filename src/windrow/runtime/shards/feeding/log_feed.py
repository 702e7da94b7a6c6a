"""A feed from the log: a receiver gets what committed batches have for it, in order, from a position of its own on.

Where it is in the log is written after a batch was handed over, so that after a crash it may get the last one again:
at least once. Files are named by their batch, so that they are there once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from windrow.catalog import Connector, StreamEntry
from windrow.clock import Clock
from windrow.runtime.intake.side_output import together
from windrow.runtime.modes import default_mode
from windrow.runtime.outputs.feed import MOST_TRIES, Feed, HandOver, Receiver
from windrow.runtime.outputs.feeder import Feeder
from windrow.runtime.outputs.side_sinks import SIDE_ROWS
from windrow.runtime.outputs.sink_folders import FILES
from windrow.runtime.outputs.sinks import Sink, SinkForm, sink_by_batch, write_file
from windrow.runtime.query import Subscriber
from windrow.runtime.shards.feeding.emitted_log import EmittedLog, addresses_of, side_addresses
from windrow.runtime.shards.feeding.sink_files import SinkFiles
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.shards.storage.bundles import Address
from windrow.runtime.shards.storage.checkpoint import Commit
from windrow.runtime.shards.storage.sink_records import Position

Pieces = Callable[[Commit], HandOver | None]


@dataclass
class LogFeed:
    """`pieces` gives what a batch has for the receiver, if anything: called, it is read and handed over."""

    key: str
    feed: Feed
    position: Position
    pieces: Pieces
    sink: Sink | None = None  # what a difference is given to; None where there is none
    form: SinkForm | None = None
    query: ShardedQuery | None = None
    is_durable: bool = True
    files: SinkFiles | None = None  # that shards write for it
    side: SideRows | None = None  # of which it gets late or rejected rows
    waiting: dict[int, int] = field(default_factory=dict)  # bytes of the log that are kept for it, by batch
    has_stored: bool = False  # an answer that it had, or a difference that it is to get
    feeder: Feeder = field(init=False)  # of whoever publishes

    def needs(self, batch: int) -> bool:
        """Whether the log has to keep a batch for it."""
        until = self.position.kept_until
        return not self.feed.is_aside and self.position.had < batch and (until is None or batch <= until)

    def put(self, record: Commit) -> None:
        """A batch has been committed: it waits, unless there is nothing in it for one who has all before it.

        What shards have written gets its names at once; what cannot is left to the thread of the feed.
        """
        if self.files is not None:
            self.files.publish(record)
        if self.position.kept_until is not None:
            return
        if self.position.owes is None and self.position.had == record.number - 1 and self.pieces(record) is None:
            self.position = self.position._replace(had=record.number)
        else:
            self.waiting[record.number] = log_bytes(record)

    def count_waiting(self, records: Iterable[Commit]) -> None:
        self.waiting.update({record.number: log_bytes(record) for record in records})

    def start(self, now: bool, last: int) -> None:
        """Have it get what is kept for it, if there is something; `last` is the last batch."""
        if not self.is_through(last):
            self.feeder.start(now)

    def is_to_close(self, backlog: Callable[[], float]) -> bool:
        """Whether nothing more is to be kept for it."""

        def is_full() -> bool:
            is_kept = self.position.kept_until is None and not self.feed.is_aside
            return is_kept and sum(list(self.waiting.values())) > backlog()  # a list: its thread takes some away

        return is_full() and self.feeder.is_to_close(is_full)

    def took(self, batch: int) -> None:
        self.position = self.position._replace(had=batch)
        self.waiting.pop(batch, None)

    def is_through(self, last: int) -> bool:
        """Whether it has had all that is kept for it; `last` is the last batch."""
        until = last if self.position.kept_until is None else self.position.kept_until
        return self.position.had >= until and self.position.owes is None


def query_pieces(log: EmittedLog, query: ShardedQuery, form: SinkForm, sink: Sink) -> Pieces:
    """One piece a batch, of all shards."""

    def hand_over(record: Commit) -> None:
        sink(pa.concat_tables(log.emitted_in(record, query, form.mode)), record.number)

    return lambda record: partial(hand_over, record) if addresses_of(record, query, form.mode) else None


def subscriber_feed(log: EmittedLog, query: ShardedQuery, subscriber: Subscriber, clock: Clock, last: int) -> LogFeed:
    """Only what comes after the last batch; it is forgotten with the process."""
    receiver = Receiver("subscriber", query.name, most_tries=MOST_TRIES)
    form, sink = SinkForm(default_mode(query.slide)), _without_number(subscriber)
    pieces, key = query_pieces(log, query, form, sink), f"subscriber/{uuid.uuid4().hex}"
    return LogFeed(key, Feed(receiver, clock), Position(last), pieces, sink, form, query, is_durable=False)


def _without_number(subscriber: Subscriber) -> Sink:
    return lambda table, number: subscriber(table)


def difference_sink(connector: Connector, name: str) -> Sink:
    """Where the difference to the present answer goes: a file beside those of its batch."""
    if connector.name not in FILES:
        return sink_by_batch(connector, name)
    place, form = str(connector.arguments[0]), connector.name
    return lambda table, number: write_file(table, place, f"part-{number:09}-difference.{form}", form)


@dataclass(frozen=True)
class SideRows:
    """The late or the rejected rows of a stream."""

    log: EmittedLog
    stream: StreamEntry
    kind: str

    def pieces(self, sink: Sink) -> Pieces:
        def hand_over(record: Commit) -> None:
            sink(SIDE_ROWS[self.kind](together(self._tables(record)), self.stream), record.number)

        return lambda record: partial(hand_over, record) if self._addresses(record) else None

    def rows_until(self, record: Commit) -> int:
        """How many there have been when a batch was committed."""
        progress = record.progress.streams.get(self.stream.name.lower())
        if progress is None:
            return 0
        return progress.intake.late if self.kind == "late" else sum(progress.intake.rejected.values())

    def rows_before(self, record: Commit) -> int:
        """How many there had been before a batch."""
        rows: int = sum(table.num_rows for table in self._tables(record))
        return self.rows_until(record) - rows

    def _tables(self, record: Commit) -> list[pa.Table]:
        return list(self.log.tables(self._addresses(record)))

    def _addresses(self, record: Commit) -> list[Address]:
        return side_addresses(record, self.kind, self.stream.name)


def log_bytes(record: Commit) -> int:
    """What a batch takes in the log."""
    emitted: Iterator[int] = (address.length for each in record.emitted.values() for address in each)
    return sum(emitted) + sum(address.length for address in record.side_outputs.values())
