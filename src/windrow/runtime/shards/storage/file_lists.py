"""Lists of files that have been read, each with the names of those before it: together they name all files, in order.

A list never changes. One of the first kind, which older engines have written, has nothing before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.records import checked, with_checksum
from windrow.sources.file_reads import SeenFile


class FileList(NamedTuple):
    """A list that another goes on from, and how many files are in it."""

    name: str
    files: int


def write_list(folder: Folder, name: str, earlier: Sequence[FileList], files: Sequence[SeenFile]) -> None:
    folder.create(name, with_checksum(encoded(([tuple(one) for one in earlier], list(files)))))


def read_list(folder: Folder, name: str) -> tuple[list[FileList], list[SeenFile]]:
    written = decoded(checked(folder, name))
    if isinstance(written, list):
        return [], written
    earlier, files = written
    return [FileList(*one) for one in earlier], files
