"""What a periodic query tells: its whole answer at each refresh of a segment, all of them at once."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from windrow.batch import Batch, Segment, arrow_type, rows_to_arrow
from windrow.batch.consolidation import closed_by_negatives
from windrow.operators.outputs.output_streams import at_refreshes, refreshes_until
from windrow.types import TIMESTAMP


def refreshed(rows: Batch, slide: int, after: int, segment: Segment, changed: int) -> Batch:
    """The rows of the answer at each window end in a segment that is later than `after`; `ts` is that end."""
    until = refreshes_until(slide, segment, changed)
    return at_refreshes(closed_by_negatives(rows), slide, max(segment.begin, after + 1), until)


def refreshes_to_arrow(rows: Batch, names: Sequence[str]) -> pa.Table:
    """The columns under `names`, and `_window_end`."""
    ends = pa.array(rows.ts).view(arrow_type(TIMESTAMP))
    return rows_to_arrow(rows, names).append_column("_window_end", ends)
