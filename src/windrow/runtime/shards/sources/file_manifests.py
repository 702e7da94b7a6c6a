"""Which files have been read: lists of them, and in commits what was read since the last list was written.

Invariant: the last list, those before it and the commits after it name every file that has been read; of several
entries of a file the last counts. A list has what came since the one before. It takes along those before it that are
not much larger, so there are few, and a file is written a logarithmic number of times however long a run goes on: no
batch is the dearer for the number of files that were ever read. Files that are gone from their folder for `GONE` are
left out when all lists become one.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from windrow.runtime.shards.sources.file_rows import FileRows
from windrow.runtime.shards.sources.reads import SourcePositions
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.shards.storage.collection import RETAINED_BATCHES
from windrow.runtime.shards.storage.file_lists import FileList, read_list, write_list
from windrow.runtime.shards.storage.files.file_names import file_name
from windrow.sources.file_reads import SeenFile
from windrow.units import DAY

GONE = 7 * DAY
_FEW = 256  # files that may be in commits alone


class FileManifests:
    """By the names of sources in the checkpoint."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._since: dict[str, dict[str, SeenFile]] = {}  # what is in commits alone
        self._lists: dict[str, list[FileList]] = {}

    def files_read(self, source: str, positions: SourcePositions) -> dict[str, SeenFile]:
        """By the last commit."""
        name = positions.manifests.get(source)
        self._since[source], self._lists[source] = {}, []
        if name is None:
            return {}
        folder, found = self._checkpoint.folder, list[SeenFile]()
        earlier, newest = read_list(folder, name)
        for one in earlier:
            found += read_list(folder, one.name)[1]
        self._lists[source] = [*earlier, FileList(name, len(newest))]
        for record in self._checkpoint.commits(after=_batch(name)):
            self._since[source] |= {file.name: file for file in record.positions.files.get(source, ())}
        return {file.name: file for file in (*found, *newest)} | self._since[source]

    def written(
        self,
        batch: int,
        before: Mapping[str, str],
        rows: Mapping[str, FileRows],
        changed: Mapping[str, Sequence[SeenFile]],
        garbage: list[str],
    ) -> dict[str, str]:
        """The last lists: one of this batch, where enough has come since the one before."""
        for source in before.keys() - rows.keys():
            garbage += (one.name for one in self._lists.pop(source, [FileList(before[source], 0)]))
        for source, of in rows.items():
            since = self._since.setdefault(source, {})
            since |= {file.name: file for file in changed.get(source, ())}
            lists = self._lists.setdefault(source, [])
            if since and (not lists or self._is_due(len(since), batch - _batch(lists[-1].name))):
                self._write(source, of, batch, garbage)
        return {source: self._lists[source][-1].name for source in rows if self._lists[source]}

    def _is_due(self, files: int, batches: int) -> bool:
        """Commits are kept for a while only."""
        return files > _FEW or batches >= RETAINED_BATCHES // 2

    def _write(self, source: str, rows: FileRows, batch: int, garbage: list[str]) -> None:
        """Nothing is different here until the list is written: the batch may be tried again."""
        folder, lists, files = self._checkpoint.folder, list(self._lists[source]), self._since[source]
        taken_along: list[str] = []
        while lists and lists[-1].files <= 2 * len(files):
            last = lists.pop()
            taken_along.append(last.name)
            if lists:
                files = {file.name: file for file in read_list(folder, last.name)[1]} | files
        if not lists:
            files = _without_gone(rows.reader.seen, rows.reader.found, self._checkpoint.clock.now())
        name = f"files/{batch:09}-{file_name(source)}-{secrets.token_hex(4)}"  # nobody else has it, in any engine
        write_list(folder, name, lists, list(files.values()))
        if not lists:
            rows.reader.seen = dict(files)
        self._lists[source], self._since[source] = [*lists, FileList(name, len(files))], {}
        garbage += taken_along


def _without_gone(seen: Mapping[str, SeenFile], found: set[str], now: int) -> dict[str, SeenFile]:
    """All that was read but what has been gone for long: a folder that is not mounted is empty for a while."""
    marked = {name: replace(file, gone=_gone(file, name in found, now)) for name, file in seen.items()}
    return {name: file for name, file in marked.items() if file.gone is None or now - file.gone < GONE}


def _gone(file: SeenFile, is_there: bool, now: int) -> int | None:
    return None if is_there else now if file.gone is None else file.gone


def _batch(name: str) -> int:
    """That has written a manifest."""
    return int(name.removeprefix("files/")[:9])
