"""Which files have been read: a manifest of all of them now and then, and in between what each commit has read.

Invariant: a manifest and the commits after it name every file that has been read. What is written for a file is
constant on average: a manifest is written when as many files are in commits alone as half of those that it names.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence

from windrow.runtime.shards.sources.reads import SourcePositions
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.storage.collection import RETAINED_BATCHES
from windrow.runtime.shards.storage.files.file_names import file_name
from windrow.runtime.shards.storage.records import checked, with_checksum
from windrow.sources.file_reads import SeenFile

_FEW = 256  # files that may be in commits alone, however few there are


class FileManifests:
    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._since: dict[str, int] = {}  # how many files are in commits alone, by stream

    def written(
        self,
        batch: int,
        before: Mapping[str, str],
        seen: Mapping[str, Mapping[str, SeenFile]],
        changed: Mapping[str, Sequence[SeenFile]],
        garbage: list[str],
    ) -> dict[str, str]:
        """The last manifests by stream: one of this batch, where the one before is far behind.

        That one is garbage then.
        """
        found: dict[str, str] = {}
        for stream, files in seen.items():
            since = self._since.get(stream, 1 if stream in before else 0) + len(changed.get(stream, ()))
            self._since[stream] = since
            if since and self._is_due(since, len(files), before.get(stream), batch):
                found[stream] = _name(stream, batch)
                self._checkpoint.folder.create(found[stream], with_checksum(encoded(list(files.values()))))
                if stream in before:
                    garbage.append(before[stream])
                self._since[stream] = 0
            elif stream in before:
                found[stream] = before[stream]
        return found

    def files_read(self, stream: str, positions: SourcePositions) -> Iterator[SeenFile]:
        """By the last commit; of several entries of a file the last counts."""
        written = positions.manifests.get(stream)
        if written is not None:
            yield from decoded(checked(self._checkpoint.folder, written))
            for record in self._checkpoint.commits(after=_batch(written)):
                yield from record.positions.files.get(stream, ())

    def _is_due(self, since: int, files: int, before: str | None, batch: int) -> bool:
        """Commits are kept for a while only."""
        return before is None or since > max(_FEW, files // 2) or batch - _batch(before) >= RETAINED_BATCHES // 2


def _name(stream: str, batch: int) -> str:
    """One that nobody else has, also not an engine that this one has taken over from."""
    return f"files/{batch:09}-{file_name(stream)}-{secrets.token_hex(4)}"


def _batch(name: str) -> int:
    """That has written a manifest."""
    return int(name.removeprefix("files/")[:9])
