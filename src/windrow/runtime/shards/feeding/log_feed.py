"""A feed from the log: a receiver gets what committed batches have for it, in order, from a position of its own on.

Where it is in the log is written after a batch was handed over, so that after a crash it may get the last one again:
at least once. Files are named by their batch, so that they are there once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from windrow.catalog import Connector, StreamEntry
from windrow.clock import Clock
from windrow.runtime.intake.side_output import together
from windrow.runtime.modes import default_mode
from windrow.runtime.outputs.feed import MOST_TRIES, Feed, Receiver
from windrow.runtime.outputs.side_sinks import SIDE_ROWS
from windrow.runtime.outputs.sink_folders import FILES
from windrow.runtime.outputs.sinks import Sink, SinkForm, sink_by_batch, write_file
from windrow.runtime.query import Subscriber
from windrow.runtime.shards.feeding.emitted_log import EmittedLog, addresses_of
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.shards.storage.bundles import writing_shard
from windrow.runtime.shards.storage.checkpoint import Commit
from windrow.runtime.shards.storage.sink_records import Position
from windrow.runtime.shards.tasks.shard_sinks import file_name

HandOver = Callable[[], object]
Pieces = Callable[[Commit], HandOver | None]


@dataclass
class LogFeed:
    """`pieces` gives what a batch has for the receiver, if anything: called, it hands it over."""

    key: str
    feed: Feed
    position: Position
    pieces: Pieces
    sink: Sink | None = None  # what a difference is given to; None where there is none
    form: SinkForm | None = None
    query: ShardedQuery | None = None
    is_durable: bool = True
    folder: str | None = None  # in which shards write files for it
    waiting: dict[int, int] = field(default_factory=dict)  # bytes of the log that are kept for it, by batch

    def needs(self, batch: int) -> bool:
        """Whether the log has to keep a batch for it."""
        until = self.position.kept_until
        return not self.feed.is_aside and self.position.had < batch and (until is None or batch <= until)


def query_pieces(log: EmittedLog, query: ShardedQuery, form: SinkForm, sink: Sink) -> Pieces:
    """One piece a batch, of all shards."""

    def pieces(record: Commit) -> HandOver | None:
        tables = list(log.emitted_in(record, query, form.mode))
        return partial(sink, pa.concat_tables(tables), record.number) if tables else None

    return pieces


def subscriber_feed(log: EmittedLog, query: ShardedQuery, subscriber: Subscriber, clock: Clock, last: int) -> LogFeed:
    """Only what comes after the last batch; it is forgotten with the process."""
    receiver = Receiver("subscriber", query.name, most_tries=MOST_TRIES)
    form, sink = SinkForm(default_mode(query.slide)), _without_number(subscriber)
    pieces, key = query_pieces(log, query, form, sink), f"subscriber/{uuid.uuid4().hex}"
    return LogFeed(key, Feed(receiver, clock), Position(last), pieces, sink, form, query, is_durable=False)


def _without_number(subscriber: Subscriber) -> Sink:
    return lambda table, number: subscriber(table)


def file_pieces(log: EmittedLog, query: ShardedQuery, form: SinkForm, connector: Connector) -> Pieces:
    """Files that shards could not write, under the same names."""

    def written(record: Commit) -> None:
        for address in addresses_of(record, query, form.mode):
            name = file_name(connector, record.number, writing_shard(address.bundle))
            for table in log.tables([address]):
                write_file(table, str(connector.arguments[0]), name, connector.name)

    return lambda record: partial(written, record) if {*query.keys} & {*record.unwritten} else None


def difference_sink(connector: Connector, name: str) -> Sink:
    """Where the difference to the present answer goes: a file beside those of its batch."""
    if connector.name not in FILES:
        return sink_by_batch(connector, name)
    place, form = str(connector.arguments[0]), connector.name
    return lambda table, number: write_file(table, place, f"part-{number:09}-difference.{form}", form)


def side_pieces(log: EmittedLog, stream: StreamEntry, kind: str, sink: Sink) -> Pieces:
    """Late or rejected rows of a stream."""

    def pieces(record: Commit) -> HandOver | None:
        rows = together(log.side_output_in(record, kind, stream.name))
        return None if rows is None else partial(sink, SIDE_ROWS[kind](rows, stream), record.number)

    return pieces


def log_bytes(record: Commit) -> int:
    """What a batch takes in the log."""
    emitted: Iterator[int] = (address.length for each in record.emitted.values() for address in each)
    return sum(emitted) + sum(address.length for address in record.side_outputs.values())
