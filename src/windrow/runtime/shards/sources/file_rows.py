"""Rows of files: which are read when is decided by `FolderReader`; here it is asked often enough, and can be closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windrow.catalog import Connector
from windrow.clock import monotonic
from windrow.runtime.shards.sources.reads import Part
from windrow.sources.connectors import folder_reader
from windrow.sources.file_reads import FileRead, SeenFile

_BETWEEN_LOOKS = 0.1  # seconds
_SHARE = 10  # looking takes at most one part in so many of the time


class FileRows:
    def __init__(self, connector: Connector, seen: Mapping[str, SeenFile]) -> None:
        self.following = 0
        self.reader = folder_reader(connector)
        self.reader.seen |= seen
        self._next_look = 0.0

    def close(self, at: int) -> None:
        """No more than the files that are there now."""
        self.reader.close()

    def look(self) -> None:
        began = monotonic()
        self.reader.look()
        self._next_look = monotonic() + max(_BETWEEN_LOOKS, _SHARE * (monotonic() - began))

    def look_if_due(self) -> None:
        if monotonic() >= self._next_look:
            self.look()

    @property
    def unread(self) -> int:
        return self.reader.unread

    @property
    def can_read(self) -> bool:
        return self.reader.can_read

    @property
    def is_exhausted(self) -> bool:
        return self.reader.is_exhausted

    def next_parts(self) -> list[Part]:
        return list(self.reader.next_reads())

    def hand_out(self, parts: Sequence[Part]) -> None:
        self.reader.hand_out([part for part in parts if isinstance(part, FileRead)])

    def done(
        self, parts: Sequence[Part], unreadable: Mapping[Part, str], contents: Mapping[Part, int | None]
    ) -> list[SeenFile]:
        reads = [part for part in parts if isinstance(part, FileRead)]
        failed = {part: reason for part, reason in unreadable.items() if isinstance(part, FileRead)}
        return self.reader.done(reads, failed, {read: contents.get(read) for read in reads})
