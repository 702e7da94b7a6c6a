"""The log of a checkpoint: what queries emitted, and late and rejected rows, in the batches whose commits are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from windrow.cql import Drop, ResumeQuery
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


def statements_of(checkpoint: Checkpoint, query: str, created: int) -> list[int]:
    """The numbers of the statements that a query, by its name in lower case, ran under: created, then resumed."""
    numbers = [created]
    for number, statement in checkpoint.statements(created):
        if isinstance(statement, Drop) and (statement.name or "").lower() == query:
            break
        if isinstance(statement, ResumeQuery) and statement.query == query:
            numbers.append(number)
    return numbers


def side_addresses(record: Commit, kind: str, stream: str) -> list[Address]:
    """Where a batch has the late or the rejected rows of a stream, as its tasks had them."""
    wanted = f"{kind}/{stream.lower()}"
    return [address for name, address in record.side_outputs.items() if name.rpartition("/")[0] == wanted]


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

    def side_output(self, kind: str, stream: str, after: int = -1) -> pa.Table | None:
        """The rows of a stream that were late or rejected, as far back as commits are kept, or `after` a batch."""
        addresses = (side_addresses(record, kind, stream) for record in self._checkpoint.commits(after))
        return together([table for found in addresses for table in self.tables(found)])

    def tables(self, addresses: Sequence[Address]) -> Iterator[pa.Table]:
        """What lies there."""
        manifest = {str(place): address for place, address in enumerate(addresses)}
        for content in read_contents(self._checkpoint.folder, manifest).values():
            yield pa.ipc.open_stream(content).read_all()
