"""Binding PUNCTUATION clauses: which rows of a stream are no data, and what they say."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from windrow.catalog import Catalog, ColumnDefinition, Punctuation
from windrow.cql.binder.declared_columns import column_of
from windrow.cql.binder.expressions import ExpressionBinder
from windrow.cql.binder.scope import RelationScope, Scope
from windrow.cql.syntax import span_of
from windrow.errors import CqlMeaningError, CqlNameError
from windrow.plan.expressions import ColumnReference
from windrow.plan.printer import expression_text


def bind_punctuation(node: exp.Expr, stream: exp.Expr, columns: Sequence[ColumnDefinition]) -> Punctuation:
    by: list[str] = []
    for name in node.args.get("by") or ():
        column = column_of(name, columns, None)
        if column in by:
            raise CqlNameError(f"the punctuation names {column} twice", span_of(name), "once is enough")
        by.append(column)
    where = node.args.get("where")
    if where is None:
        return Punctuation(None, tuple(by))
    named = {
        column.name.lower(): ColumnReference(f"{stream.this.name}.{column.name}", column.type) for column in columns
    }
    scope = Scope.over(RelationScope(stream.this.name, named))
    condition = ExpressionBinder(Catalog(), scope, "a PUNCTUATION").condition(where)
    return Punctuation(expression_text(condition), tuple(by))


def check_punctuations(stream: exp.Expr, punctuations: Sequence[Punctuation]) -> None:
    """At most one for keys and one for time, each with a meaning."""
    nodes = stream.args.get("punctuations") or ()
    seen: set[bool] = set()
    for node, punctuation in zip(nodes, punctuations, strict=True):
        about_keys = bool(punctuation.by)
        if about_keys in seen:
            what = "with BY" if about_keys else "without BY"
            hint = "join the conditions with OR; all of them close the same columns"
            raise CqlMeaningError(f"a stream has one PUNCTUATION {what}", span_of(node), hint)
        seen.add(about_keys)
        if not about_keys and stream.args.get("arrival"):
            hint = "add BY column, or leave it out: time moves on with every row that comes"
            raise CqlMeaningError("a punctuation of time needs TIMESTAMP BY", span_of(node), hint)
        times = stream.args.get("timestamp") or ()
        if times and times[0].name.lower() in (name.lower() for name in punctuation.by):
            hint = "leave BY out: then the row says that no earlier one will come"
            raise CqlMeaningError("BY names the time of the stream", span_of(node), hint)
