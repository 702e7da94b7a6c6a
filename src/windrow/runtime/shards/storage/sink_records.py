"""What a checkpoint knows of sinks: how far each has come in the log, and what those that failed are to get later."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from windrow.runtime.shards.storage.bundles import Folder
from windrow.runtime.shards.storage.checkpoint import read_record, write_record


class Position(NamedTuple):
    """How far somebody has come in the log.

    `kept_until` is the last batch that is kept for him, when more than the backlog waited; `then` is the instant of the
    answer as of it. `owes` is the batch of a difference that he has not had yet.
    """

    had: int
    kept_until: int | None = None
    then: int = 0
    owes: int | None = None


class SinkRecords:
    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def positions(self) -> dict[str, Position]:
        """Of those who are fed from the log, by their keys."""
        found = read_record(self._folder, "positions") if self._folder.exists("positions") else {}
        return {key: Position(*position) for key, position in found.items()}

    def save_positions(self, positions: Mapping[str, Position]) -> None:
        write_record(self._folder, "positions", {key: tuple(position) for key, position in positions.items()})

    def write(self, name: str, content: bytes) -> None:
        """Something that a sink is to get later."""
        write_record(self._folder, f"sinks/{name}", content)

    def read(self, name: str) -> bytes:
        content: bytes = read_record(self._folder, f"sinks/{name}")
        return content

    def delete(self, name: str) -> None:
        self._folder.delete(f"sinks/{name}")

    def keep_only(self, names: Collection[str]) -> None:
        """Remove what was written for those who are not there any more."""
        for name in self._folder.names("sinks"):
            if name not in names:
                self.delete(name)
