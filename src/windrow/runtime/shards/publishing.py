"""Who gets what queries emitted in a micro-batch once it is committed: sinks that are no files, and subscribers.

A batch that was committed just before a crash does not reach them: it has happened, and is not run again. One of them
that fails keeps the batch from none of the others; the run then ends with its error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pyarrow as pa

from windrow.runtime.modes import default_mode
from windrow.runtime.shards.emitted_log import EmittedLog
from windrow.runtime.shards.query import ShardedQuery
from windrow.runtime.shards.storage.checkpoint import Commit


def publish(log: EmittedLog, record: Commit, queries: Iterable[ShardedQuery]) -> None:
    """Hand over what a committed batch emitted."""
    first: Exception | None = None
    for hand_over in _deliveries(log, record, queries):
        try:
            hand_over()
        except Exception as error:
            first = first or error
    if first is not None:
        raise first


def _deliveries(log: EmittedLog, record: Commit, queries: Iterable[ShardedQuery]) -> Iterator[Callable[[], None]]:
    """To a sink one piece a batch, to subscribers one a shard."""
    for query in queries:
        if query.sink is not None:
            sink, mode = query.sink
            if tables := list(log.emitted_in(record, query, mode)):
                yield partial(sink, pa.concat_tables(tables), record.number)
        if query.subscribers:
            for table in log.emitted_in(record, query, default_mode(query.slide)):
                yield from (partial(subscriber, table) for subscriber in list(query.subscribers))
