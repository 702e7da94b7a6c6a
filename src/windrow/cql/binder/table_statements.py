"""Binding statements that change tables."""

from __future__ import annotations

from sqlglot import exp

from windrow.catalog import Catalog, StreamEntry, TableEntry
from windrow.cql.binder.entries import find
from windrow.cql.binder.expressions import ExpressionBinder
from windrow.cql.binder.queries import QueryBinder
from windrow.cql.binder.scope import RelationScope, Scope
from windrow.cql.binder.table_changes import bind_change, inserted, takes_null
from windrow.cql.statements import InsertAnswer, Statement
from windrow.cql.syntax import span_of
from windrow.errors import CqlMeaningError
from windrow.plan.expressions import ColumnReference
from windrow.units import Timestamp


def _table(name: exp.Identifier, catalog: Catalog) -> TableEntry:
    entry = find(name, catalog)
    if not isinstance(entry, TableEntry):
        hint = "streams are fed by their source" if isinstance(entry, StreamEntry) else "change the table it reads"
        raise CqlMeaningError(f"{entry.name} is a {entry.kind}, not a table", span_of(name), hint)
    return entry


def bind_insert_answer(tree: exp.Expr, catalog: Catalog) -> Statement:
    entry, query = _table(tree.this, catalog), tree.args["query"]
    plan = inserted(QueryBinder(catalog, over_kept=True).bind(query), tree, entry)
    effect = tree.args.get("effect")
    not_null = frozenset(column.name for column in entry.columns if not takes_null(column, entry))
    return InsertAnswer(entry.name, plan, not_null, None if effect is None else Timestamp(effect))


def bind_table_change(tree: exp.Expr, catalog: Catalog) -> Statement:
    entry = _table(tree.this, catalog)
    columns = {column.name.lower(): ColumnReference(column.name, column.type) for column in entry.columns}
    scope = Scope.over(RelationScope(entry.name, columns))
    return bind_change(tree, entry, ExpressionBinder(catalog, scope, str(tree.args["kind"])))
