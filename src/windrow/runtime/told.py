"""What a periodic query tells: its whole answer at each refresh of a segment, all of them at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.batch import Batch, Segment, arrow_type, rows_to_arrow
from windrow.batch.arrays import Int64s, ranges
from windrow.batch.consolidation import without_negatives
from windrow.operators.output_streams import refreshes_until
from windrow.types import TIMESTAMP
from windrow.units import FOREVER


def refreshed(rows: Batch, slide: int, after: int, segment: Segment, last_change: int) -> Batch:
    """The rows of the answer at each window end in a segment that is later than `after`; `ts` is that end."""
    begin, end = max(segment.begin, after + 1), refreshes_until(slide, segment, last_change)
    rows = without_negatives(rows)
    first = _at_or_after(np.maximum(rows.ts, begin), slide)
    beyond = _at_or_after(np.minimum(rows.exp, end), slide)
    counts = np.maximum((beyond - first) // slide, 0)
    copies = rows.take(np.repeat(np.arange(len(rows)), counts))
    ends = ranges(first // slide, counts) * slide
    return copies.with_lifetimes(ends, np.full(len(ends), FOREVER, np.int64)).sorted_by_time()


def refreshes_to_arrow(rows: Batch, names: Sequence[str]) -> pa.Table:
    """The columns under `names`, and `_window_end`."""
    ends = pa.array(rows.ts).view(arrow_type(TIMESTAMP))
    return rows_to_arrow(rows, names).append_column("_window_end", ends)


def _at_or_after(times: Int64s, slide: int) -> Int64s:
    """The first multiple at or after each time."""
    return -(-times // slide) * slide
