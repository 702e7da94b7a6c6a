"""Rows of a generator: a function of their numbers, so the number of the next one is all there is to remember."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.catalog import Connector
from windrow.runtime.shards.sources.reads import Part, RowRange
from windrow.sources.generators import generator


class GeneratorRows:
    def __init__(self, connector: Connector, following: int, rows_a_batch: int, tasks: int) -> None:
        self.following = following
        self._rows = generator(str(connector.arguments[0]), dict(connector.options)).rows
        self._rows_a_batch, self._tasks = rows_a_batch, tasks

    @property
    def is_endless(self) -> bool:
        return self._rows is None

    def close(self, at: int) -> None:
        """No more than have been made."""
        self._rows = self.following

    def look(self) -> None:
        """Nothing comes by itself."""

    @property
    def unread(self) -> int:
        return self._rows_a_batch if self._rows is None else max(self._rows - self.following, 0)

    @property
    def can_read(self) -> bool:
        return self.unread > 0

    @property
    def is_exhausted(self) -> bool:
        return not self.unread

    def next_parts(self) -> list[Part]:
        first, last = self.following, self.following + min(self.unread, self._rows_a_batch)
        size = -(-(last - first) // self._tasks) or 1
        found: list[Part] = [RowRange(begin, min(begin + size, last)) for begin in range(first, last, size)]
        self.hand_out(found)
        return found

    def hand_out(self, parts: Sequence[Part]) -> None:
        self.following = max((part.last for part in parts if isinstance(part, RowRange)), default=self.following)
