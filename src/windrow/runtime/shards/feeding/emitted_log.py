"""The log of a checkpoint: what queries emitted, and late and rejected rows, in the batches whose commits are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from windrow.plan.nodes import Node
from windrow.runtime.intake.side_output import together
from windrow.runtime.modes import Mode, emitted_schema
from windrow.runtime.shards.running_plan import emitted_name
from windrow.runtime.shards.storage.bundles import Address, read_contents
from windrow.runtime.shards.storage.checkpoint import Checkpoint, Commit


class Emitting(Protocol):
    """A query, as the log sees it; `keys` are the names that the log has for it, one after the other."""

    keys: list[str]
    plan: Node
    slide: int | None


def addresses_of(record: Commit, query: Emitting, mode: Mode) -> list[Address]:
    """Where a batch has what a query emitted in a mode."""
    return [address for key in query.keys for address in record.emitted.get(emitted_name(key, mode), ())]


class EmittedLog:
    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint

    def emitted(self, query: Emitting, mode: Mode) -> pa.Table:
        """What a query emitted in a mode, as far back as commits are kept."""
        tables = [table for record in self._checkpoint.commits() for table in self.emitted_in(record, query, mode)]
        return pa.concat_tables(tables or [emitted_schema(query.plan.schema, mode, query.slide).empty_table()])

    def emitted_in(self, record: Commit, query: Emitting, mode: Mode) -> Iterator[pa.Table]:
        """What a query emitted in one micro-batch, shard by shard."""
        return self.tables(addresses_of(record, query, mode))

    def side_output(self, kind: str, stream: str) -> pa.Table | None:
        """The rows of a stream that were late or rejected, as far back as commits are kept."""
        return together([t for record in self._checkpoint.commits() for t in self.side_output_in(record, kind, stream)])

    def side_output_in(self, record: Commit, kind: str, stream: str) -> list[pa.Table]:
        """Those of one micro-batch, as their tasks had them."""
        wanted = f"{kind}/{stream.lower()}"
        return list(self.tables([a for name, a in record.side_outputs.items() if name.rpartition("/")[0] == wanted]))

    def tables(self, addresses: Sequence[Address]) -> Iterator[pa.Table]:
        """What lies there."""
        manifest = {str(place): address for place, address in enumerate(addresses)}
        for content in read_contents(self._checkpoint.folder, manifest).values():
            yield pa.ipc.open_stream(content).read_all()
