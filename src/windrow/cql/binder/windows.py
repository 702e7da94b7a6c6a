"""Binding windows: their columns, and whether what is below them can be windowed."""

from __future__ import annotations

from sqlglot import exp

from windrow.catalog import Catalog
from windrow.cql.binder.expressions import ExpressionBinder
from windrow.cql.binder.scope import RelationScope, Scope
from windrow.cql.syntax import WindowSyntax, span_of
from windrow.errors import CqlMeaningError, Span
from windrow.plan.analysis.refreshes import refresh_interval, slides_below
from windrow.plan.analysis.relations import is_relation
from windrow.plan.analysis.update_pattern import gives_stream, lifetime_length, update_pattern
from windrow.plan.expressions import ColumnReference
from windrow.plan.nodes import Alias, Node, OutputKind, OutputStream, Stream, Windowed
from windrow.plan.pattern import Pattern
from windrow.plan.windows import Extent, Latest, Range, Rows, Unbounded, Window


def bind_window(catalog: Catalog, node: Node, name: str, syntax: WindowSyntax, internal: bool) -> Node:
    """The relation `name` seen through a window; an unbounded one that says nothing more is left out."""
    span = span_of(syntax)
    _check_time(node, syntax.args.get("time"))
    window = Window(
        _extent(catalog, node, name, syntax), syntax.args.get("slide"), internal or bool(syntax.args.get("internal"))
    )
    _check_input(node, window, span)
    if isinstance(window.extent, Unbounded) and window.slide is None and not window.internal:
        return node
    return Windowed(node, window)


def _check_time(node: Node, time: exp.Identifier | None) -> None:
    """TUMBLE and HOP go by the time that the stream declares."""
    if time is None or is_relation(node):
        return
    declared = node.timestamp if isinstance(node, Stream) else None
    if declared is None or time.name.lower() != declared.lower():
        hint = f"write DESCRIPTOR({declared})" if declared else "they stand over streams with TIMESTAMP BY"
        raise CqlMeaningError(f"{time.name} is not the time of this stream", span_of(time), hint)


def _extent(catalog: Catalog, node: Node, name: str, syntax: WindowSyntax) -> Extent:
    extent: Extent = syntax.args["extent"]
    scope = Scope.over(RelationScope.of(name, node))
    binder = ExpressionBinder(catalog, scope, "a window's WHERE")
    columns = []
    for column in syntax.args.get("partition") or ():
        bound = scope.resolve(column.name, column.table or None, span_of(column))
        assert isinstance(bound, ColumnReference), bound  # one relation: nothing is merged
        columns.append(bound.name)
    partition = tuple(columns)
    if isinstance(extent, Rows) and partition:
        return Rows(extent.count, partition)
    if isinstance(extent, Latest):
        return Latest(partition, binder.condition(syntax.args["predicate"]))
    return extent


def _check_input(node: Node, window: Window, span: Span | None) -> None:
    if is_relation(node):
        raise CqlMeaningError("a table has no window: its rows have no time", span, "leave the window out")
    if gives_stream(node):
        _check_refreshes(node, span)
        return
    pattern = update_pattern(node)
    if pattern is Pattern.MONOTONIC or isinstance(node, Stream) or _is_suffix(node, window):
        return
    if isinstance(window.extent, Unbounded):
        return
    hint = "write ISTREAM after its SELECT, or INTERNAL in its windows"
    if pattern is Pattern.WKS and not slides_below(node):
        hint = "a suffix of its window is [RANGE t] with a shorter t; for other windows write ISTREAM after its SELECT"
    message = f"a window needs rows that stay; the results of this sub-query are withdrawn again ({pattern.value})"
    raise CqlMeaningError(message, span, hint)


def _check_refreshes(node: Node, span: Span | None) -> None:
    output = node.input if isinstance(node, Alias) else node
    assert isinstance(output, OutputStream), output
    if output.kind is OutputKind.RSTREAM and refresh_interval(output) is None:
        hint = "add SLIDE with an interval to the windows of the sub-query, or write ISTREAM"
        raise CqlMeaningError("RSTREAM without a SLIDE of time names an answer, not a stream", span, hint)


def _is_suffix(node: Node, window: Window) -> bool:
    """The elastic window: any shorter range of a time-based window (thesis 2.1.1)."""
    below = lifetime_length(node)
    if update_pattern(node) is not Pattern.WKS or below is None or not isinstance(window.extent, Range):
        return False
    return window.slide is None and window.extent.length <= below[0] and below[1] == 0
