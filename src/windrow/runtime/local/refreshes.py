"""Refreshes: the window ends of a periodic query at which it gives its whole answer."""

from __future__ import annotations

from windrow.batch import Segment
from windrow.plan.analysis.refreshes import slides_below
from windrow.plan.nodes import Node, OutputKind, OutputStream
from windrow.plan.windows import RowCount
from windrow.units import FOREVER


def refresh_slide(plan: Node) -> int | None:
    """How far apart the refreshes of a query are; None when it gives its changes instead."""
    if isinstance(plan, OutputStream) and plan.kind is not OutputKind.RSTREAM:
        return None
    slides = [slide for slide in slides_below(plan) if not isinstance(slide, RowCount)]
    return slides[0] if slides else None


def refreshes(slide: int, after: int, segment: Segment, last: int) -> range:
    """The window ends in a segment that are later than `after`; when time runs out, those until `last`."""
    first = max(-(-segment.begin // slide), after // slide + 1) * slide
    return range(first, last + 1 if segment.end == FOREVER else segment.end, slide)
