"""Binding the columns of CREATE STREAM and CREATE TABLE: those that are written, computed ones, those of a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from windrow.catalog import Catalog, ColumnDefinition, Connector, StreamEntry, TableEntry
from windrow.catalog.connectors import STREAM_SOURCES
from windrow.cql.binder.casts import can_cast, cast_hint
from windrow.cql.binder.expressions import ExpressionBinder
from windrow.cql.binder.output_columns import RESERVED_COLUMNS
from windrow.cql.binder.scope import RelationScope, Scope
from windrow.cql.syntax import span_of
from windrow.errors import CqlMeaningError, CqlNameError, CqlTypeError, WindrowError
from windrow.plan.expressions import Cast, ColumnReference
from windrow.plan.printer import expression_text
from windrow.types import NULL

MAX_COLUMNS = 1_000


def bind_columns(tree: exp.Expr, connector: Connector | None, catalog: Catalog) -> tuple[ColumnDefinition, ...]:
    """The columns of a declaration, in the order in which they are written."""
    nodes: Sequence[exp.Expr] = tree.args["columns"]
    if not nodes and connector is not None:
        return _columns_of_source(tree, connector, catalog)
    if not nodes:
        raise CqlMeaningError(f"{tree.this.name} has no columns", span_of(tree.this), "write (ts TIMESTAMP, ...)")
    if len(nodes) > MAX_COLUMNS:
        raise CqlMeaningError(
            f"{tree.this.name} has {len(nodes)} columns", span_of(tree.this), f"at most {MAX_COLUMNS}"
        )
    _check_names(nodes)
    given = {node.this.name: _given(node) for node in nodes if node.args.get("computed") is None}
    if not given:
        hint = "write the columns that rows come with too, each with its type"
        raise CqlMeaningError("all columns are computed", span_of(nodes[0]), hint)
    return tuple(given.get(node.this.name) or _computed(node, tree, list(given.values())) for node in nodes)


def check_not_computed(table: exp.Expr) -> None:
    """Rows of tables have all their columns, however they are changed."""
    for node in table.args["columns"]:
        if node.args.get("computed") is not None:
            hint = "compute it in the queries that read the table, or in a view"
            raise CqlMeaningError("a table has no computed columns", span_of(node), hint)


def _check_names(nodes: Sequence[exp.Expr]) -> None:
    seen: set[str] = set()
    for node in nodes:
        name = node.this.name
        if name.lower() in seen:
            raise CqlNameError(f"two columns are called {name}", span_of(node), "give one of them another name")
        if name.lower() in RESERVED_COLUMNS:
            raise CqlNameError(f"{name} is a column that Windrow adds itself", span_of(node), "choose another name")
        seen.add(name.lower())


def _given(node: exp.Expr) -> ColumnDefinition:
    return ColumnDefinition(node.this.name, node.args["type"], bool(node.args["nullable"]))


def _computed(node: exp.Expr, stream: exp.Expr, given: Sequence[ColumnDefinition]) -> ColumnDefinition:
    """A column that is computed from those that rows come with."""
    name = stream.this.name
    columns = {column.name.lower(): ColumnReference(f"{name}.{column.name}", column.type) for column in given}
    bound = ExpressionBinder(Catalog(), Scope.over(RelationScope(name, columns)), "a computed column").bind(
        node.args["computed"]
    )
    wanted = node.args.get("type") or bound.type
    if wanted == NULL:
        raise CqlTypeError("NULL has no type", span_of(node), f"write {node.this.name} STRING AS NULL")
    if bound.type != wanted and not can_cast(bound.type, wanted):
        message = f"{node.this.name} is {bound.type}, which cannot become {wanted}"
        raise CqlTypeError(message, span_of(node), cast_hint(bound.type, wanted))
    text = expression_text(bound if bound.type == wanted else Cast(bound, wanted))
    return ColumnDefinition(node.this.name, wanted, bool(node.args["nullable"]), text)


def _columns_of_source(tree: exp.Expr, connector: Connector, catalog: Catalog) -> tuple[ColumnDefinition, ...]:
    """Those that the rows of a source have; of one that was declared before, those that were found then."""
    known = catalog.get(tree.this.name)
    if isinstance(known, StreamEntry | TableEntry) and known.connector == connector:
        return known.columns
    kind = STREAM_SOURCES.get(connector.name)
    if kind is not None and kind.columns is not None:
        return tuple(ColumnDefinition(name, of) for name, of in kind.columns)
    place = span_of(tree.args["connector"])
    try:
        columns = catalog.source_columns(connector)
    except WindrowError as error:
        raise CqlMeaningError(error.message, place, error.hint or "write the columns: (ts TIMESTAMP, ...)") from None
    for strange in _reserved(columns):
        hint = "write the columns that you need: (ts TIMESTAMP, ...)"
        raise CqlMeaningError(f"the source has a column {strange}, which Windrow adds itself", place, hint)
    return columns


def _reserved(columns: Sequence[ColumnDefinition]) -> Iterator[str]:
    return (column.name for column in columns if column.name.lower() in RESERVED_COLUMNS)
