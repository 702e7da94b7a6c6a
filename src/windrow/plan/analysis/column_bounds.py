"""What a predicate demands of single columns: comparisons of a column with constants, where they are exact.

Of types that are compared as they are: integers and decimals with integers and decimals, floating-point numbers with
any number as doubles, times and Booleans with their own kind, and strings only for being equal. A comparison that would
round the column is none of these, and neither is one of the widest decimals.
"""

from __future__ import annotations

from typing import NamedTuple

from windrow.plan.expressions import Call, ColumnReference, Expression, Literal
from windrow.plan.functions import conjuncts
from windrow.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL,
    STRING,
    TIMESTAMP,
    DecimalType,
    Type,
    is_integer,
    is_numeric,
)

_TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DIGITS = 18  # of decimals that are held as one integer
_EXACT_DOUBLE = 2**53  # integers below it are doubles


class ColumnBound(NamedTuple):
    """`column operator constant`, or `column IN (constants)`."""

    column: ColumnReference
    operator: str
    constants: tuple[Literal, ...]


class PredicateParts(NamedTuple):
    """A predicate in parts, all of which have to hold."""

    bounds: tuple[ColumnBound, ...]
    others: tuple[Expression, ...]


def demands_of(predicate: Expression) -> PredicateParts:
    found = [(part, _bound(part)) for part in _parts(predicate)]
    bounds = tuple(bound for _, bound in found if bound is not None)
    return PredicateParts(bounds, tuple(part for part, bound in found if bound is None))


def _parts(predicate: Expression) -> tuple[Expression, ...]:
    parts = conjuncts(predicate)
    return parts if parts == (predicate,) else tuple(inner for part in parts for inner in _parts(part))


def _bound(part: Expression) -> ColumnBound | None:
    if not isinstance(part, Call) or part.function not in (*_TURNED, "IN"):
        return None
    column, *others = part.arguments
    operator = part.function
    if isinstance(column, Literal) and operator != "IN":
        column, others, operator = others[0], [column], _TURNED[operator]
    constants = tuple(one for one in others if isinstance(one, Literal))
    if not isinstance(column, ColumnReference) or len(constants) < len(others):
        return None
    if operator == "IN":  # what is equal to none of the others is not in a list with a null either
        constants = tuple(one for one in constants if one.value is not None)
    is_exact = bool(constants) and all(_is_exact(column.type, operator, one) for one in constants)
    return ColumnBound(column, operator, constants) if is_exact else None


def _is_exact(column: Type, operator: str, constant: Literal) -> bool:
    value, of = constant.value, constant.type
    if value is None:
        return False
    if column in (DOUBLE, FLOAT):
        return is_numeric(of) and (column == DOUBLE or operator != "IN")  # the members of a list have one type
    if is_integer(column) or _is_narrow(column):
        if isinstance(value, float):  # both are compared as doubles
            return is_integer(column) and operator != "IN" and abs(value) < _EXACT_DOUBLE
        return is_integer(of) or _is_narrow(of)
    if column in (STRING, BINARY):
        return of == column and operator in ("=", "IN")
    return of == column and column in (DATE, TIMESTAMP, INTERVAL, BOOLEAN)


def _is_narrow(of: Type) -> bool:
    return isinstance(of, DecimalType) and of.precision <= _DIGITS
