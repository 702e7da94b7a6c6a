"""The names that a text meets when it is resumed: those that it has created itself, and below them the checkpoint's.

What the checkpoint has may be read and dropped, and created once more: then it is compared with what is there.
"""

from __future__ import annotations

from windrow.catalog import Catalog, Entry


class ResumedCatalog(Catalog):
    def __init__(self, below: Catalog) -> None:
        super().__init__()
        self.aggregates, self.functions = below.aggregates, below.functions
        self.source_columns = below.source_columns
        self._below = below
        self.dropped: set[str] = set()  # by the text, in lower case

    def get(self, name: str) -> Entry | None:
        own = super().get(name)
        return own if own is not None or name.lower() in self.dropped else self._below.get(name)

    def taken(self, name: str) -> Entry | None:
        """A name is free for the text unless the text itself has taken it."""
        return super().get(name)

    def names(self) -> list[str]:
        own = super().names()
        known = {name.lower() for name in own} | self.dropped
        return [*own, *(name for name in self._below.names() if name.lower() not in known)]

    def users(self, name: str) -> list[str]:
        below = (user for user in self._below.users(name) if user.lower() not in self.dropped)
        return sorted({*super().users(name), *below})

    def put(self, entry: Entry) -> None:
        self.dropped.discard(entry.name.lower())
        super().put(entry)

    def drop(self, name: str) -> None:
        if super().get(name) is not None:
            super().drop(name)
        self.dropped.add(name.lower())
