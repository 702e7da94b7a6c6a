"""The tables of the local engine, by names in lower case; changes take effect with the next step."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

from windrow.batch import Batch, Dictionary, Segment
from windrow.catalog import TableEntry
from windrow.cql import TableChange
from windrow.physical.physical_node import PhysicalNode
from windrow.plan.nodes import Table
from windrow.runtime.progress import Progress
from windrow.runtime.readers import Reader
from windrow.runtime.tables import TableStore, slowest_reader, table_rows
from windrow.sources.connectors import check_columns, source_of
from windrow.units import BEGINNING


class LocalTables:
    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._stores: dict[str, TableStore] = {}
        self._changes: list[TableChange] = []

    def __iter__(self) -> Iterator[str]:
        return iter(self._stores)

    def open(self, entry: TableEntry) -> None:
        if entry.connector is not None:
            check_columns(entry.connector, entry.columns)
        store = self._stores[entry.name.lower()] = TableStore(entry, self._dictionary)
        if entry.connector is not None:
            store.load(source_of(entry.connector, entry.columns), BEGINNING)

    def remove(self, name: str) -> None:
        """If there is one of this name."""
        self._stores.pop(name, None)
        self._changes = [change for change in self._changes if change.table.lower() != name]

    def change(self, change: TableChange) -> None:
        self._changes.append(change)

    def take_effect(self, progress: Progress) -> None:
        """What has been stated takes effect, at the times that progress has for it."""
        for change in self._changes:
            self._stores[change.table.lower()].apply(change, progress.tables[change.table.lower()])
        self._changes.clear()

    def present(self, name: str, progress: Progress, readers: Collection[Reader]) -> pa.Table:
        """The rows of a table, with what has been stated and waits for the next step."""
        waiting = [change for change in self._changes if change.table.lower() == name]
        return self._stores[name].present(waiting, progress.with_tables([name], readers).tables[name])

    def rows(self, source: PhysicalNode, segment: Segment | None) -> Batch:
        """What a source that is fed from a table gives in a segment."""
        assert isinstance(source.plan, Table) and source.source is not None, source
        store = self._stores[source.plan.name.lower()]
        return store.contents().slice(0, 0) if segment is None else table_rows(store, source.source, segment)

    def forget(self, readers: Collection[Reader], progress: Progress) -> None:
        """What everybody has seen who reads a table."""
        for name, store in self._stores.items():
            store.forget(slowest_reader(name, readers, progress))

    def rejected(self, name: str) -> pa.Table | None:
        """Rows of a table's source that could not be taken."""
        return self._stores[name].rejected.table()

    def status(self) -> dict[str, Any]:
        return {
            store.entry.name: {"rows": len(store.contents()), "rejected": store.reasons()}
            for store in self._stores.values()
        }
