"""The rows of the files of a folder as a source of Arrow tables, for an engine that reads them itself, one by one."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from windrow.catalog import ColumnDefinition
from windrow.sources.file_format import FileFormat
from windrow.sources.file_reading import UnreadableFile, content_after, read_part, rejected_file
from windrow.sources.file_reads import FileRead
from windrow.sources.folder_reader import LONG_PATIENCE, FolderReader

NOTHING_YET = pa.table({})  # given when there is nothing to read at the moment


class FolderTables(Iterator[pa.Table]):
    """Ends with the files that are there when it is first asked, unless it `follows`."""

    def __init__(self, reader: FolderReader, form: FileFormat, columns: tuple[ColumnDefinition, ...]) -> None:
        self.reader = reader
        self.follows = False
        self._form, self._columns = form, columns
        self._is_closed = False
        self._reads: list[FileRead] = []
        self._current: Iterator[pa.Table] = iter([])

    def __next__(self) -> pa.Table:
        while True:
            for table in self._current:
                return table
            if not self._reads:
                self._look()
                self._reads = self.reader.next_reads()
            if not self._reads:
                if self.reader.is_exhausted:
                    raise StopIteration
                return NOTHING_YET
            self._current = self._tables(self._reads.pop(0))

    def _look(self) -> None:
        if self.follows:
            self.reader.patience = LONG_PATIENCE
        if self.follows or self._is_closed:
            self.reader.look()
        else:
            self.reader.close()
            self._is_closed = True

    def _tables(self, read: FileRead) -> Iterator[pa.Table]:
        """The rows of a read; of a file that cannot be read none, and when it is given up the reason."""
        unreadable, contents = {}, {}
        try:
            contents[read] = content_after(read)
            yield from read_part(read, self._form, self._columns)
        except UnreadableFile as error:
            unreadable[read] = str(error)
            if read.is_last_try:
                yield rejected_file(read, str(error))
        self.reader.done([read], unreadable, contents)
