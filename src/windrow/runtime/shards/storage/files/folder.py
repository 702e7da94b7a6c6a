"""A folder on some file system, by its place, and the few verbs that a checkpoint needs of one.

A place on this machine is a plain path, in which every character stands for itself; any other is an address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.files.arrow_files import ArrowFiles
from windrow.runtime.shards.storage.files.local_files import HIDDEN, LocalFiles, machine
from windrow.runtime.shards.storage.files.object_files import ObjectFiles, is_object_store
from windrow.sources.source_folder import local_path


def is_far(place: str) -> bool:
    return "://" in place


def place_of(written: str) -> str:
    """An absolute path, or an address as it was written; one of a local file is its path."""
    path = local_path(written)
    return written.rstrip("/") if path is None else path


class Files(Protocol):
    """What a kind of file system has to offer, below one folder of it; names have `/` between their parts."""

    is_near: bool  # on a disk of this machine, or mounted as if it were

    def write(self, name: str, content: bytes, is_synced: bool = True) -> None: ...
    def create(self, name: str, content: bytes, is_synced: bool = True) -> None: ...
    def sync(self, names: Iterable[str]) -> None: ...
    def read(self, name: str) -> bytes: ...
    def read_parts(self, name: str, spans: Iterable[tuple[int, int]]) -> list[bytes]: ...
    def exists(self, name: str) -> bool: ...
    def names(self, under: str) -> Sequence[str]: ...
    def folders(self, under: str) -> Sequence[str]: ...
    def delete(self, name: str) -> None: ...
    def identity(self, name: str) -> str: ...
    def is_open_to_others(self, name: str) -> bool: ...
    def make(self) -> None: ...


@lru_cache(maxsize=64)
def _files_at(place: str) -> Files:
    if not is_far(place):
        return LocalFiles(place)
    return ObjectFiles(place) if is_object_store(place) else ArrowFiles(place)


@contextmanager
def _writing(name: str) -> Iterator[None]:
    """A disk that is full or cannot be written to is said in words; what was there is as it was."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        hint = "make room, or make it writable, and start again with the same checkpoint: nothing is lost"
        raise CheckpointError(f"{name} of the checkpoint cannot be written: {error.strerror or error}", hint) from error


@dataclass(frozen=True)
class Folder:
    """`synced_on` is the machine on which somebody else syncs what is written, before it counts."""

    place: str
    synced_on: str = ""

    @property
    def _files(self) -> Files:
        return _files_at(self.place)

    @property
    def is_near(self) -> bool:
        """On a disk of this machine, or mounted as if it were."""
        return self._files.is_near

    def below(self, name: str) -> Folder:
        return Folder(f"{self.place}/{name}")

    def make(self) -> None:
        """Have it there, for this user alone."""
        with _writing(self.place):
            self._files.make()

    def write(self, name: str, content: bytes) -> None:
        """At once or not at all, in place of what was there."""
        with _writing(name):
            self._files.write(name, content, not self.synced_on or self.synced_on != machine())

    def write_parts(self, name: str, parts: Sequence[bytes | memoryview]) -> None:
        """The same, of a content in parts: a disk takes one after the other."""
        if isinstance(self._files, LocalFiles):
            with _writing(name):
                self._files.write_parts(name, parts, not self.synced_on or self.synced_on != machine())
        else:
            self.write(name, b"".join(parts))

    def create(self, name: str, content: bytes, is_synced: bool = True) -> None:
        """At once or not at all; `FileExistsError` if something is there."""
        with _writing(name):
            self._files.create(name, content, is_synced)

    def sync(self, names: Sequence[str]) -> None:
        """Have those of these files that are there outlive a loss of power."""
        with _writing(names[0] if names else self.place):
            self._files.sync(names)

    def synced_here(self) -> Folder:
        """For whoever writes what is synced later on, by this process."""
        return replace(self, synced_on=machine())

    def read(self, name: str) -> bytes:
        return self._files.read(name)

    def read_parts(self, name: str, spans: Iterable[tuple[int, int]]) -> list[bytes]:
        """The contents at these offsets, of these lengths."""
        return self._files.read_parts(name, spans)

    def exists(self, name: str) -> bool:
        return self._files.exists(name)

    def names(self, under: str, hidden: bool = False) -> list[str]:
        """The files directly below a folder of the folder, with or without those that are being written."""
        return sorted(name for name in self._files.names(under) if hidden or not name.endswith(HIDDEN))

    def folders(self, under: str = "") -> list[str]:
        """The folders directly below a folder of the folder."""
        return sorted(self._files.folders(under))

    def every(self, under: str = "") -> Iterator[str]:
        """All files below, by their names from here."""
        prefix = f"{under}/" if under else ""
        yield from (f"{prefix}{name}" for name in self.names(under))
        for inner in self.folders(under):
            yield from self.every(f"{prefix}{inner}")

    def delete(self, name: str) -> None:
        try:
            self._files.delete(name)
        except FileNotFoundError:
            return  # gone already: a collection that was cut off goes on

    def is_open_to_others(self, name: str) -> bool:
        """Whether another user of this machine may have written a file."""
        return self._files.is_open_to_others(name)

    def identity(self, name: str) -> str:
        """What tells a file from a copy of it, where the file system can."""
        return self._files.identity(name)
