"""What a micro-batch reads, and how far sources have been read: both are written, so that a replay reads the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.bundles import Address
from windrow.sources.file_reads import FileRead, SeenFile


@dataclass(frozen=True)
class RowRange:
    """Rows of a generator by their numbers: [first, last)."""

    first: int
    last: int


@dataclass(frozen=True)
class PushRead:
    """The rows that were pushed under a number."""

    number: int


@dataclass(frozen=True)
class RejectedRead:
    """Rows that a batch has rejected, where they lie in the log."""

    address: Address


Part = FileRead | RowRange | PushRead | RejectedRead


@dataclass(frozen=True)
class Read:
    """A part of the source of a stream, for one task; `source` is its name in the checkpoint, if not the stream's."""

    stream: str
    part: Part
    source: str = ""

    @property
    def key(self) -> str:
        return self.source or self.stream


@dataclass(frozen=True)
class SourcePositions:
    """How far sources have been read once a batch has happened, by their names in the checkpoint.

    That is the name of the stream in lower case; a stream that was dropped and created again has another.
    """

    following: Mapping[str, int] = field(default_factory=dict)  # the number of the next row, or of the next push
    delivered: Mapping[str, int] = field(default_factory=dict)  # by stream: the last micro-batch of the host's
    manifests: Mapping[str, str] = field(default_factory=dict)  # the last manifests of files read
    files: Mapping[str, Sequence[SeenFile]] = field(default_factory=dict)  # read by this very batch

    def last_delivery(self, stream: str) -> int:
        """The number of the last micro-batch of a stream that the host brings; -1 when there was none."""
        return self.delivered.get(stream, -1)

    def is_expected(self, stream: str, number: int) -> bool:
        """Whether a micro-batch of the host's is the next of its stream; False when it has happened already."""
        last = self.last_delivery(stream)
        if number in (last, last + 1):
            return number > last
        again = f"is about to read micro-batch {number} of {stream} again, but {last} has been committed"
        ahead = f"goes on with micro-batch {number} of {stream}, but the last one committed is {last}"
        raise CheckpointError(
            f"Spark {again if number < last else ahead}",
            "the folders spark/ and windrow/ of a checkpoint belong together: restore both from the same copy",
        )
