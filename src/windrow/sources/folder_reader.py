"""What is to be read of a folder next: a file once for each content that it has, as soon as it can be read.

A file without a byte has no rows, and counts as read.

Texts (CSV, JSON lines) are read line by line: one that grows is read on from where its last line ended, and a last line
without an end is read when nobody has written to the file for a while. Other formats are read as a whole. A file that
cannot be read is tried again until it has been left alone for that long; then it is rejected, and looked at again when
it changes. A file that is replaced is read again as a whole; one that is written again with the same content is not.
What is remembered is in `seen`; whoever reads says what became of each read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from windrow.clock import SystemClock, monotonic
from windrow.sources.file_format import FileFormat
from windrow.sources.file_reads import FileRead, SeenFile
from windrow.sources.source_folder import SourceFile, SourceFolder, is_gzip

MOST_BYTES = 128 << 20  # that are handed out together, at least one file
READ_BYTES = 64 << 20  # of a text, at a time
SHORT_PATIENCE = 1.0  # seconds without a change after which a file is taken as it is, by a run that is to end
LONG_PATIENCE = 10.0  # the same for one that goes on: writers pause in the middle of lines
_RETRY = 0.2  # seconds until a file that could not be read is tried again
_LOOK_BACK = 1 << 16  # bytes in which the end of a line is looked for at a time
LOG = logging.getLogger("windrow")


@dataclass
class _Pending:
    """A file of which something is to be read."""

    file: SourceFile
    first: int
    since: float  # when it was first seen like this
    next_try: float = 0.0


class FolderReader:
    def __init__(self, address: str, form: FileFormat, most_files: int | None = None) -> None:
        self.place = SourceFolder(address)
        self.seen: dict[str, SeenFile] = {}
        self.replaced = 0  # files with another content than the one that was read
        self._form = form
        self._most_files = most_files
        self._pending: dict[str, _Pending] = {}
        self._handed_out: dict[str, FileRead] = {}
        self.patience = SHORT_PATIENCE
        self._closed_with: frozenset[str] | None = None
        self._clock = SystemClock()
        self.found: set[str] = set()  # all names that were there at the last look
        self._changed: dict[str, SeenFile] = {}  # entries of `seen` that have, beside those of reads

    @property
    def rejected(self) -> dict[str, str]:
        """Files that could not be read, with the reason."""
        return {name: seen.reason for name, seen in self.seen.items() if seen.reason is not None}

    @property
    def unread(self) -> int:
        """How many files there is something to read of, or will be when they have been left alone for a while."""
        return len(self._pending)

    def close(self) -> None:
        """What is there now is all that will be read."""
        self.look()
        self._closed_with = frozenset(self._pending)

    @property
    def is_exhausted(self) -> bool:
        return self._closed_with is not None and not self._pending

    def status(self) -> dict[str, Any]:
        """What is shown of the files of a stream."""
        read = sum(seen.reason is None for seen in self.seen.values())
        return {"read": read, "rejected": self.rejected, "replaced": self.replaced}

    def look(self) -> None:
        """See what is there now; an error when the folder cannot be reached."""
        only = self._closed_with
        found = self.place.files(self._form) if only is None or self._pending else []
        self.found = {file.name for file in found} or self.found
        files = {file.name: file for file in found if file.size and (only is None or file.name in only)}
        for name in self._pending.keys() - files.keys() - self._handed_out.keys():
            del self._pending[name]
        for file in files.values():
            pending = self._pending.get(file.name)
            if pending is not None and pending.file == file:
                continue
            first = self._first_unread(file)
            if first is None:
                self._pending.pop(file.name, None)
            else:
                self._pending[file.name] = _Pending(file, first, monotonic())

    def _first_unread(self, file: SourceFile) -> int | None:
        """Where to read on in a file; None when there is nothing to read."""
        seen = self.seen.get(file.name)
        if seen is None:
            return 0
        if (seen.size, seen.modified) == (file.size, file.modified):
            return None if seen.is_through else seen.read
        if seen.reason is not None:
            return 0
        if self._begins_with(file, seen):
            if file.size == seen.read:
                LOG.warning("%s was written again, and is as it was: it is not read again", self._named(file))
                self.seen[file.name] = self._changed[file.name] = replace(seen, size=file.size, modified=file.modified)
                return None
            if self._is_text(file):
                return seen.read
        self.replaced += 1
        LOG.warning("%s was replaced: it is read again", self._named(file))
        return 0

    def _begins_with(self, file: SourceFile, seen: SeenFile) -> bool:
        """Whether what was read of a file is still there; of a CSV it has to go beyond the line of names.

        One that is as long as it was is compared byte by byte, one that has grown at both ends of what was read: it
        would be read as a whole whenever a line is added.
        """
        if file.size < seen.read:
            return False
        try:
            if self.place.digest(file.name, seen.read) != seen.digest:
                return False
            is_known = seen.content is not None and file.size == seen.read
            if is_known and self.place.content(file.name, 0, seen.read, 0) != seen.content:
                return False
            return not self._form.has_names or b"\n" in self.place.read(file.name, 0, min(seen.read, _LOOK_BACK))
        except OSError:
            return False  # reading it will tell what is wrong

    def settles_in(self, seen_since: float) -> float | None:
        """Seconds until something more can be done about a file that is there and has not changed since a moment."""
        now = monotonic()
        waits = [self._wait(pending, now) for pending in self._pending.values() if pending.since <= seen_since]
        return min(waits, default=None)

    @property
    def can_read(self) -> bool:
        """Whether there is something that can be read now."""
        pending = (file for name, file in self._pending.items() if name not in self._handed_out)
        return any(self._next_read(file) is not None for file in pending)

    def next_reads(self) -> list[FileRead]:
        """What can be read now, within the limits; it counts as handed out until `done` is called for it."""
        found: list[FileRead] = []
        files, size = 0, 0
        for name in sorted(self._pending):
            if name in self._handed_out or (files and size >= MOST_BYTES):
                continue
            if self._most_files is not None and files >= self._most_files:
                break
            read = self._next_read(self._pending[name])
            if read is not None:
                files += 1
                size += read.last - read.first
                found.append(read)
        self.hand_out(found)
        return found

    def hand_out(self, reads: list[FileRead]) -> None:
        """These are being read; after a restart, by a batch that was begun before it."""
        self._handed_out |= {read.name: read for read in reads}

    def done(
        self, reads: list[FileRead], unreadable: Mapping[FileRead, str], contents: Mapping[FileRead, int | None]
    ) -> list[SeenFile]:
        """What became of reads that were handed out, with their checksums; the entries of `seen` that have changed."""
        changed, self._changed = self._changed, {}
        for read in reads:
            self._handed_out.pop(read.name, None)
            reason = unreadable.get(read)
            if reason is not None and not read.is_last_try:
                self._try_again(read)
            else:
                content = contents.get(read)
                entry = SeenFile(read.name, read.size, read.modified, read.last, read.digest, reason, content)
                self.seen[read.name] = changed[read.name] = entry
                self._go_on(read)
        return list(changed.values())

    def _try_again(self, read: FileRead) -> None:
        pending = self._pending.get(read.name)
        if pending is not None:
            pending.next_try = monotonic() + _RETRY

    def _go_on(self, read: FileRead) -> None:
        pending = self._pending.get(read.name)
        if pending is not None and (pending.file.size, pending.file.modified) == (read.size, read.modified):
            if self.seen[read.name].is_through:
                del self._pending[read.name]
            else:
                pending.first = read.last

    def retry(self) -> list[str]:
        """Have rejected files be read again; which these are."""
        names = list(self.rejected)
        for name in names:
            del self.seen[name]
        return names

    def _named(self, file: SourceFile) -> str:
        return self.place.path(file.name)

    def _is_text(self, file: SourceFile) -> bool:
        return self._form.is_lines and not is_gzip(file.name)

    def _wait(self, pending: _Pending, now: float) -> float:
        """Seconds until something can be done about a file: one that could not be read is tried again."""
        if pending.next_try > now:
            return pending.next_try - now
        return max(0.0, self._until_left_alone(pending, now))

    def _until_left_alone(self, pending: _Pending, now: float) -> float:
        """By its own time, or by ours where the two clocks differ."""
        by_its_time = self.patience - (self._clock.now() - pending.file.modified // 1_000) / 1e6
        return min(by_its_time, self.patience - (now - pending.since))

    def _next_read(self, pending: _Pending) -> FileRead | None:
        now, file, first = monotonic(), pending.file, pending.first
        if pending.next_try > now:
            return None
        is_left_alone = self._until_left_alone(pending, now) <= 0
        try:
            last = self._end_of_read(file, first, is_left_alone)
            if last == first:
                return None  # not a whole line yet
            digest = self.place.digest(file.name, last)
        except OSError:
            last, digest = file.size, 0  # reading it will tell what is wrong
        return FileRead(
            self.place.address, *file, first, last, digest, is_left_alone, self._content_before(file, first)
        )

    def _content_before(self, file: SourceFile, first: int) -> int | None:
        """The checksum of what has been read of a file that is read on."""
        seen = self.seen.get(file.name)
        return 0 if not first else seen.content if seen is not None and seen.read == first else None

    def _end_of_read(self, file: SourceFile, first: int, is_left_alone: bool) -> int:
        if not self._is_text(file):
            return file.size
        last = min(first + READ_BYTES, file.size)
        if last == file.size and is_left_alone:
            return last
        end = self._line_end(file, first, last)
        return file.size if end == first and is_left_alone else end

    def _line_end(self, file: SourceFile, first: int, last: int) -> int:
        """The end of the last whole line in a stretch; of one without any, where its first line ends, or `first`."""
        end = last
        while end > first:
            begin = max(first, end - _LOOK_BACK)
            found = self.place.read(file.name, begin, end).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
        while last < file.size:
            content = self.place.read(file.name, last, min(last + _LOOK_BACK, file.size))
            found = content.find(b"\n")
            if found >= 0:
                return last + found + 1
            last += len(content)
        return first
