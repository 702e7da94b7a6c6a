"""Rows that are handed over from Python: numbered files in the checkpoint, so that they can be read again.

A push has happened when its file is there. Numbers are given under a lock and have no gaps, so that a number says which
pushes came before an end. What has been read is garbage of the commit that says so.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pyarrow as pa

from windrow.errors import CheckpointError
from windrow.runtime.shards.sources.reads import Part, PushRead
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.shards.storage.codec import table_to_bytes
from windrow.runtime.shards.storage.files.file_names import file_name
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.records import RESTORE
from windrow.sources.folder_reader import MOST_BYTES


class PushedRows:
    def __init__(self, checkpoint: Checkpoint, source: str, following: int) -> None:
        """`following` is the number of the first push that has not been read."""
        self.following = following
        self._folder, self._under, self._check_owner = checkpoint.folder, _under(source), checkpoint.check_owner
        self._pushing = threading.Lock()
        self._sizes: dict[int, int] = {}
        self._end: int | None = None
        unread = [number for number in pushes(self._folder, source) if number >= following]
        if unread != list(range(following, following + len(unread))):
            raise CheckpointError(f"{self._under}/{following:012} of the checkpoint is missing", RESTORE)
        self._count = following + len(unread)

    @property
    def count(self) -> int:
        """How many times rows have been handed over."""
        return self._count

    def push(self, table: pa.Table) -> None:
        content = table_to_bytes(table)
        with self._pushing:
            self._put(f"{self._under}/{self._count:012}", content)
            self._sizes[self._count] = len(content)
            self._count += 1

    def _put(self, name: str, content: bytes) -> None:
        try:
            self._folder.create(name, content)
        except FileExistsError:  # of an engine that had lost the checkpoint, and was told so
            self._check_owner()
            self._folder.write(name, content)
        self._check_owner()

    def close(self, at: int) -> None:
        self._end = at

    def look(self) -> None:
        """Nothing comes but what is pushed."""

    @property
    def unread(self) -> int:
        return max((self._count if self._end is None else min(self._end, self._count)) - self.following, 0)

    @property
    def can_read(self) -> bool:
        return self.unread > 0

    @property
    def is_exhausted(self) -> bool:
        return self._end is not None and not self.unread

    def next_parts(self) -> list[Part]:
        found: list[Part] = []
        size = 0
        for number in range(self.following, self.following + self.unread):
            if found and size >= MOST_BYTES:
                break
            size += self._sizes.get(number, 0)
            found.append(PushRead(number))
        self.hand_out(found)
        return found

    def hand_out(self, parts: Sequence[Part]) -> None:
        for part in parts:
            assert isinstance(part, PushRead)
            self.following = max(self.following, part.number + 1)

    def done(self, parts: Sequence[Part]) -> list[str]:
        """They have been read; the files that nobody needs once that is committed."""
        numbers = [part.number for part in parts if isinstance(part, PushRead)]
        for number in numbers:
            self._sizes.pop(number, None)
        return [f"{self._under}/{number:012}" for number in numbers]


def pushed_table(folder: Folder, source: str, part: PushRead) -> pa.Table:
    """The rows of a push, for the task that reads them."""
    return pa.ipc.open_stream(folder.read(f"{_under(source)}/{part.number:012}")).read_all()


def pushes(folder: Folder, source: str) -> list[int]:
    """The numbers of those that are there."""
    return sorted(int(name) for name in folder.names(_under(source)) if name.isdecimal())


def files_pushed(folder: Folder, source: str) -> list[str]:
    """All that there is of a source, by the names of files."""
    return [f"{_under(source)}/{name}" for name in folder.names(_under(source))]


def _under(source: str) -> str:
    return f"pushed/{file_name(source)}"
