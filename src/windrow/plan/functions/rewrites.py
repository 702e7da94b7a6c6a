"""Functions that are other expressions under a name of their own: they become those when they are bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from windrow.plan.expressions import Case, Cast, Expression, Literal
from windrow.plan.functions.table import call, promoted
from windrow.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
    decimal,
    is_integer,
    is_numeric,
)


@dataclass(frozen=True)
class Rewrite:
    usage: str
    fewest: int
    most: int | None
    build: Callable[..., Expression]

    @property
    def name(self) -> str:
        return self.usage.partition("(")[0]


def _null(value: Expression) -> Expression:
    return call("IS NULL", value)


def _present(value: Expression) -> Expression:
    return call("NOT", _null(value))


def _number(value: int, of: Type = INT) -> Expression:
    return Literal(value, of)


def _cast(value: Expression, of: Type) -> Expression:
    return value if value.type == of else Cast(value, of)


def _casting(of: Type) -> Callable[[Expression], Expression]:
    return lambda value: _cast(value, of)


def _if(condition: Expression, one: Expression, other: Expression) -> Expression:
    return call("IF", condition, one, other)


def _decoded(value: Expression, *rest: Expression) -> Expression:
    """DECODE(x, key, value, ..., otherwise); with one argument more it is the function of bytes."""
    if len(rest) == 1:
        return call("DECODE", value, *rest)
    pairs = list(zip(rest[::2], rest[1::2], strict=False))
    otherwise = rest[-1] if len(rest) % 2 else Literal(None, NULL)
    branches = tuple((call("NOT", call("IS DISTINCT FROM", value, key)), then) for key, then in pairs)
    return Case(branches, otherwise, promoted([*(then for _, then in branches), otherwise]))


def _to_timestamp(source: Expression, *pattern: Expression) -> Expression:
    if is_numeric(source.type) and not pattern:
        return call("TIMESTAMP_SECONDS", source)
    return call("PARSE_TIMESTAMP", source, *pattern) if pattern else _cast(source, TIMESTAMP)


def _to_date(source: Expression, *pattern: Expression) -> Expression:
    if pattern:
        return _cast(call("PARSE_TIMESTAMP", source, *pattern), DATE)
    return Cast(source, DATE) if source.type == STRING else call("TO_DATE", source)


def _from_unix_time(seconds: Expression, *pattern: Expression) -> Expression:
    text = pattern[0] if pattern else Literal("yyyy-MM-dd HH:mm:ss", STRING)
    return call("DATE_FORMAT", call("TIMESTAMP_SECONDS", seconds), text)


def _converted(*arguments: Expression) -> Expression:
    """CONVERT_TIMEZONE(from, to, time); from UTC where only one zone is given."""
    *source, target, time = arguments
    universal = call("TO_UTC_TIMESTAMP", time, source[0]) if source else time
    return call("FROM_UTC_TIMESTAMP", universal, target)


def _absent_element(source: Expression, place: Expression) -> Expression:
    return call("ELEMENT", source, place)


def _day_difference(end: Expression, start: Expression, *more: Expression) -> Expression:
    """DATEDIFF(end, start), or DATEDIFF(unit, start, end)."""
    return call("TIMESTAMPDIFF", end, start, *more) if more else call("DATEDIFF", end, start)


def _added_days(first: Expression, second: Expression, *more: Expression) -> Expression:
    """DATE_ADD(date, days), or DATEADD(unit, count, time)."""
    return call("TIMESTAMPADD", first, second, *more) if more else call("DATE_ADD", first, second)


def _zero(like: Expression) -> Expression:
    return Literal(0, INT) if is_integer(like.type) or like.type == NULL else Literal(Decimal(0), decimal(1, 0))


_TYPES = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": TINYINT,
    "SMALLINT": SMALLINT,
    "INT": INT,
    "BIGINT": BIGINT,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "TIMESTAMP": TIMESTAMP,
    "DECIMAL": decimal(10, 0),
}
_ARITHMETIC = {"TRY_ADD": "+", "TRY_SUBTRACT": "-", "TRY_MULTIPLY": "*", "TRY_DIVIDE": "/", "TRY_MOD": "%", "MOD": "%"}


def _operator(symbol: str) -> Callable[[Expression, Expression], Expression]:
    return lambda left, right: call(symbol, left, right)


_ALL = (
    *(Rewrite(f"{name}(x)", 1, 1, _casting(of)) for name, of in _TYPES.items()),
    *(Rewrite(f"{name}(a, b)", 2, 2, _operator(symbol)) for name, symbol in _ARITHMETIC.items()),
    Rewrite("E()", 0, 0, lambda: Literal(math.e, DOUBLE)),
    Rewrite("PI()", 0, 0, lambda: Literal(math.pi, DOUBLE)),
    Rewrite("NEGATIVE(x)", 1, 1, lambda value: call("NEGATE", value)),
    Rewrite("POSITIVE(x)", 1, 1, lambda value: value),
    Rewrite("NVL2(x, a, b)", 3, 3, lambda value, one, other: _if(_present(value), one, other)),
    Rewrite("ISNULL(x)", 1, 1, _null),
    Rewrite("ISNOTNULL(x)", 1, 1, _present),
    Rewrite("EQUAL_NULL(a, b)", 2, 2, lambda one, other: call("NOT", call("IS DISTINCT FROM", one, other))),
    Rewrite("NULLIFZERO(x)", 1, 1, lambda value: call("NULLIF", value, _zero(value))),
    Rewrite("ZEROIFNULL(x)", 1, 1, lambda value: call("COALESCE", value, _zero(value))),
    Rewrite("DECODE(x, key, value, ... [, otherwise])", 2, None, _decoded),
    *(
        Rewrite(f"{name}(text, search)", 2, 2, lambda text, search: call("POSITION", search, text))
        for name in ("INSTR", "STRPOS")
    ),
    Rewrite("SPACE(count)", 1, 1, lambda count: call("REPEAT", Literal(" ", STRING), count)),
    Rewrite("BIT_LENGTH(x)", 1, 1, lambda value: call("*", call("OCTET_LENGTH", value), _number(8))),
    Rewrite("TO_TIMESTAMP(text [, format])", 1, 2, _to_timestamp),
    Rewrite("TRY_TO_TIMESTAMP(text [, format])", 1, 2, _to_timestamp),
    Rewrite("TO_TIMESTAMP_LTZ(text [, format])", 1, 2, _to_timestamp),
    Rewrite("STRPTIME(text, format)", 2, 2, _to_timestamp),
    Rewrite("TO_DATE(text or time [, format])", 1, 2, _to_date),
    Rewrite("TRY_TO_DATE(text [, format])", 1, 2, _to_date),
    Rewrite("DATE(x)", 1, 1, _to_date),
    Rewrite("FROM_UNIXTIME(seconds [, format])", 1, 2, _from_unix_time),
    Rewrite("CONVERT_TIMEZONE([from,] to, time)", 2, 3, _converted),
    Rewrite("TIMEZONE(zone, time)", 2, 2, _converted),
    Rewrite("DATE_SUB(date, days)", 2, 2, lambda day, count: call("DATE_ADD", day, call("NEGATE", count))),
    Rewrite("DATEDIFF(end, start)", 2, 3, _day_difference),
    Rewrite("DATE_DIFF(unit, start, end)", 2, 3, _day_difference),
    Rewrite("DATE_ADD(date, days)", 2, 3, _added_days),
    Rewrite("DATEADD(unit, count, time)", 2, 3, _added_days),
    Rewrite("GET(array, place)", 2, 2, _absent_element),
    Rewrite("TYPEOF(x)", 1, 1, lambda value: Literal(str(value.type).lower(), STRING)),
)
REWRITES: dict[str, Rewrite] = {rewrite.name: rewrite for rewrite in _ALL}
