"""INTERNAL windows: results stay when tuples leave, which some operators cannot allow (thesis 3.3.2, 3.3.3)."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.errors import CqlMeaningError, Span
from windrow.plan.nodes import (
    AntiJoin,
    AppendOnly,
    Distinct,
    Except,
    Intersect,
    Join,
    JoinKind,
    Limit,
    Node,
    OutputStream,
    Union,
    Windowed,
)


def has_internal(node: Node) -> bool:
    return any(isinstance(part, Windowed) and part.window.internal for part in _block(node))


def check_internal(node: Node, span: Span | None, output_window: bool) -> None:
    """Refuse operators whose results would be wrong if they stayed."""
    offender = next((word for part in _block(node) if (word := _refused(part))), None)
    if offender is None:
        return
    what = "WSTREAM keeps results" if output_window else "INTERNAL windows keep results"
    message = f"{what} that {offender} would have to take back"
    raise CqlMeaningError(message, span, f"use ISTREAM or plain windows with {offender}")


def _block(node: Node) -> Iterator[Node]:
    """The node and what is below it, down to other streams of results."""
    yield node
    if isinstance(node, AppendOnly | OutputStream):
        return
    for below in node.inputs:
        yield from _block(below)


def _refused(node: Node) -> str | None:
    if isinstance(node, Distinct):
        return "UNION" if isinstance(node.input, Union) else "DISTINCT"
    if isinstance(node, AntiJoin):
        return "NOT EXISTS" if node.not_in is None else "NOT IN"
    if isinstance(node, Except):
        return "EXCEPT"
    if isinstance(node, Intersect) and not node.all:
        return "INTERSECT"
    if isinstance(node, Join) and node.kind is not JoinKind.INNER:
        return f"{node.kind.value} JOIN"
    return "LIMIT" if isinstance(node, Limit) else None
