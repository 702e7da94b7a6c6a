"""Where files are: a path, in which every sign stands for itself, or an address of any file system that Arrow reaches.

This is the one definition of which files a folder has for a stream, and in what order: those with the suffix of the
format, also as `.gz`, or of a pattern that was asked for, in all folders below, in the order of their names; nothing
that begins with a dot or an underscore, which is what writers call files that are not ready.
"""

from __future__ import annotations

import zlib
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs

from windrow.errors import WindrowError
from windrow.sources.file_format import FileFormat

_AT_A_TIME = 1 << 20
_SAMPLE = 4096  # bytes at either end that tell one content from another


class SourceFile(NamedTuple):
    """A file as it was seen; `name` is relative to the folder, and empty when a file itself is the source."""

    name: str
    size: int
    modified: int  # nanoseconds


def local_path(written: str) -> str | None:
    """The absolute path of a place on this machine, without links: a path, or a `file:` address; None of others."""
    if written.startswith("file:/"):
        path = written.removeprefix("file:").removeprefix("//").removeprefix("localhost")
        return str(Path(unquote(path)).resolve())
    return None if "://" in written else str(Path(written).resolve())


class SourceFolder:
    def __init__(self, written: str) -> None:
        path = local_path(written)
        self.address = written if path is None else path
        self._is_far, self._written = path is None, written

    @cached_property
    def _opened(self) -> tuple[pa.fs.FileSystem, str]:
        if not self._is_far:
            return pa.fs.LocalFileSystem(), self.address
        found: tuple[pa.fs.FileSystem, str] = pa.fs.FileSystem.from_uri(self.address)
        return found

    def path(self, name: str) -> str:
        root = self._opened[1]
        return f"{root}/{name}" if name else root

    def check(self) -> None:
        """Refuse a place where there is nothing; an empty folder is one that files may come to."""
        try:
            system, root = self._opened
            there = system.get_file_info(root).type != pa.fs.FileType.NotFound
        except (OSError, pa.ArrowException) as error:
            raise WindrowError(f"{self._written} cannot be reached: {error}", "give a file or a folder") from None
        if not there:
            hint = "give a file, or a folder; it may be empty, files may come later"
            raise WindrowError(f"there is no file or folder {self._written}", hint)

    def files(self, form: FileFormat) -> list[SourceFile]:
        """Those of a format that are there now, in the order of their names."""
        self.check()
        system, root = self._opened
        itself = system.get_file_info(root)
        if itself.is_file:
            return [SourceFile("", itself.size, itself.mtime_ns or 0)]
        found = system.get_file_info(pa.fs.FileSelector(root, recursive=True, allow_not_found=True))
        start = len(root.rstrip("/")) + 1
        files = (SourceFile(info.path[start:], info.size, info.mtime_ns or 0) for info in found if info.is_file)
        return sorted(file for file in files if _is_read(file.name, form))

    def find(self, name: str) -> SourceFile | None:
        """A file as it is now."""
        info = self._opened[0].get_file_info(self.path(name))
        return SourceFile(name, info.size, info.mtime_ns or 0) if info.is_file else None

    def open(self, name: str) -> pa.NativeFile:
        return self._opened[0].open_input_file(self.path(name))

    def open_stream(self, name: str) -> pa.NativeFile:
        """Decompressed, if its name ends with .gz."""
        return self._opened[0].open_input_stream(self.path(name), compression="gzip" if is_gzip(name) else None)

    def read(self, name: str, first: int, last: int) -> bytes:
        """Bytes of a file from `first` up to, not including, `last`."""
        with self.open(name) as file:
            content: bytes = file.read_at(last - first, first)
        return content

    def digest(self, name: str, until: int) -> int:
        """Of the first and the last few kilobytes before `until`."""
        with self.open(name) as file:
            head = file.read_at(min(_SAMPLE, until), 0)
            tail = file.read_at(min(_SAMPLE, until), max(0, until - _SAMPLE))
        return zlib.crc32(tail, zlib.crc32(head))

    def content(self, name: str, first: int, last: int, before: int | None) -> int | None:
        """The checksum of every byte before `last`, from that of those before `first`.

        None where that is not known, or files are far away: all would be fetched once more.
        """
        if before is None or self._is_far:
            return None
        with self.open(name) as file:
            for place in range(first, last, _AT_A_TIME):
                before = zlib.crc32(file.read_at(min(_AT_A_TIME, last - place), place), before)
        return before


def is_gzip(name: str) -> bool:
    return name.lower().endswith(".gz")


def _is_read(name: str, form: FileFormat) -> bool:
    """Folders are named `key=value` by some writers, and then may begin with an underscore."""
    if any(word.startswith(".") or (word.startswith("_") and "=" not in word) for word in name.split("/")):
        return False
    return form.takes(name)
