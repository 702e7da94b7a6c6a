"""Files in an object store: a put is there as a whole or not at all, is durable, and can be made to never replace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES = frozenset(("s3", "s3a", "gs", "gcs", "az", "adl", "azure", "abfs", "abfss"))


def is_object_store(place: str) -> bool:
    return urlsplit(place).scheme in SCHEMES


def store_at(place: str) -> ObjectStore:
    """The part of a store below an address; credentials are those of the environment."""
    from obstore.store import from_url  # only those who need it pay for it

    return from_url(place)


class ObjectFiles:
    is_near = False

    def __init__(self, place: str) -> None:
        self._store = store_at(place)

    def write(self, name: str, content: bytes, is_synced: bool = True) -> None:
        self._store.put(name, content)

    def create(self, name: str, content: bytes, is_synced: bool = True) -> None:
        from obstore.exceptions import AlreadyExistsError

        try:
            self._store.put(name, content, mode="create")
        except AlreadyExistsError:
            raise FileExistsError(f"{name} is there already") from None

    def sync(self, names: Iterable[str]) -> None:
        """What is written is durable."""

    def read(self, name: str) -> bytes:
        return bytes(self._store.get(name).bytes())

    def read_parts(self, name: str, spans: Iterable[tuple[int, int]]) -> list[bytes]:
        offsets, lengths = zip(*spans, strict=True)
        return [bytes(part) for part in self._store.get_ranges(name, starts=offsets, lengths=lengths)]

    def exists(self, name: str) -> bool:
        try:
            self._store.head(name)
        except FileNotFoundError:
            return False
        return True

    def names(self, under: str) -> Sequence[str]:
        found = self._store.list_with_delimiter(under)["objects"]
        return [one["path"].rpartition("/")[2] for one in found]

    def folders(self, under: str) -> Sequence[str]:
        found = self._store.list_with_delimiter(under or None)["common_prefixes"]
        return [one.rstrip("/").rpartition("/")[2] for one in found]

    def delete(self, name: str) -> None:
        self._store.delete(name)

    def identity(self, name: str) -> str:
        """An object does not say whether it is a copy."""
        return ""

    def is_open_to_others(self, name: str) -> bool:
        """Who may write to a store is for the store to say."""
        return False

    def make(self) -> None:
        """There are no folders."""
