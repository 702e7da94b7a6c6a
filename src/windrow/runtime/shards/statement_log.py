"""The log of statements of an engine on shards: each is written under a number, and taken by the next micro-batch.

Numbers go up from 1. Statements stay in the log for an engine that resumes from the checkpoint, but for changes of
tables, which are discarded when they have been applied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from windrow.catalog import Catalog, Connector, Entry, QueryEntry, StreamEntry, TableEntry, WindowEntry
from windrow.cql import Create, Drop, Set, Statement, TableChange, statements
from windrow.errors import CheckpointError
from windrow.runtime.outputs.sinks import SinkForm
from windrow.runtime.shards.resumed_catalog import ResumedCatalog
from windrow.runtime.shards.storage.checkpoint import Checkpoint


@dataclass(frozen=True)
class EndOfStream:
    """No more rows of a stream will come once `at` of its source (files, rows of a generator) have been read."""

    stream: str
    at: int = 0


@dataclass(frozen=True)
class AddOutputMode:
    """Asked for by `query.dataframe`: the log shall have what a query emits in one more form."""

    query: str
    form: SinkForm


@dataclass(frozen=True)
class SetAside:
    """A query above an operator that has raised: nothing is computed for it until it is resumed."""

    query: str
    message: str
    since: int  # by the clock
    batch: int  # the first without it


@dataclass(frozen=True)
class ResumeQuery:
    """A query that was set aside starts anew."""

    query: str


OfEngine = EndOfStream | AddOutputMode | SetAside | ResumeQuery  # no statements of CQL
LoggedStatement = Statement | OfEngine
LOGGED = (Create, Drop, TableChange, Set, EndOfStream, AddOutputMode, SetAside, ResumeQuery)


class StatementLog:
    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._statements: dict[int, LoggedStatement] = {}
        self.taken = 0  # the number of the last one that has taken effect

    def recovered(self) -> Iterator[tuple[int, LoggedStatement]]:
        """What the checkpoint has, by number, in order."""
        for number, statement in self._checkpoint.statements():
            self._statements[number] = statement
            yield number, statement

    @property
    def last(self) -> int:
        """The number of the newest one; discarded ones are not among the statements any more."""
        return max((self.taken, *self._statements))

    def record(self, statement: LoggedStatement) -> int:
        """Write a statement; its number."""
        number = self.last + 1
        self._checkpoint.log_statement(number, statement)
        self._statements[number] = statement
        return number

    def take(self) -> list[LoggedStatement]:
        """Those that no micro-batch has taken yet."""
        new = [statement for number, statement in self._statements.items() if number > self.taken]
        self.taken = self.last
        return new

    def discard_applied(self, until: int) -> list[int]:
        """Forget the changes of tables up to a number, which have been applied; their numbers."""
        applied = [n for n, logged in self._statements.items() if n <= until and isinstance(logged, TableChange)]
        for number in applied:
            del self._statements[number]
        return applied

    def _created(self) -> list[Entry]:
        """All that was ever created, also when it has been dropped."""
        return [logged.entry for logged in self._statements.values() if isinstance(logged, Create)]

    def has_created(self, stream: StreamEntry) -> bool:
        """Whether there has been a stream of that name."""
        name = stream.name.lower()
        return any(isinstance(entry, StreamEntry) and entry.name.lower() == name for entry in self._created())

    def new_in(self, text: str, catalog: Catalog, has_ended: bool) -> Iterator[Statement]:
        """The statements of a text that no earlier run has recorded; they may read what is in the catalog.

        The caller carries out each of them before it asks for the next. A name that is known as something else is
        refused.
        """
        recorded = [digest for digest, number in self._checkpoint.resumed() if number <= self.last]
        names = ResumedCatalog(catalog)
        for statement in statements(text, names):
            if not isinstance(statement, Create | Drop | TableChange | Set):
                continue
            digest, is_known = _digest(statement), isinstance(statement, Create) and self._knows(statement.entry, names)
            if isinstance(statement, Create):
                names.put(statement.entry)
            elif isinstance(statement, Drop) and statement.name is not None:
                names.drop(statement.name)
            if digest in recorded:
                recorded.remove(digest)
            elif not is_known:
                if has_ended:
                    hint = "start it with an empty checkpoint"
                    raise CheckpointError("the run in this checkpoint has ended: nothing can be added to it", hint)
                self._checkpoint.log_resumed(digest, self.last + 1)
                yield statement

    def _knows(self, entry: Entry, names: ResumedCatalog) -> bool:
        """Whether there is, or was until somebody dropped it, exactly this; anything else of its name is refused."""
        name = entry.name.lower()
        if name in names.dropped:
            return False
        if (there := names.get(name)) is None:
            return entry in self._created()
        if there != entry:
            raise CheckpointError(
                f"the checkpoint has another {there.kind} {there.name}{_as_text(there)}",
                "give it another name, drop the old one first, or start with an empty checkpoint",
            )
        return True


def tables_created(statements: Sequence[LoggedStatement]) -> set[str]:
    created = (statement.entry for statement in statements if isinstance(statement, Create))
    return {entry.name.lower() for entry in created if isinstance(entry, TableEntry)}


def changes_of_tables(statements: Sequence[LoggedStatement]) -> list[TableChange]:
    """The changes of tables that are still there; one that is created again starts anew."""
    changes: list[TableChange] = []
    for statement in statements:
        if isinstance(statement, TableChange):
            changes.append(statement)
        elif isinstance(statement, Drop) and statement.name is not None:
            changes = [change for change in changes if change.table.lower() != statement.name.lower()]
    return changes


def _digest(statement: Statement) -> str:
    """Of all that it says, also of what is not shown of its connectors."""
    entry = statement.entry if isinstance(statement, Create) else None
    parts = () if entry is None else (getattr(entry, part.name) for part in fields(entry))
    hidden = [(part.arguments, part.options) for part in parts if isinstance(part, Connector)]
    return hashlib.sha256(repr((statement, hidden)).encode()).hexdigest()


def _as_text(entry: Entry) -> str:
    return f": {entry.text}" if isinstance(entry, QueryEntry | WindowEntry) else ""
