"""Refreshes: the window ends of a periodic query at which it gives its whole answer."""

from __future__ import annotations

from windrow.batch import Segment
from windrow.operators.output_streams import refreshes_until
from windrow.plan.analysis.refreshes import refresh_interval
from windrow.plan.nodes import Node, OutputKind, OutputStream


def refresh_slide(plan: Node) -> int | None:
    """How far apart the refreshes of a query are; None when it gives its changes instead."""
    if isinstance(plan, OutputStream) and plan.kind is not OutputKind.RSTREAM:
        return None
    return refresh_interval(plan)


def refreshes(slide: int, after: int, segment: Segment, last_change: int) -> range:
    """The window ends in a segment that are later than `after`."""
    first = max(-(-segment.begin // slide), after // slide + 1) * slide
    return range(first, refreshes_until(slide, segment, last_change), slide)
