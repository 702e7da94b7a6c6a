"""The SQL types of columns and expressions, and how they combine (Spark SQL's rules)."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Type:
    """A type without parameters; those with parameters are its subclasses."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class DecimalType(Type):
    """Exact numbers: `precision` digits in all, `scale` of them after the point."""

    precision: int = 10
    scale: int = 0

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True)
class ArrayType(Type):
    element: Type = Type("NULL")

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class StructType(Type):
    fields: tuple[tuple[str, Type], ...] = ()

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(f'{_field_name(name)}: {of}' for name, of in self.fields)}>"


@dataclass(frozen=True)
class MapType(ArrayType):
    """Held as the array of its entries, in the order in which they were written."""

    @property
    def key(self) -> Type:
        return self._entry.fields[0][1]

    @property
    def value(self) -> Type:
        return self._entry.fields[1][1]

    @property
    def _entry(self) -> StructType:
        assert isinstance(self.element, StructType), self.element
        return self.element

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


def _field_name(name: str) -> str:
    """Quoted unless it is one plain word."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name) else '"' + name.replace('"', '""') + '"'


BOOLEAN = Type("BOOLEAN")
TINYINT = Type("TINYINT")
SMALLINT = Type("SMALLINT")
INT = Type("INT")
BIGINT = Type("BIGINT")
FLOAT = Type("FLOAT")
DOUBLE = Type("DOUBLE")
STRING = Type("STRING")
BINARY = Type("BINARY")
DATE = Type("DATE")
TIMESTAMP = Type("TIMESTAMP")
INTERVAL = Type("INTERVAL")
NULL = Type("NULL")  # the type of a bare NULL, which fits everywhere

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}  # as decimals, in Spark SQL
MAX_PRECISION = 38
MIN_DIVISION_SCALE = 6

SIMPLE_TYPES: dict[str, Type] = {
    of.name: of for of in (BOOLEAN, *INTEGERS, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, INTERVAL)
}


def decimal(precision: int, scale: int) -> DecimalType:
    """A decimal that fits in 38 digits, giving up digits after the point before those in front of it."""
    if precision <= MAX_PRECISION:
        return DecimalType("DECIMAL", precision, scale)
    whole = precision - scale
    return DecimalType("DECIMAL", MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, MIN_DIVISION_SCALE)))


def bounded_decimal(precision: int, scale: int) -> DecimalType:
    """A decimal of that scale, with as many digits in front of the point as 38 leave."""
    return DecimalType("DECIMAL", min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


def literal_type(value: int) -> DecimalType:
    """A written integer beside a decimal has just the digits that it is written with."""
    return DecimalType("DECIMAL", len(str(abs(value))), 0)


def array(element: Type) -> ArrayType:
    return ArrayType("ARRAY", element)


def struct(*fields: tuple[str, Type]) -> StructType:
    return StructType("STRUCT", fields)


def map_of(key: Type, value: Type) -> MapType:
    return MapType("MAP", struct(("key", key), ("value", value)))


def is_integer(of: Type) -> bool:
    return of in INTEGERS


def is_numeric(of: Type) -> bool:
    return of in INTEGERS or of in (FLOAT, DOUBLE, NULL) or isinstance(of, DecimalType)


def is_nested(of: Type) -> bool:
    return isinstance(of, ArrayType | StructType)


def as_decimal(of: Type) -> DecimalType | None:
    """An integer or decimal type as a decimal; None for the others."""
    if isinstance(of, DecimalType):
        return of
    return decimal(DIGITS[of], 0) if of in DIGITS else None


def common_type(left: Type, right: Type) -> Type | None:
    """The type that both fit in without being written as CAST; None when there is none."""
    if left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if is_numeric(left) and is_numeric(right):
        return _common_numeric(left, right)
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    return None


def _common_numeric(left: Type, right: Type) -> Type:
    if left in INTEGERS and right in INTEGERS:
        return INTEGERS[max(INTEGERS.index(left), INTEGERS.index(right))]
    if left == FLOAT and right == FLOAT:
        return FLOAT
    a, b = as_decimal(left), as_decimal(right)
    if a is None or b is None:
        return DOUBLE
    whole, scale = max(a.precision - a.scale, b.precision - b.scale), max(a.scale, b.scale)
    return bounded_decimal(whole + scale, min(scale, max(0, MAX_PRECISION - whole)))


def arithmetic_type(operator: str, left: Type, right: Type) -> Type | None:
    """The type of `left operator right`; None when the operator does not apply."""
    if is_numeric(left) and is_numeric(right):
        return _numeric_result(operator, left, right)
    return _temporal_result(operator, left, right)


def _numeric_result(operator: str, left: Type, right: Type) -> Type:
    if left == NULL or right == NULL:
        return common_type(left, right) or NULL
    a, b = as_decimal(left), as_decimal(right)
    if operator == "/":
        exact = a is not None and b is not None and DecimalType in (type(left), type(right))
        return _decimal_result("/", a, b) if exact and a and b else DOUBLE
    common = _common_numeric(left, right)
    if isinstance(common, DecimalType) and a and b:
        return _decimal_result(operator, a, b)
    return common


def _decimal_result(operator: str, a: DecimalType, b: DecimalType) -> DecimalType:
    if operator == "*":
        return decimal(a.precision + b.precision + 1, a.scale + b.scale)
    if operator == "/":
        scale = max(MIN_DIVISION_SCALE, a.scale + b.precision + 1)
        return decimal(a.precision - a.scale + b.scale + scale, scale)
    whole = max(a.precision - a.scale, b.precision - b.scale)
    scale = max(a.scale, b.scale)
    if operator == "%":
        return decimal(min(a.precision - a.scale, b.precision - b.scale) + scale, scale)
    return decimal(whole + scale + 1, scale)


def _temporal_result(operator: str, left: Type, right: Type) -> Type | None:
    moments = (TIMESTAMP, DATE)
    if operator in "+-" and left in moments and right in (INTERVAL, NULL):
        return TIMESTAMP
    if operator == "+" and left in (INTERVAL, NULL) and right in moments:
        return TIMESTAMP
    if operator == "-" and left in moments and right in moments:
        return INTERVAL
    if operator in "+-" and {left, right} <= {INTERVAL, NULL}:
        return INTERVAL
    if operator == "*" and INTERVAL in (left, right) and (is_numeric(left) or is_numeric(right)):
        return INTERVAL
    if operator == "/" and left == INTERVAL and is_numeric(right):
        return INTERVAL
    return None
