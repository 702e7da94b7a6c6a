"""INTERNAL windows: results stay when tuples leave, which some operators cannot allow (thesis 3.3.2, 3.3.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from windrow.errors import CqlMeaningError, Span
from windrow.plan.analysis.internal import block, has_external_window, has_internal
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.by_kind import ByKind
from windrow.plan.functions import conjuncts, equal_columns
from windrow.plan.nodes import (
    Alias,
    AntiJoin,
    AppendOnly,
    Distinct,
    Except,
    Filter,
    GroupBy,
    Intersect,
    Join,
    JoinKind,
    Limit,
    Node,
    OutputStream,
    Project,
    SemiJoin,
    Sort,
    Stream,
    Table,
    Union,
    Windowed,
)
from windrow.plan.pattern import Pattern
from windrow.plan.running_nodes import RUNNING


def check_internal(node: Node, span: Span | None) -> None:
    """Refuse operators whose results would be wrong if they stayed, and those that cannot say when they end."""
    _refuse_withdrawing((part for part in block(node) if has_internal(part)), span, "INTERNAL windows keep results")
    for part in block(node):
        undecided = _undecided(part)
        if undecided is not None:
            message, hint = undecided
            raise CqlMeaningError(message, span, hint)


def check_output_window(node: Node, span: Span | None) -> None:
    """WSTREAM keeps results whatever windows there are."""
    _refuse_withdrawing(block(node), span, "WSTREAM keeps results")


def _refuse_withdrawing(parts: Iterable[Node], span: Span | None, what: str) -> None:
    """Of the parts whose input stays, none may have to take a result back; external parts come and go as a whole."""
    offender = next((word for part in parts if (word := _withdrawing(part))), None)
    if offender is not None:
        message = f"{what} that {offender} would have to take back"
        raise CqlMeaningError(message, span, f"use ISTREAM or plain windows with {offender}")


def _withdrawing(node: Node) -> str | None:
    """An operator that takes results back when rows come, as it is written; else None."""
    return _WITHDRAWING[node](node)


def _undecided(node: Node) -> tuple[str, str] | None:
    """Results over windows of both kinds that have no one part with which they end: what is wrong, and a hint."""
    if not has_internal(node):
        return None
    if isinstance(node, GroupBy | Intersect) and has_external_window(node):
        what = "an aggregate" if isinstance(node, GroupBy) else "INTERSECT ALL"
        hint = "make all of its windows INTERNAL, or none"
        return f"{what} over INTERNAL and other windows cannot say when its results end", hint
    if isinstance(node, SemiJoin) and update_pattern(node.right) is not Pattern.MONOTONIC:
        if has_internal(node.right) and has_external_window(node.right):
            hint = "make all windows of the sub-query INTERNAL, or none"
            return "EXISTS and IN over INTERNAL and other windows cannot say when a match ends", hint
        if not has_internal(node.right) and not all(map(equal_columns, conjuncts(node.condition))):
            hint = "compare columns with = only, or make the windows of the sub-query INTERNAL"
            return "beside INTERNAL windows, EXISTS and IN over other windows match by equal columns", hint
    return None


_WITHDRAWING: ByKind[Callable[..., str | None]] = ByKind(
    {
        Distinct: lambda node: "UNION" if isinstance(node.input, Union) else "DISTINCT",
        AntiJoin: lambda node: "NOT EXISTS" if node.not_in is None else "NOT IN",
        Except: lambda _: "EXCEPT",
        Intersect: lambda node: None if node.all else "INTERSECT",
        Join: lambda node: None if node.kind is JoinKind.INNER else f"{node.kind.value} JOIN",
        Limit: lambda _: "LIMIT",
        (Stream, Table, Windowed, Filter, Project, Alias, SemiJoin, Union, Sort): lambda _: None,
        (GroupBy, AppendOnly, OutputStream): lambda _: None,  # the newest value stays; streams of results stay
    },
    never={RUNNING: "the binder sees plans as they are written"},
)
