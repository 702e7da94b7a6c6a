"""An advance of time: what it makes final for whoever reads some streams, as a pure function of before and after.

An operator moves from the old to the new smallest watermark of its streams; where its time has not begun, from their
first row. No operator has to remember how far it is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from windrow.batch import Segment
from windrow.runtime.progress import Progress
from windrow.runtime.readers import Reader, Streams
from windrow.units import BEGINNING


class Advance(NamedTuple):
    """Time has moved: what that makes final, for whoever reads some of the streams."""

    before: Progress
    after: Progress

    @property
    def has_moved(self) -> bool:
        before = self.before.streams
        return any(stream.final > before[name].final for name, stream in self.after.streams.items())

    def segment(self, streams: Streams, start: int = BEGINNING) -> Segment | None:
        """What has become final for an operator over these streams, from a start on; None when nothing has."""
        before, end = self.before.watermark_of(streams), self.after.watermark_of(streams)
        first = self.after.first_of(streams) if streams else before
        if not streams and before == BEGINNING:
            first = min(self.after.first_of(frozenset(self.after.streams)), end - 1)
        begin = max(before, first, start)
        return Segment(begin, end, self.after.last_row_of(streams)) if begin < end else None


def advance(progress: Progress, readers: Collection[Reader]) -> Advance:
    return Advance(progress, progress.advanced(readers))
