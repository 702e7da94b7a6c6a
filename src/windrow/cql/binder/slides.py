"""Slides: all windows of one query move on together, or each on every tuple."""

from __future__ import annotations

from windrow.errors import CqlMeaningError, Span
from windrow.plan.analysis.refreshes import windows_below
from windrow.plan.nodes import Node
from windrow.plan.printer import window_text
from windrow.plan.windows import Now, Window


def check_slides(node: Node, span: Span | None) -> None:
    """Refuse a query whose windows would be refreshed at different times."""
    windows = [found.window for found in windows_below(node)]
    slides = {window.slide for window in windows if window.slide is not None}
    if len(slides) > 1:
        shown = " and ".join(sorted({window_text(window) for window in windows if window.slide is not None}))
        raise CqlMeaningError(
            f"the windows of one query have the same SLIDE, here are {shown}", span, "write one SLIDE"
        )
    moving = [window for window in windows if window.slide is None and _moves(window)]
    if slides and moving:
        slide = window_text(next(window for window in windows if window.slide is not None))
        message = f"{window_text(moving[0])} has no SLIDE, but {slide} has one"
        raise CqlMeaningError(message, span, "give all windows of the query the same SLIDE, or none of them")


def _moves(window: Window) -> bool:
    return not window.is_open and not isinstance(window.extent, Now)
