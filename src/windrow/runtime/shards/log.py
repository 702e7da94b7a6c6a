"""The log of what queries told and of rows put aside, and who hears of it: sinks that are no files, and subscribers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from windrow.runtime.modes import Mode, told_schema, usual_mode
from windrow.runtime.shards.running import log_place
from windrow.runtime.shards.storage.bundles import Address, read_contents
from windrow.runtime.shards.storage.checkpoint import Checkpoint, Commit
from windrow.runtime.spark.query import Query


class Log:
    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint

    def told(self, query: Query, mode: Mode) -> pa.Table:
        """What a query told in a mode, as far back as commits are kept."""
        tables = [table for record in self._checkpoint.commits() for table in self.told_in(record, query, mode)]
        return pa.concat_tables(tables or [told_schema(query.plan.schema, mode, query.slide).empty_table()])

    def told_in(self, record: Commit, query: Query, mode: Mode) -> Iterator[pa.Table]:
        """What a query told in one micro-batch, shard by shard."""
        kind, name = log_place(query.key, mode, query.slide)
        return self._tables(getattr(record, kind).get(name, ()))

    def put_aside(self, kind: str, stream: str) -> pa.Table | None:
        """The rows of a stream that were late or rejected."""
        prefix = f"{kind}/{stream.lower()}/"
        found = [a for record in self._checkpoint.commits() for n, a in record.aside.items() if n.startswith(prefix)]
        tables = list(self._tables(found))
        return pa.concat_tables(tables, promote_options="permissive") if tables else None

    def _tables(self, addresses: Sequence[Address]) -> Iterator[pa.Table]:
        manifest = {str(place): address for place, address in enumerate(addresses)}
        for content in read_contents(self._checkpoint.folder, manifest).values():
            yield pa.ipc.open_stream(content).read_all()


def feed_sinks(log: Log, record: Commit, queries: Iterable[Query]) -> None:
    """Give the sinks that are no files what queries told, one piece a batch."""
    for query in queries:
        if query.sink is not None:
            sink, mode = query.sink
            tables = list(log.told_in(record, query, mode))
            if tables:
                sink(pa.concat_tables(tables), record.number)


def publish(log: Log, record: Commit, queries: Iterable[Query]) -> None:
    """Give what queries told to those who want to hear of it."""
    for query in queries:
        if query.subscribers:
            for table in log.told_in(record, query, usual_mode(query.slide)):
                for subscriber in query.subscribers:
                    subscriber(table)
