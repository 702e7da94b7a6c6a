"""What a checkpoint knows of sinks: how far each has come in the log, and what those that failed are to get later."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.records import checked, with_checksum


class Position(NamedTuple):
    """How far somebody has come in the log.

    `kept_until` is the last batch that is kept for it, when more than the backlog waited, or its query was set aside.
    `owes` is the batch of a difference that it has not had yet. One who gets late or rejected rows has no difference:
    `rows` is how many there had been when nothing more was kept, `missed` how many it did not get, and `since` when.
    """

    had: int
    kept_until: int | None = None
    owes: int | None = None
    rows: int = 0
    missed: int = 0
    since: int = 0

    def written(self) -> tuple[int | None, ...]:
        """Without what most have not."""
        return tuple(self) if self.rows or self.missed else tuple(self[:3])


class SinkRecords:
    """`check` makes sure that the checkpoint is still ours before anything is replaced."""

    def __init__(self, folder: Folder, check: Callable[[], None]) -> None:
        self._folder = folder
        self._check = check

    def positions(self) -> dict[str, Position]:
        """Of those who are fed from the log, by their keys."""
        found = decoded(checked(self._folder, "positions")) if self._folder.exists("positions") else {}
        return {key: Position(*position) for key, position in found.items()}

    def save_positions(self, positions: Mapping[str, Position]) -> None:
        self._write("positions", {key: position.written() for key, position in positions.items()})

    def write(self, name: str, content: object) -> None:
        """Something that a sink is to get later."""
        self._write(f"sinks/{name}", content)

    def read(self, name: str) -> Any:
        return decoded(checked(self._folder, f"sinks/{name}"))

    def _write(self, name: str, content: object) -> None:
        self._check()
        self._folder.write(name, with_checksum(encoded(content)))

    def delete(self, name: str) -> None:
        self._folder.delete(f"sinks/{name}")

    def keep_only(self, names: Collection[str]) -> None:
        """Remove what was written for those who are not there any more."""
        for name in self._folder.names("sinks"):
            if name not in names:
                self.delete(name)
