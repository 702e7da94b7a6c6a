"""What has been said to an engine on shards: written down under a number, and taken by the next micro-batch.

Numbers go up from 1. Statements are kept for an engine that takes the checkpoint up; a change of a table is over when
it has been made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windrow.catalog import Entry, QueryEntry, TableEntry, WindowEntry
from windrow.cql import Create, Drop, Set, Statement, TableChange
from windrow.errors import CheckpointError
from windrow.plan.user_aggregate import UserAggregate
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.sinks import SinkForm
from windrow.session import Session


@dataclass(frozen=True)
class EndOfStream:
    """No more rows of a stream will come once `at` of its source (files, rows of a generator) have been read."""

    stream: str
    at: int = 0


@dataclass(frozen=True)
class Tell:
    """Said by `query.dataframe`: the log shall have what a query tells in a form of its own too."""

    query: str
    form: SinkForm


Said = Statement | EndOfStream | Tell


class Statements:
    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._said: dict[int, Said] = {}
        self.taken = 0  # the number of the last one that has taken effect

    def recovered(self) -> Iterator[tuple[int, Said]]:
        """What the checkpoint has, by number, in order."""
        for number, statement in self._checkpoint.statements():
            self._said[number] = statement
            yield number, statement

    @property
    def last(self) -> int:
        """The number of the newest one; those that are over are not among the said any more."""
        return max((self.taken, *self._said))

    def say(self, statement: Said) -> int:
        """Write a statement down; its number."""
        number = self.last + 1
        self._checkpoint.log_statement(number, statement)
        self._said[number] = statement
        return number

    def take(self) -> list[Said]:
        """Those that no micro-batch has taken yet."""
        new = [statement for number, statement in self._said.items() if number > self.taken]
        self.taken = self.last
        return new

    def over(self, until: int) -> list[int]:
        """Let go of the changes of tables up to a number, which have been made; their numbers."""
        over = [n for n, one in self._said.items() if n <= until and isinstance(one, TableChange)]
        for number in over:
            del self._said[number]
        return over

    def created(self) -> list[Entry]:
        """All that was ever created, also when it has been dropped."""
        return [one.entry for one in self._said.values() if isinstance(one, Create)]

    def new_in(self, text: str, aggregates: Sequence[UserAggregate], has_ended: bool) -> Iterator[Statement]:
        """The statements of a text that a run before has not said, bound one after the other as if all were new.

        Whoever asks says each of them before the next. A name that is known as something else is refused.
        """
        said_before = [digest for digest, number in self._checkpoint.resumed() if number <= self.last]
        created = {entry.name.lower(): entry for entry in self.created()}
        for result in Session(aggregates=aggregates).carried_out(text):
            statement, digest = result.statement, _digest(result.statement)
            if not isinstance(statement, Create | Drop | TableChange | Set):
                continue
            if digest in said_before:
                said_before.remove(digest)
                continue
            if isinstance(statement, Create) and (known := created.get(statement.entry.name.lower())) is not None:
                if known == statement.entry:
                    continue
                raise CheckpointError(
                    f"the checkpoint has another {known.kind} {known.name}{_as_text(known)}",
                    "give it another name, drop the old one first, or start with an empty checkpoint",
                )
            if has_ended:
                hint = "start it with an empty checkpoint"
                raise CheckpointError("the run in this checkpoint has ended: nothing can be added to it", hint)
            self._checkpoint.log_resumed(digest, self.last + 1)
            yield statement


def tables_created(statements: Sequence[Said]) -> set[str]:
    created = (one.entry for one in statements if isinstance(one, Create))
    return {entry.name.lower() for entry in created if isinstance(entry, TableEntry)}


def changes_of_tables(statements: Sequence[Said]) -> list[TableChange]:
    """The changes of tables that are still there; one that is created again starts anew."""
    changes: list[TableChange] = []
    for statement in statements:
        if isinstance(statement, TableChange):
            changes.append(statement)
        elif isinstance(statement, Drop) and statement.name is not None:
            changes = [change for change in changes if change.table.lower() != statement.name.lower()]
    return changes


def _digest(statement: Statement) -> str:
    return hashlib.sha256(repr(statement).encode()).hexdigest()


def _as_text(entry: Entry) -> str:
    return f": {entry.text}" if isinstance(entry, QueryEntry | WindowEntry) else ""
