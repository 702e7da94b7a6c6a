"""The log of statements of an engine on shards: each is written under a number, and taken by the next micro-batch.

Numbers go up from 1. Statements stay in the log for an engine that resumes from the checkpoint, but for changes of
tables, which are discarded when they have been applied. What a micro-batch asks of the log costs what is new in it, not
what it has.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import takewhile

from windrow.catalog import Catalog, Connector, Entry, QueryEntry, StreamEntry, TableEntry, ViewEntry, WindowEntry
from windrow.cql import Alter, Create, Drop, InsertAnswer, ResumeQuery, Set, Statement, TableChange, statements
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
class RetryRows:
    """Rows of a stream that were rejected in batches after `after`, up to `until`, are taken again."""

    stream: str
    after: int
    until: int


OfEngine = EndOfStream | AddOutputMode | SetAside | RetryRows  # no statements of CQL
LoggedStatement = Statement | OfEngine
LOGGED = (Create, Alter, Drop, TableChange, Set, EndOfStream, AddOutputMode, SetAside, ResumeQuery, RetryRows)


class StatementLog:
    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._statements: dict[int, LoggedStatement] = {}
        self._newest = 0
        self._changes: deque[int] = deque()  # the numbers of changes of tables that are in the log
        self._streams: dict[str, dict[int, StreamEntry]] = {}  # all that have ever been, by name and number
        self.taken = 0  # the number of the last one that has taken effect

    def recovered(self) -> Iterator[tuple[int, LoggedStatement]]:
        """What the checkpoint has, by number, in order."""
        for number, statement in self._checkpoint.statements():
            self._add(number, statement)
            yield number, statement

    @property
    def last(self) -> int:
        """The number of the newest one, which may be discarded by now."""
        return max(self.taken, self._newest)

    def record(self, statement: LoggedStatement) -> int:
        """Write a statement; its number."""
        number = self.last + 1
        self._checkpoint.log_statement(number, statement)
        self._add(number, statement)
        return number

    def _add(self, number: int, statement: LoggedStatement) -> None:
        self._statements[number], self._newest = statement, number
        if isinstance(statement, TableChange):
            self._changes.append(number)
        if isinstance(statement, Create) and isinstance(statement.entry, StreamEntry):
            self._streams.setdefault(statement.entry.name.lower(), {})[number] = statement.entry

    def _after(self, number: int) -> Iterator[tuple[int, LoggedStatement]]:
        """The statements with higher numbers, in order."""
        later = range(number + 1, self._newest + 1)
        return ((one, self._statements[one]) for one in later if one in self._statements)

    def take(self, running: Collection[str]) -> tuple[list[LoggedStatement], set[str]]:
        """Those that no micro-batch has taken yet, and the names of what is created after them.

        A stream or table that is created again under a name that is `running` waits for the next batch, and all after
        it: in this one the old one goes, with what is known of it and the state of its queries.
        """
        until = self.last_to_take(running)
        new = [statement for number, statement in self._after(self.taken) if number <= until]
        later = (statement for _, statement in self._after(until))
        self.taken = until
        return new, {statement.entry.name.lower() for statement in later if isinstance(statement, Create)}

    def after(self, number: int) -> list[LoggedStatement]:
        """Those with larger numbers, in order."""
        return [statement for place, statement in self._statements.items() if place > number]

    def last_to_take(self, running: Collection[str]) -> int:
        """So far all of them can take effect in one batch."""
        for number, statement in self._after(self.taken):
            created = statement.entry if isinstance(statement, Create) else None
            if isinstance(created, StreamEntry | TableEntry) and created.name.lower() in running:
                return number - 1
        return self.last

    def discard_applied(self, until: int) -> list[int]:
        """Forget the changes of tables up to a number, which have been applied; their numbers."""
        applied = list(takewhile(lambda number: number <= until, self._changes))
        for number in applied:
            self._changes.popleft()
            del self._statements[number]
        return applied

    def _created(self) -> list[Entry]:
        """All that was ever created, also when it has been dropped."""
        return [logged.entry for logged in self._statements.values() if isinstance(logged, Create)]

    def last_before(self, stream: str) -> int:
        """The last batch before a stream was created, perhaps with another one of its name; -1 when there is none."""
        return self._last_batch_without(max(self.streams_called(stream), default=0))

    def retried(self, stream: str) -> int:
        """The last batch of which rejected rows of a stream have been taken again, or the last one before it.

        A copy may have gone back to a batch before the last one that was to be taken again.
        """
        retries = ((n, logged) for n, logged in self._statements.items() if isinstance(logged, RetryRows))
        until = (min(one.until, self._last_batch_without(n)) for n, one in retries if one.stream == stream)
        return max(self.last_before(stream), *until, -1)

    def _last_batch_without(self, number: int) -> int:
        """The last batch that was committed before a statement took effect; -1 when the log has none."""
        batches = self._checkpoint.batches()
        place = bisect_left(batches, number, key=self._statements_of)
        return batches[place - 1] if place else -1

    def _statements_of(self, batch: int) -> int:
        """The last statement that had taken effect then; one that has just been forgotten counts as the first."""
        record = next(self._checkpoint.commits(batch - 1, batch), None)
        return 0 if record is None else record.statements

    def streams_called(self, name: str) -> Mapping[int, StreamEntry]:
        """All streams of a name that have ever been, by the numbers of the statements that created them."""
        return self._streams.get(name.lower(), {})

    def source_key(self, stream: StreamEntry, number: int) -> str:
        """What the source of a stream is called in the checkpoint: no stream before has had the name.

        No name of a stream in lower case has capital letters.
        """
        first = min(self.streams_called(stream.name))
        return stream.name.lower() if number == first else f"{stream.name.lower()} AGAIN {number}"

    def new_in(self, text: str, catalog: Catalog, has_ended: bool) -> Iterator[Statement]:
        """The statements of a text that no earlier run has recorded; they may read what is in the catalog.

        RESUME QUERY is one in every run: whether it is to be done depends on the query. So is what only asks.

        The caller carries out each of them before it asks for the next. A name that is known as something else is
        refused.
        """
        recorded = [digest for digest, number in self._checkpoint.resumed() if number <= self.last]
        names = ResumedCatalog(catalog)
        for statement in statements(text, names):
            if not isinstance(statement, Create | Alter | Drop | TableChange | InsertAnswer | Set):
                yield statement
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

    def _altered(self, name: str) -> Sequence[Entry]:
        """As what a stream that is there was created, before it was altered."""
        return list(self.streams_called(name).values())[-1:]

    def _knows(self, entry: Entry, names: ResumedCatalog) -> bool:
        """Whether there is, or was until somebody dropped it, exactly this; anything else of its name is refused."""
        name = entry.name.lower()
        if name in names.dropped:
            return False
        if (there := names.get(name)) is None:
            return entry in self._created()
        if there != entry and entry not in self._altered(name):
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
    return f": {entry.text}" if isinstance(entry, QueryEntry | WindowEntry | ViewEntry) else ""
