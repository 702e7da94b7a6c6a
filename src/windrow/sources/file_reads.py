"""What is read of a file at a time, and what is remembered of files that have been read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileRead:
    """Bytes [first, last) of a file as it was seen: whole lines of a text, of any other format all of it.

    `digest` is of both ends of all before `last`, and tells at once whether a file may still be the same. `content` is
    the checksum of every byte before `first`, if that is known. When the file cannot be read it will be tried again,
    unless this is the last try: nobody has written to it for a while.
    """

    place: str
    name: str
    size: int
    modified: int
    first: int
    last: int
    digest: int
    is_last_try: bool = False
    content: int | None = None


@dataclass(frozen=True)
class SeenFile:
    """A file as it was when `read` of its bytes had been read, or when it was rejected for a reason.

    `content` is the checksum of every byte that was read, where it is known; `gone` is when it was first missed.
    """

    name: str
    size: int
    modified: int
    read: int
    digest: int
    reason: str | None = None
    content: int | None = None
    gone: int | None = None

    @property
    def is_through(self) -> bool:
        return self.reason is not None or self.read >= self.size
