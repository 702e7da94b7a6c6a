"""Refreshes: the window ends of a periodic query at which it emits its whole answer."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from windrow.batch import Batch, Segment, arrow_type, rows_to_arrow
from windrow.batch.consolidation import closed_by_negatives
from windrow.operators.outputs.output_streams import at_refreshes, refreshes_until
from windrow.plan.analysis.refreshes import refresh_interval
from windrow.plan.nodes import Node, OutputKind, OutputStream
from windrow.types import TIMESTAMP


def refresh_slide(plan: Node) -> int | None:
    """How far apart the refreshes of a query are; None when it emits its changes instead."""
    if isinstance(plan, OutputStream) and plan.kind is not OutputKind.RSTREAM:
        return None
    return refresh_interval(plan)


def answers_at_refreshes(rows: Batch, slide: int, after: int, segment: Segment, changed: int) -> Batch:
    """The rows of the answer at each window end in a segment that is later than `after`; `ts` is that end."""
    until = refreshes_until(slide, segment, changed)
    return at_refreshes(closed_by_negatives(rows), slide, max(segment.begin, after + 1), until)


def refreshes_to_arrow(rows: Batch, names: Sequence[str]) -> pa.Table:
    """The columns under `names`, and `_window_end`."""
    ends = pa.array(rows.ts).view(arrow_type(TIMESTAMP))
    return rows_to_arrow(rows, names).append_column("_window_end", ends)
