"""The catalog: names, in one name space and in any case, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeVar

from windrow.catalog.codec import decode, encode
from windrow.catalog.entries import (
    ColumnDefinition,
    Connector,
    Entry,
    QueryEntry,
    StreamEntry,
    TableEntry,
    ViewEntry,
    WindowEntry,
)
from windrow.catalog.journal import Journal, Record
from windrow.catalog.settings import SETTINGS
from windrow.catalog.statistics import MeasuredStatistics
from windrow.errors import CatalogError, WindrowError
from windrow.plan.user_aggregate import UserAggregate, UserFunction

Kind = TypeVar("Kind", StreamEntry, TableEntry, WindowEntry, ViewEntry, QueryEntry)
SourceColumns = Callable[[Connector], tuple[ColumnDefinition, ...]]
_COMPACT_ABOVE = 1_000  # records; below that a rewrite saves nothing


def _not_known(connector: Connector) -> tuple[ColumnDefinition, ...]:
    raise WindrowError(f"the columns of {connector.name} cannot be looked up here", "write (ts TIMESTAMP, ...)")


class Catalog:
    """In memory, and in a folder when one is given; changes are safe there once `sync` has returned.

    `source_columns` gives the columns that the rows of a source have, for declarations that name none.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        self._entries: dict[str, Entry] = {}
        self._users: dict[str, set[str]] = {}  # a name -> the windows and queries that read it
        self._settings = {name: setting.default for name, setting in SETTINGS.items()}
        self.aggregates: dict[str, UserAggregate] = {}  # they live in the process, not in the folder
        self.functions: dict[str, UserFunction] = {}
        self.statistics = MeasuredStatistics()
        self.source_columns: SourceColumns = _not_known
        self._journal = None if folder is None else Journal(Path(folder))
        if self._journal is not None:
            self._replay(self._journal.records)

    def get(self, name: str) -> Entry | None:
        return self._entries.get(name.lower())

    def taken(self, name: str) -> Entry | None:
        """What has a name that something new is to have."""
        return self.get(name)

    def stream(self, name: str) -> StreamEntry:
        """The stream of that name; whatever else has it is refused."""
        entry = self.get(name)
        if not isinstance(entry, StreamEntry):
            names = ", ".join(stream.name for stream in self.entries(StreamEntry))
            raise WindrowError(f"there is no stream {name}", f"streams here: {names or 'none'}")
        return entry

    def names(self) -> list[str]:
        return [entry.name for entry in self._entries.values()]

    def everything(self) -> list[Entry]:
        """All entries, in the order they were created."""
        return list(self._entries.values())

    def entries(self, kind: type[Kind]) -> list[Kind]:
        """All of a kind, in the order they were created."""
        return [entry for entry in self._entries.values() if isinstance(entry, kind)]

    def users(self, name: str) -> list[str]:
        """The windows and queries that read this."""
        return sorted(self._users.get(name.lower(), ()))

    def put(self, entry: Entry) -> None:
        """Add an entry, or replace the one of that name."""
        self._put(entry)
        self._write({"put": encode(entry)})

    def set_plan(self, entry: WindowEntry | ViewEntry | QueryEntry) -> None:
        """Keep the plan of an entry that came from the folder without one."""
        self._entries[entry.name.lower()] = entry

    def drop(self, name: str) -> None:
        self._drop(name)
        self._write({"drop": name})

    def setting(self, name: str) -> str:
        return self._settings[name]

    @property
    def synopsis_memory(self) -> float:
        """In bytes."""
        return SETTINGS["synopsis_memory"].amount(self._settings["synopsis_memory"])

    @property
    def sink_backlog(self) -> float:
        """In bytes."""
        return SETTINGS["sink_backlog"].amount(self._settings["sink_backlog"])

    @property
    def waiting_limit(self) -> float:
        """In rows."""
        return SETTINGS["waiting_limit"].amount(self._settings["waiting_limit"])

    def set(self, name: str, value: str) -> None:
        self._settings[name] = value
        self._write({"set": [name, value]})

    def record_statistics(
        self, source: str, rate: float | None = None, distinct: dict[str, float] | None = None
    ) -> None:
        """Keep what was measured of a stream or table, for the planner."""
        self.statistics.record(source, rate, distinct or {})
        self._write({"statistics": [source, rate, distinct or {}]})

    def sync(self) -> None:
        """Make every change so far safe against a crash."""
        if self._journal is None:
            return
        live = 2 * len(self._entries) + len(SETTINGS)
        if len(self._journal.records) > max(_COMPACT_ABOVE, 2 * live):
            self._journal.rewrite(self._snapshot())
        else:
            self._journal.sync()

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def _put(self, entry: Entry) -> None:
        self._entries[entry.name.lower()] = entry
        for used in getattr(entry, "uses", ()):
            self._users.setdefault(used.lower(), set()).add(entry.name)
        if isinstance(entry, StreamEntry) and entry.connector is not None:
            rate = entry.connector.option("rate")
            if isinstance(rate, int | float) and not isinstance(rate, bool):
                self.statistics.record(entry.name, float(rate), {})

    def _drop(self, name: str) -> None:
        entry = self._entries.pop(name.lower())
        self.statistics.forget(name)
        for used in getattr(entry, "uses", ()):
            self._users[used.lower()].discard(entry.name)

    def _write(self, record: Record) -> None:
        if self._journal is not None:
            self._journal.append(record)

    def _replay(self, records: list[Record]) -> None:
        try:
            for record in records:
                self._apply(record)
        except (KeyError, TypeError, ValueError) as error:
            self.close()
            hint = "it was written by another version of Windrow"
            raise CatalogError(f"a record of the catalog cannot be understood: {error}", hint) from None

    def _apply(self, record: Record) -> None:
        if "put" in record:
            self._put(decode(record["put"]))
        elif "drop" in record:
            self._drop(record["drop"])
        elif "set" in record:
            name, value = record["set"]
            self._settings[name] = value
        elif "statistics" in record:
            self.statistics.record(*record["statistics"])
        elif "version" not in record:
            raise ValueError(f"nothing is known of {', '.join(record)}")

    def _snapshot(self) -> list[Record]:
        puts = [{"put": encode(entry)} for entry in self._entries.values()]
        measured = [{"statistics": [name, *self.statistics.of(name)]} for name in self.names()]
        return [*puts, *measured, *({"set": [name, value]} for name, value in self._settings.items())]


def free_name(catalog: Catalog, like: str) -> str:
    """The first of `query1`, `query2` ... that nothing has."""
    return next(free for number in count(1) if catalog.get(free := f"{like}{number}") is None)
