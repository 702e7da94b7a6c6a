"""Refreshes: the window ends of a periodic query at which it gives its whole answer."""

from __future__ import annotations

from windrow.batch import Batch, Segment
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


def refreshes(slide: int, segment: Segment, changes: Batch) -> range:
    """The window ends in a segment; when time runs out, those until the last change."""
    first = -(-segment.begin // slide) * slide
    end = segment.end
    if end == FOREVER:
        finite = changes.exp[changes.exp != FOREVER]
        last = max([segment.begin, *changes.ts[-1:].tolist(), *([int(finite.max())] if len(finite) else [])])
        end = last + 1
    return range(first, end, slide)
