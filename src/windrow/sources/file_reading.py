"""Parts of files as Arrow tables: all rows of a part, or the reason why it cannot be read, never half of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa

from windrow.catalog import ColumnDefinition
from windrow.errors import WindrowError
from windrow.sources.file_format import FileFormat
from windrow.sources.file_reads import FileRead
from windrow.sources.files import FORMATS, Opening
from windrow.sources.rows import UNPARSABLE
from windrow.sources.source_folder import SourceFolder, is_gzip

_KEPT = 64 << 20  # bytes of a file of which all rows are kept until the last has been read
_LONGEST_HEADER = 1 << 20


class UnreadableFile(Exception):
    """A file cannot be read, or not as it was seen; the text says why."""


def content_after(read: FileRead) -> int | None:
    """The checksum of every byte of a file up to the end of a part, where that is known."""
    try:
        return SourceFolder(read.place).content(read.name, read.first, read.last, read.content)
    except OSError as error:
        raise UnreadableFile(str(error)) from error


def read_part(read: FileRead, form: FileFormat, columns: tuple[ColumnDefinition, ...]) -> Iterator[pa.Table]:
    """The rows of a part of a file, a chunk at a time; `UnreadableFile` before the first of them or not at all."""
    place = SourceFolder(read.place)
    try:
        opening, broken = _opening(place, read, form)
        tables = _whole(partial(FORMATS[form.name], opening, columns, form), read.last - read.first)
        _check_unchanged(place, read, form)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise UnreadableFile(str(error)) from error
    except WindrowError as error:
        raise UnreadableFile(error.message) from error
    return chain(broken, tables)


def read_whole(
    place: SourceFolder, form: FileFormat, columns: tuple[ColumnDefinition, ...]
) -> Iterator[Iterator[pa.Table]]:
    """The rows of all files that are there, file by file; one that cannot be read is a row that cannot be read."""
    for file in place.files(form):
        read = FileRead(place.address, *file, 0, file.size, 0, is_last_try=True)
        try:
            yield read_part(read, form, columns) if file.size else iter([])
        except UnreadableFile as error:
            yield iter([rejected_file(read, str(error))])


def rejected_file(read: FileRead, reason: str) -> pa.Table:
    """A file that cannot be read, as a row that cannot be read."""
    return pa.table({UNPARSABLE: [f"{read.name or Path(read.place).name}: {reason}"]})


def _whole(tables: Callable[[], Iterator[pa.Table]], size: int) -> Iterator[pa.Table]:
    """All that there is, or an error at once. What is large is read twice instead of being kept."""
    if size <= _KEPT:
        return iter(list(tables()))
    for _ in tables():
        pass
    return tables()


def _opening(place: SourceFolder, read: FileRead, form: FileFormat) -> tuple[Opening, list[pa.Table]]:
    """Of a text the lines that are to be read, under its line of names; of other files everything.

    Beside it the rest of a line whose beginning was taken for a whole one: it is to be rejected, not lost.
    """
    if is_gzip(read.name or read.place):
        return partial(place.open_stream, read.name), []
    if not form.is_lines:
        return partial(place.open, read.name), []
    content = place.read(read.name, read.first, read.last)
    if len(content) < read.last - read.first:
        raise UnreadableFile("it has become shorter")
    broken = []
    if read.first and place.read(read.name, read.first - 1, read.first) != b"\n":
        rest, _, content = content.partition(b"\n")
        broken = [rejected_file(read, f"the rest of a line: {rest.decode(errors='replace')}")] if rest.strip() else []
    if read.first and form.has_names:
        content = _header(place, read) + content
    return partial(pa.BufferReader, content), broken


def _header(place: SourceFolder, read: FileRead) -> bytes:
    """The line of names of a CSV."""
    head, end, _ = place.read(read.name, 0, min(read.first, _LONGEST_HEADER)).partition(b"\n")
    return head + end


def _check_unchanged(place: SourceFolder, read: FileRead, form: FileFormat) -> None:
    """A file that was replaced while it was read is to be read again; a text that only grew is as it was.

    Of a file in another format all is read, also what came after it was seen: that would be read once more.
    """
    found = place.find(read.name)
    if found is None:
        raise UnreadableFile("it is not there any more")
    if (found.size, found.modified) == (read.size, read.modified):
        return
    may_grow = form.is_lines and not is_gzip(read.name or read.place)
    is_as_long = found.size >= read.last if may_grow else found.size == read.size
    if not is_as_long or place.digest(read.name, read.last) != read.digest:
        raise UnreadableFile("it was changed while it was read")
