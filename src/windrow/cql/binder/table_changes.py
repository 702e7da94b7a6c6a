"""Binding INSERT, UPDATE and DELETE on tables."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from windrow.catalog import ColumnDefinition, TableEntry
from windrow.cql.binder.expressions import ExpressionBinder
from windrow.cql.statements import TableChange
from windrow.cql.syntax import span_of
from windrow.errors import CqlMeaningError, CqlNameError, CqlTypeError, nearest
from windrow.plan.expressions import Cast, Expression, Literal, Value
from windrow.types import DATE, DOUBLE, FLOAT, NULL, STRING, TIMESTAMP, DecimalType, Type, common_type, is_numeric
from windrow.units import Timestamp, parse_timestamp


def bind_change(tree: exp.Expr, table: TableEntry, binder: ExpressionBinder) -> TableChange:
    kind = str(tree.args["kind"])
    where = tree.args.get("where")
    effect = tree.args.get("effect")
    return TableChange(
        kind=kind,
        table=table.name,
        rows=_rows(tree, table, binder) if kind == "INSERT" else (),
        assignments=tuple(_assignment(node, table, binder) for node in tree.args.get("assignments") or ()),
        predicate=None if where is None else binder.condition(where),
        effect=None if effect is None else Timestamp(effect),
    )


def _rows(tree: exp.Expr, table: TableEntry, binder: ExpressionBinder) -> tuple[tuple[Value, ...], ...]:
    named = tree.args.get("columns")
    targets = [_target(name, table) for name in named] if named else list(table.columns)
    return tuple(_row(row, targets, table, binder) for row in tree.args["rows"])


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
        if given.get(column.name) is None and (not column.nullable or column.name in table.primary_key):
            raise CqlTypeError(f"{column.name} cannot be NULL", span_of(row), "give it a value")
    return tuple(given.get(column.name) for column in table.columns)


def _constant(node: exp.Expr, column: ColumnDefinition, binder: ExpressionBinder) -> Value:
    bound = _fitting(binder.bind(node), column, node)
    if not isinstance(bound, Literal):
        raise CqlMeaningError("a row is made of constants", span_of(node), "compute the value first")
    return bound.value


def _assignment(node: exp.Expr, table: TableEntry, binder: ExpressionBinder) -> tuple[str, Expression]:
    column = _target(node.this, table)
    if column.name in table.primary_key and not table.retroactive:
        hint = "delete the row and insert another key"
        raise CqlMeaningError(f"{column.name} is the key of a non-retroactive table", span_of(node.this), hint)
    return column.name, _fitting(binder.bind(node.expression), column, node.expression)


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
    hint = f"write a {column.type}, or CAST(... AS {column.type})"
    raise CqlTypeError(f"{column.name} is {column.type}, this is {value.type}", span_of(node), hint)


def _converted(literal: Literal, wanted: Type) -> Literal | None:
    value = literal.value
    if literal.type == STRING and wanted in (TIMESTAMP, DATE):
        try:
            moment = parse_timestamp(str(value))
        except (ValueError, OverflowError):
            return None
        return Literal(moment if wanted == TIMESTAMP else moment // 86_400_000_000, wanted)
    if not isinstance(value, int | float | Decimal) or not is_numeric(wanted):
        return None
    if wanted in (FLOAT, DOUBLE):
        return Literal(float(value), wanted)
    if isinstance(wanted, DecimalType) and not isinstance(value, float):
        return Literal(Decimal(value), wanted)
    widens = common_type(literal.type, wanted) == wanted
    return Literal(value, wanted) if widens else _narrowed(value, wanted)


def _narrowed(value: float | Decimal, wanted: Type) -> Literal | None:
    """A whole number that fits into a smaller integer type."""
    bits = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}.get(wanted.name)
    fits = bits is not None and isinstance(value, int) and -(2**bits) <= value < 2**bits
    return Literal(value, wanted) if fits else None
