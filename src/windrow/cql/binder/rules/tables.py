"""Rules for tables in queries (thesis 3.3.1 and 3.5.3).

A non-retroactive table is looked up when a stream tuple arrives. Above a strict input the tuple that is taken back
later would meet another state of the table, so the join must be computable below whatever makes the input strict.
"""

from __future__ import annotations

from sqlglot import exp

from windrow.cql.syntax import Relation, span_of
from windrow.errors import CqlMeaningError, Span
from windrow.plan.analysis.relations import is_non_retroactive, is_relation
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import AntiJoin, Filter, Join, JoinKind, Node, SemiJoin, Sort, Stream, Table, Windowed
from windrow.plan.pattern import Pattern
from windrow.plan.windows import RangeAgo


def check_tables(plan: Node, tree: exp.Expr) -> None:
    if is_non_retroactive(plan):
        hint = "join it with a stream, or create the table without NON RETROACTIVE"
        span = _place(_table_name(plan), tree)
        raise CqlMeaningError("a non-retroactive table alone has no answer over time", span, hint)
    for node in plan.walk():
        if isinstance(node, Join | SemiJoin | AntiJoin):
            _check_join(node, tree)


def _place(table: str, tree: exp.Expr) -> Span | None:
    """Where the table is named; the whole query when a declared window names it."""
    named = (relation for relation in tree.find_all(Relation) if isinstance(relation.this, exp.Identifier))
    found = next((relation.this for relation in named if relation.this.name.lower() == table.lower()), None)
    return span_of(found or tree)


def _table_name(plan: Node) -> str:
    return next(part.name for part in plan.walk() if isinstance(part, Table))


def _check_join(node: Join | SemiJoin | AntiJoin, tree: exp.Expr) -> None:
    left_table, right_table = is_non_retroactive(node.left), is_non_retroactive(node.right)
    if left_table == right_table:
        return
    stream, table = (node.right, node.left) if left_table else (node.left, node.right)
    name = _table_name(table)
    span = _place(name, tree)
    if is_relation(stream):
        hint = "join each of them with the stream"
        raise CqlMeaningError(f"{name} is non-retroactive and is joined with a table, not a stream", span, hint)
    if _keeps_table_rows(node, left_table):
        hint = "keep the rows of the stream instead, or create the table without NON RETROACTIVE"
        raise CqlMeaningError(f"rows of {name} that meet no stream tuple have no time", span, hint)
    late = next((found for found in stream.walk() if _shows_lifetimes_later(found)), None)
    if late is not None:
        hint = "leave SLIDE or AGO out, or create the table without NON RETROACTIVE"
        message = f"{name} is non-retroactive and cannot be looked up where a window shows rows with LIFETIME later"
        raise CqlMeaningError(message, span, hint)
    if update_pattern(stream) is Pattern.STR and not _computable_below(stream):
        hint = f"join {name} with the stream in a sub-query below that, or create it without NON RETROACTIVE"
        message = f"{name} is non-retroactive and cannot be joined above results that are taken back (STR)"
        raise CqlMeaningError(message, span, hint)


def _shows_lifetimes_later(node: Node) -> bool:
    """The lookup belongs to the row's own time, and cannot be moved below a window that also cuts lifetimes."""
    if not isinstance(node, Windowed) or not isinstance(node.input, Stream) or node.input.lifetime is None:
        return False
    return isinstance(node.window.slide, int) or isinstance(node.window.extent, RangeAgo)


def _keeps_table_rows(node: Join | SemiJoin | AntiJoin, left_table: bool) -> bool:
    if isinstance(node, Join):
        return node.kind in (JoinKind.FULL, JoinKind.LEFT if left_table else JoinKind.RIGHT)
    return left_table


def _computable_below(stream: Node) -> bool:
    """Selections and negations on the way down keep the columns of their (left) input."""
    if update_pattern(stream) is not Pattern.STR:
        return True
    if isinstance(stream, Filter | Sort):
        return _computable_below(stream.input)
    if isinstance(stream, SemiJoin | AntiJoin):
        return _computable_below(stream.left)
    return False
