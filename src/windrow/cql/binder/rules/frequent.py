"""FREQUENT: it is answered from sub-windows, so rows have to come and go in sub-windows (thesis 6.2.1)."""

from __future__ import annotations

from sqlglot import exp

from windrow.cql.syntax import span_of
from windrow.errors import CqlMeaningError
from windrow.plan.aggregate_class import Approximation
from windrow.plan.aggregates import AGGREGATES, approximation_of
from windrow.plan.analysis.slices import gives_sub_windows, slice_form, window_below
from windrow.plan.nodes import GroupBy, Node, OutputStream
from windrow.plan.printer import window_text
from windrow.plan.windows import RowCount

_NAMES = {name for name, entry in AGGREGATES.items() if entry.approximation is Approximation.FREQUENT}
_EXAMPLES = "[RANGE 10 MINUTES SLIDE 30 SECONDS] or [ROWS 1000 SLIDE 100]"


def check_frequent(plan: Node, tree: exp.Expr) -> None:
    """Refuse FREQUENT over rows that do not leave a whole sub-window at a time, in order."""
    for node in plan.walk():
        if isinstance(node, GroupBy) and _asks(node):
            wrong = _wrong(node)
            if wrong is not None:
                raise CqlMeaningError(wrong[0], span_of(_place(tree)), wrong[1])
        if isinstance(node, OutputStream) and node.restore and any(_asks(below) for below in node.walk()):
            message = "RESTORE emits what happens between refreshes, and FREQUENT counts whole sub-windows"
            raise CqlMeaningError(message, span_of(_place(tree)), "leave RESTORE out")


def _asks(node: Node) -> bool:
    return isinstance(node, GroupBy) and any(
        approximation_of(named.call) is Approximation.FREQUENT for named in node.aggregates
    )


def _wrong(node: GroupBy) -> tuple[str, str] | None:
    below = window_below(node.input)
    if below is None:
        message = "FREQUENT needs the rows of one stream, which leave their window in the order in which they came"
        return message, f"ask for TOP(k, x) here, or for FREQUENT over one stream with {_EXAMPLES}"
    window = window_text(below.window)
    if below.window.slide is None:
        return f"FREQUENT is answered from sub-windows, and {window} has no SLIDE", f"write {_EXAMPLES}"
    if not gives_sub_windows(node.input):
        message = f"FREQUENT needs sub-windows that leave as a whole, and those of {window} do not"
        if isinstance(below.window.slide, RowCount) and not below.window.partition:
            return message, f"write a number of rows that is a multiple of the SLIDE, as in {_EXAMPLES}"
        return message, f"write {_EXAMPLES}, not INTERNAL"
    other = next((named.call for named in node.aggregates if slice_form(named.call) is None), None)
    if other is not None:
        message = f"FREQUENT keeps no rows, and {other.function} beside it needs them"
        return message, "ask for the two in different queries"
    return None


def _place(tree: exp.Expr) -> exp.Expr:
    calls = (call for call in tree.find_all(exp.Anonymous) if call.name.upper() in _NAMES)
    return next(calls, tree)
