"""Expressions as CQL text; what is printed here is read back as the same expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal

from windrow.plan.expressions import AggregateCall, Call, Case, Cast, ColumnReference, Expression, Literal, SortKey
from windrow.plan.printer.names import column_name, identifier
from windrow.types import BINARY, DATE, DOUBLE, FLOAT, INTERVAL, STRING, TIMESTAMP, Type
from windrow.units import format_duration, format_timestamp

# How tightly each operator binds; arguments that bind less tightly are put in parentheses.
_OR, _AND, _NOT, _COMPARE, _CONCAT, _SUM, _PRODUCT, _UNARY, _ATOM = range(9)
_BINARY = {
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "LIKE", "IS DISTINCT FROM"), _COMPARE),
    **dict.fromkeys(("||", "&", "|", "^"), _CONCAT),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
}


def expression_text(expression: Expression) -> str:
    return ExpressionPrinter().text(expression)


class ExpressionPrinter:
    """Prints expressions; columns in `meanings` (keys and aggregates of a GROUP BY) as what they stand for."""

    def __init__(self, meanings: Mapping[str, Expression | AggregateCall] | None = None) -> None:
        self._meanings = meanings or {}

    def text(self, expression: Expression) -> str:
        return self._print(expression)[0]

    def _print(self, expression: Expression) -> tuple[str, int]:
        if isinstance(expression, ColumnReference):
            meaning = self._meanings.get(expression.name)
            if meaning is None:
                return column_name(expression.name), _ATOM
            return (aggregate_text(meaning), _ATOM) if isinstance(meaning, AggregateCall) else _plain(meaning)
        if isinstance(expression, Literal):
            return literal_text(expression), _ATOM
        if isinstance(expression, Cast):
            return f"CAST({self.text(expression.argument)} AS {expression.type})", _ATOM
        if isinstance(expression, Case):
            return self._case(expression), _ATOM
        return self._call(expression)

    def _call(self, call: Call) -> tuple[str, int]:
        name, arguments = call.function, call.arguments
        if name in ("AND", "OR"):
            level = _AND if name == "AND" else _OR
            return f" {name} ".join(self.wrapped(part, level + 1) for part in arguments), level
        if name in _BINARY:
            level = _BINARY[name]
            tighter = level + 1  # comparisons do not chain; the others chain to the left
            left = self.wrapped(arguments[0], tighter if level == _COMPARE else level)
            return f"{left} {name} {self.wrapped(arguments[1], tighter)}", level
        if name == "NOT":
            return f"NOT {self.wrapped(arguments[0], _ATOM)}", _NOT
        if name in ("NEGATE", "~"):
            return f"{'-' if name == 'NEGATE' else '~'}{self.wrapped(arguments[0], _ATOM)}", _UNARY
        if name == "IS NULL":
            return f"{self.wrapped(arguments[0], _CONCAT)} IS NULL", _COMPARE
        if name == "IN":
            return f"{self.wrapped(arguments[0], _CONCAT)} IN ({self._list(arguments[1:])})", _COMPARE
        if name == "EXTRACT" and isinstance(arguments[0], Literal) and isinstance(arguments[0].value, str):
            return f"EXTRACT({arguments[0].value} FROM {self.text(arguments[1])})", _ATOM
        if name in ("FIELD", "ELEMENT"):
            return self._access(call), _ATOM
        return f"{name}({self._list(arguments)})", _ATOM

    def _access(self, call: Call) -> str:
        """A field or an element; what stands before a dot is in parentheses unless it is `relation.column`."""
        source, place = call.arguments
        text, level = self._print(source)
        if call.function == "ELEMENT":
            return f"{text if level >= _ATOM else f'({text})'}[{self.text(place)}]"
        assert isinstance(place, Literal) and isinstance(place.value, str), place
        known = isinstance(source, Call) and source.function in ("FIELD", "ELEMENT")
        plain = known or (isinstance(source, ColumnReference) and "." in source.name)
        return f"{text if plain else f'({text})'}.{identifier(place.value)}"

    def wrapped(self, expression: Expression, level: int) -> str:
        """In parentheses when it binds less tightly than `level`."""
        text, own = self._print(expression)
        return text if own >= level else f"({text})"

    def conjunct(self, expression: Expression) -> str:
        """As it stands between ANDs."""
        return self.wrapped(expression, _AND + 1)

    def _list(self, expressions: tuple[Expression, ...]) -> str:
        return ", ".join(self.text(part) for part in expressions)

    def _case(self, case: Case) -> str:
        branches = "".join(f" WHEN {self.text(when)} THEN {self.text(then)}" for when, then in case.branches)
        empty = isinstance(case.otherwise, Literal) and case.otherwise.value is None
        otherwise = "" if empty else f" ELSE {self.text(case.otherwise)}"
        return f"CASE{branches}{otherwise} END"


def _plain(expression: Expression) -> tuple[str, int]:
    return ExpressionPrinter()._print(expression)


def literal_text(literal: Literal) -> str:
    value = literal.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if literal.type in _LITERALS:
        return _LITERALS[literal.type](value)
    return _decimal_text(value) if isinstance(value, Decimal) else str(value)


def _string_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _date_text(days: int) -> str:
    return f"DATE '{date(1970, 1, 1) + timedelta(days=days)}'"


def _decimal_text(value: Decimal) -> str:
    """With a point, so that it is not read back as an integer."""
    text = format(value, "f")
    return text if "." in text else f"{text}."


def _double_text(value: float) -> str:
    """With an exponent, so that it is not read back as an exact decimal."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


_LITERALS: dict[Type, Callable[..., str]] = {
    STRING: _string_text,
    BINARY: lambda digits: f"X'{digits}'",
    TIMESTAMP: lambda value: f"TIMESTAMP '{format_timestamp(value)}'",
    DATE: _date_text,
    INTERVAL: lambda value: f"INTERVAL '{format_duration(value)}'",
    DOUBLE: _double_text,
    FLOAT: _double_text,
}


def aggregate_text(call: AggregateCall) -> str:
    distinct = "DISTINCT " if call.distinct else ""
    return f"{call.function}({distinct}{', '.join(map(expression_text, call.arguments)) or '*'})"


def sort_key_text(key: SortKey) -> str:
    """Nulls are named only where they are not where Spark SQL puts them: first when ascending, last when not."""
    direction = " DESC" if key.descending else ""
    usual = key.nulls_first != key.descending
    nulls = "" if usual else f" NULLS {'FIRST' if key.nulls_first else 'LAST'}"
    return f"{expression_text(key.expression)}{direction}{nulls}"
