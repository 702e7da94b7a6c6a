"""Rejected rows that are to be taken again: they lie in the log, and the batch that takes them has them as reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from windrow.runtime.intake.side_output import triable
from windrow.runtime.shards.feeding.emitted_log import side_addresses
from windrow.runtime.shards.sources.reads import Read, RejectedRead
from windrow.runtime.shards.statement_log import LoggedStatement, RetryRows
from windrow.runtime.shards.storage import collection
from windrow.runtime.shards.storage.bundles import Address, read_contents
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.shards.storage.files.folder import Folder


def rejected_reads(checkpoint: Checkpoint, statements: Iterable[LoggedStatement]) -> tuple[Read, ...]:
    """What a batch reads that takes some statements. No source has a name like theirs, none has to do with them."""
    return tuple(
        Read(again.stream, RejectedRead(address), f"{again.stream} REJECTED")
        for again in statements
        if isinstance(again, RetryRows)
        for address in _addresses(checkpoint, again)
    )


def rows_to_retry(checkpoint: Checkpoint, again: RetryRows) -> int:
    """How many there are."""
    tables = (rejected_table(checkpoint.folder, RejectedRead(address)) for address in _addresses(checkpoint, again))
    return sum(table.num_rows for table in tables)


def rejected_table(folder: Folder, part: RejectedRead) -> pa.Table:
    """The rows as they came, for the task that takes them."""
    (content,) = read_contents(folder, {"": part.address}).values()
    return triable(pa.ipc.open_stream(content).read_all())


def _addresses(checkpoint: Checkpoint, again: RetryRows) -> Iterator[Address]:
    """Of batches that a restart does not forget before the batch has run that reads them."""
    forgotten = max(checkpoint.batches(), default=0) - collection.RETAINED_BATCHES
    for record in checkpoint.commits(max(again.after, forgotten), again.until):
        yield from side_addresses(record, "rejected", again.stream)
