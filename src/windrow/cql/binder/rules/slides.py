"""Slides: all windows of one query slide by the same steps, or none slides."""

from __future__ import annotations

from sqlglot import exp

from windrow.cql.syntax import WindowSyntax, span_of
from windrow.errors import CqlMeaningError, Span
from windrow.plan.analysis.refreshes import windows_below
from windrow.plan.nodes import Node
from windrow.plan.printer import window_text
from windrow.plan.windows import Now, Window


def check_slides(node: Node, tree: exp.Expr) -> None:
    """Refuse a query whose windows would be refreshed at different times."""
    windows = list(windows_below(node))
    sliding = [window for window in windows if window.slide is not None]
    if not sliding:
        return
    hint = "give all windows of the query the same SLIDE, or none of them"
    first = sliding[0]
    other = next((window for window in sliding if window.slide != first.slide), None)
    if other is not None:
        message = f"{window_text(other)} has another SLIDE than {window_text(first)}"
        raise CqlMeaningError(message, _place(tree, other, first), hint)
    other = next((window for window in windows if window.slide is None and _moves(window)), None)
    if other is not None:
        message = f"{window_text(other)} has no SLIDE, but {window_text(first)} has one"
        raise CqlMeaningError(message, _place(tree, other, first), hint)


def _place(tree: exp.Expr, *windows: Window) -> Span | None:
    """Where the first of the windows that stands in the query is written; others come from declared windows."""
    for window in windows:
        for syntax in tree.find_all(WindowSyntax):
            if type(syntax.args["extent"]) is type(window.extent) and syntax.args.get("slide") == window.slide:
                return span_of(syntax)
    return span_of(tree)


def _moves(window: Window) -> bool:
    return not window.is_open and not isinstance(window.extent, Now)
