"""What a periodic query tells: its whole answer at each refresh of a segment, all of them at once."""

from __future__ import annotations

import numpy as np

from windrow.batch import Batch, Segment, consolidate
from windrow.batch.arrays import Int64s, ranges
from windrow.operators.output_streams import refreshes_until
from windrow.units import FOREVER


def refreshed(rows: Batch, slide: int, after: int, segment: Segment, last_change: int) -> Batch:
    """The rows of the answer at each window end in a segment that is later than `after`; `ts` is that end."""
    begin, end = max(segment.begin, after + 1), refreshes_until(slide, segment, last_change)
    first = _at_or_after(np.maximum(rows.ts, begin), slide)
    beyond = _at_or_after(np.minimum(rows.exp, end), slide)
    counts = np.maximum((beyond - first) // slide, 0)
    copies = rows.take(np.repeat(np.arange(len(rows)), counts))
    ends = ranges(first // slide, counts) * slide
    return consolidate(copies.with_lifetimes(ends, np.full(len(ends), FOREVER, np.int64))).sorted_by_time()


def _at_or_after(times: Int64s, slide: int) -> Int64s:
    """The first multiple at or after each time."""
    return -(-times // slide) * slide
