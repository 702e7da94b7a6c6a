"""Binding INSERT, UPDATE and DELETE on tables."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal

from sqlglot import exp

from windrow.catalog import Catalog, ColumnDefinition, StreamEntry, TableEntry
from windrow.cql.binder.entries import find
from windrow.cql.binder.expressions import ExpressionBinder
from windrow.cql.binder.queries import QueryBinder
from windrow.cql.binder.scope import RelationScope, Scope
from windrow.cql.statements import InsertAnswer, Statement, TableChange
from windrow.cql.syntax import span_of
from windrow.errors import CqlMeaningError, CqlNameError, CqlTypeError, nearest
from windrow.plan.expressions import Cast, ColumnReference, Expression, Literal, Named, Value
from windrow.plan.nodes import Alias, Node, Project
from windrow.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    DecimalType,
    Type,
    common_type,
    is_numeric,
)
from windrow.units import DAY, Timestamp, parse_duration, parse_timestamp


def _table(name: exp.Identifier, catalog: Catalog) -> TableEntry:
    entry = find(name, catalog)
    if not isinstance(entry, TableEntry):
        hint = "streams are fed by their source" if isinstance(entry, StreamEntry) else "change the table it reads"
        raise CqlMeaningError(f"{entry.name} is a {entry.kind}, not a table", span_of(name), hint)
    return entry


def bind_insert_answer(tree: exp.Expr, catalog: Catalog) -> Statement:
    entry, query = _table(tree.this, catalog), tree.args["query"]
    plan = _inserted(QueryBinder(catalog, over_kept=True).bind(query), tree, entry)
    effect = tree.args.get("effect")
    not_null = frozenset(column.name for column in entry.columns if not _takes_null(column, entry))
    return InsertAnswer(entry.name, plan, not_null, None if effect is None else Timestamp(effect))


def bind_table_change(tree: exp.Expr, catalog: Catalog) -> Statement:
    entry = _table(tree.this, catalog)
    columns = {column.name.lower(): ColumnReference(column.name, column.type) for column in entry.columns}
    scope = Scope.over(RelationScope(entry.name, columns))
    return _bound_change(tree, entry, ExpressionBinder(catalog, scope, str(tree.args["kind"])))


def _bound_change(tree: exp.Expr, table: TableEntry, binder: ExpressionBinder) -> TableChange:
    kind = str(tree.args["kind"])
    where = tree.args.get("where")
    effect = tree.args.get("effect")
    return TableChange(
        kind=kind,
        table=table.name,
        rows=_rows(tree, table, binder) if kind == "INSERT" else (),
        assignments=_assignments(tree.args.get("assignments") or (), table, binder),
        predicate=None if where is None else binder.condition(where, "WHERE"),
        effect=None if effect is None else Timestamp(effect),
    )


def _inserted(plan: Node, tree: exp.Expr, table: TableEntry) -> Node:
    """A query whose rows are inserted, with the columns of the table."""
    named = tree.args.get("columns")
    targets = _targets(named, table) if named else list(table.columns)
    query = tree.args["query"]
    if len(plan.schema) != len(targets):
        names = ", ".join(column.name for column in targets)
        message = f"{len(plan.schema)} columns are selected for {len(targets)} columns"
        raise CqlTypeError(message, span_of(query), f"select one for each of {names}")
    below = Alias(plan, "_inserted")
    given = {
        target.name: _fitting(source, target, query)
        for target, source in zip(targets, below.schema.columns, strict=True)
    }
    columns = (Named(c.name, given.get(c.name) or Cast(Literal(None, NULL), c.type)) for c in table.columns)
    return Project(below, tuple(columns))


def _rows(tree: exp.Expr, table: TableEntry, binder: ExpressionBinder) -> tuple[tuple[Value, ...], ...]:
    named = tree.args.get("columns")
    targets = _targets(named, table) if named else list(table.columns)
    return tuple(_row(row, targets, table, binder) for row in tree.args["rows"])


def _targets(names: Sequence[exp.Identifier], table: TableEntry) -> list[ColumnDefinition]:
    targets: list[ColumnDefinition] = []
    for name in names:
        if (column := _target(name, table)) in targets:
            raise CqlNameError(f"{column.name} is named twice", span_of(name), "once is enough")
        targets.append(column)
    return targets


def _row(
    row: exp.Expr, targets: Sequence[ColumnDefinition], table: TableEntry, binder: ExpressionBinder
) -> tuple[Value, ...]:
    if len(row.expressions) != len(targets):
        names = ", ".join(column.name for column in targets)
        message = f"{len(row.expressions)} values for {len(targets)} columns"
        raise CqlTypeError(message, span_of(row), f"give one for each of {names}")
    given = {
        column.name: _constant(node, column, binder) for node, column in zip(row.expressions, targets, strict=True)
    }
    for column in table.columns:
        if given.get(column.name) is None and not _takes_null(column, table):
            raise CqlTypeError(f"{column.name} cannot be NULL", span_of(row), f"give {column.name} a value")
    return tuple(given.get(column.name) for column in table.columns)


def _constant(node: exp.Expr, column: ColumnDefinition, binder: ExpressionBinder) -> Value:
    bound = _fitting(binder.bind(node), column, node)
    if not isinstance(bound, Literal):
        raise CqlMeaningError("a row is made of constants", span_of(node), "compute the value first")
    return bound.value


def _assignments(
    nodes: Sequence[exp.Expr], table: TableEntry, binder: ExpressionBinder
) -> tuple[tuple[str, Expression], ...]:
    _targets([node.this for node in nodes], table)
    return tuple(_assignment(node, table, binder) for node in nodes)


def _assignment(node: exp.Expr, table: TableEntry, binder: ExpressionBinder) -> tuple[str, Expression]:
    column = _target(node.this, table)
    if column.name in table.primary_key and not table.retroactive:
        hint = "delete the row and insert another key"
        raise CqlMeaningError(f"{column.name} is the key of a non-retroactive table", span_of(node.this), hint)
    value = _fitting(binder.bind(node.expression), column, node.expression)
    if isinstance(value, Literal) and value.value is None and not _takes_null(column, table):
        hint = f"give {column.name} a value, or delete the row"
        raise CqlTypeError(f"{column.name} cannot be NULL", span_of(node.expression), hint)
    return column.name, value


def _takes_null(column: ColumnDefinition, table: TableEntry) -> bool:
    return column.nullable and column.name not in table.primary_key


def _target(name: exp.Identifier, table: TableEntry) -> ColumnDefinition:
    found = next((column for column in table.columns if column.name.lower() == name.name.lower()), None)
    if found is None:
        hint = nearest(name.name, [column.name for column in table.columns], "columns")
        raise CqlNameError(f"{table.name} has no column {name.name}", span_of(name), hint)
    return found


def _fitting(value: Expression, column: ColumnDefinition, node: exp.Expr) -> Expression:
    """The value as the column's type; constants are converted here, other numbers by a cast."""
    if value.type in (column.type, NULL):
        return value
    if isinstance(value, Literal):
        converted = _converted(value, column.type)
        if converted is not None:
            return converted
    elif is_numeric(value.type) and is_numeric(column.type):
        return Cast(value, column.type)
    hint = f"write {_EXAMPLES.get(column.type, f'a {column.type}')}"
    if not isinstance(value, Literal):
        hint = f"write CAST(... AS {column.type})"
    raise CqlTypeError(f"{column.name} is {column.type}, this is {value.type}", span_of(node), hint)


