"""Rows that are handed over from Python: files beside the checkpoint, so that they can be read again."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from windrow.clock import SystemClock
from windrow.runtime.shards.storage.files.file_names import file_name
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.tasks import messages


class PushedRows:
    def __init__(self, checkpoint: str) -> None:
        self._root = Path(checkpoint) / "pushed"
        self._clock = SystemClock()
        self._last = 0

    def folder(self, stream: str) -> Path:
        return self._root / file_name(stream.lower())

    def count(self, stream: str) -> int:
        """How many times rows of a stream were handed over."""
        return sum(1 for _ in self.folder(stream).glob("*.arrow"))

    def push(self, stream: str, table: pa.Table) -> None:
        """Spark reads files in the order of their times, which are milliseconds."""
        folder = self.folder(stream)
        latest = max((int(path.stem) for path in folder.glob("*.arrow")), default=self._last)
        self._last = max(self._clock.now() // 1_000, self._last + 1, latest + 1)
        name = f"{self._last:015}.arrow"
        Folder(str(folder)).write(name, messages.table_to_bytes(table))
        os.utime(folder / name, ns=(self._last * 1_000_000,) * 2)
