"""Tables by kind: what is done with a node, or a window's extent, is looked up by its class.

Every class has an entry of its own, subclasses too, and one that has none is an error and never a default: who adds a
kind of node is told by a test which tables it is missing in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeAlias, TypeVar

Entry = TypeVar("Entry")
Kinds: TypeAlias = type[Any] | tuple[type[Any], ...]


class ByKind(Generic[Entry]):
    """Entries by class, for several classes in a tuple; `never` says of the others why they do not come here."""

    def __init__(self, entries: Mapping[Kinds, Entry], never: Mapping[Kinds, str] | None = None) -> None:
        self.entries = _by_class(entries)
        self.never = _by_class(never or {})
        assert not self.entries.keys() & self.never.keys(), "a class that has an entry and never comes"

    def __getitem__(self, thing: object) -> Entry:
        kind = type(thing)
        if kind not in self.entries:
            raise AssertionError(f"{kind.__name__} has no entry: {self.never.get(kind, 'nobody thought of it')}")
        return self.entries[kind]


def _by_class(entries: Mapping[Kinds, Entry]) -> dict[type[Any], Entry]:
    listed: dict[type[Any], Entry] = {}
    for kinds, entry in entries.items():
        for kind in kinds if isinstance(kinds, tuple) else (kinds,):
            assert kind not in listed, f"{kind.__name__} has two entries"
            listed[kind] = entry
    return listed