_EXAMPLES = {DATE: "'2026-01-31'", TIMESTAMP: "'2026-01-31 12:00:00'", INTERVAL: "'10 minutes'", STRING: "it in quotes"}


def _converted(literal: Literal, wanted: Type) -> Literal | None:
    value = literal.value
    if literal.type == STRING:
        return _read(str(value), wanted)
    if not isinstance(value, int | float | Decimal) or not is_numeric(wanted):
        return None
    if wanted in (FLOAT, DOUBLE):
        return Literal(float(value), wanted)
    if isinstance(wanted, DecimalType):
        return None if isinstance(value, float) else _decimal(Decimal(value), wanted)
    widens = common_type(literal.type, wanted) == wanted
    return Literal(value, wanted) if widens else _narrowed(value, wanted)


def _read(text: str, wanted: Type) -> Literal | None:
    """A text as the time, day or interval that it says."""
    try:
        if wanted == INTERVAL:
            return Literal(parse_duration(text), wanted)
        if wanted in (TIMESTAMP, DATE):
            moment = parse_timestamp(text)
            return Literal(moment if wanted == TIMESTAMP else moment // DAY, wanted)
    except (ValueError, OverflowError):
        pass
    return None


def _decimal(value: Decimal, wanted: DecimalType) -> Literal | None:
    """The number if it has no more digits than the type, before the point and after it."""
    shifted = value.scaleb(wanted.scale, Context(prec=200))
    fits = shifted == shifted.to_integral_value() and abs(shifted) < 10**wanted.precision
    return Literal(value, wanted) if fits else None


def _narrowed(value: float | Decimal, wanted: Type) -> Literal | None:
    """A whole number that fits into a smaller integer type."""
    bits = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}.get(wanted.name)
    fits = bits is not None and isinstance(value, int) and -(2**bits) <= value < 2**bits
    return Literal(value, wanted) if fits else None
