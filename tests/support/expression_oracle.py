"""The oracle of expressions: every call is recomputed on its own, by DuckDB or, where Spark SQL means something else,
by a plain Python function of one row. `SPARK` is the list of those cases, each with the reason.

Nothing here is shared with the kernels. What Spark SQL refuses at run time (an overflow, a text that is no number) is
null, as everywhere in Windrow: a bad row never stops a query.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import duckdb
import pyarrow as pa

from support.spark_casts import EPOCH, as_type, fit, micros, python_value, shortest, single, within
from windrow.batch import arrow_type
from windrow.plan.expressions import Call, Case, Cast, ColumnReference, Expression, Literal
from windrow.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    DecimalType,
    Type,
    common_type,
)

DUCKDB = duckdb.connect(config={"threads": 1})
for option in ("ieee_floating_point_ops = false", "error_on_division_by_zero = false", "TimeZone = 'UTC'"):
    with contextlib.suppress(duckdb.CatalogException):  # older versions give null without being asked
        DUCKDB.execute(f"SET GLOBAL {option}")
Values = list[Any]


def expected(expression: Expression, rows: dict[str, Values], count: int) -> Values:
    """The value of an expression in every row."""
    if isinstance(expression, ColumnReference):
        return rows[expression.name.rpartition(".")[2]]
    if isinstance(expression, Literal):
        return [python_value(expression)] * count
    if isinstance(expression, Cast):
        source = expected(expression.argument, rows, count)
        return [as_type(value, expression.argument.type, expression.type) for value in source]
    if isinstance(expression, Case):
        parts = [
            (expected(when, rows, count), of_type(then, expression.type, rows, count))
            for when, then in expression.branches
        ]
        otherwise = of_type(expression.otherwise, expression.type, rows, count)
        return [next((then[row] for when, then in parts if when[row] is True), otherwise[row]) for row in range(count)]
    assert isinstance(expression, Call)
    return called(expression, [expected(argument, rows, count) for argument in expression.arguments])


def of_type(expression: Expression, of: Type, rows: dict[str, Values], count: int) -> Values:
    return [as_type(value, expression.type, of) for value in expected(expression, rows, count)]


def called(call: Call, arguments: Sequence[Values]) -> Values:
    types = [argument.type for argument in call.arguments]
    reference = SPARK.get(call.function)
    if reference is not None and reference.applies(types):
        return [
            None if reference.strict and None in row else reference.compute(call, types, *row)
            for row in zip(*arguments, strict=True)
        ]
    return by_duckdb(call, types, arguments)


def by_duckdb(call: Call, types: Sequence[Type], arguments: Sequence[Values]) -> Values:
    """Numbers are cast to the type of the call first, as Spark does; intervals go as microseconds."""
    if call.type in (DOUBLE, FLOAT) and call.function in "+-*/%":
        arguments = [[as_type(v, of, call.type) for v in values] for values, of in zip(arguments, types, strict=True)]
        types = [call.type] * len(types)
    columns = [_sent(values, of) for values, of in zip(arguments, types, strict=True)]
    names = [f"c{place}" for place in range(len(columns))]
    shared = _common(types) if call.function in SHARED else None
    words = [name if shared is None else f"CAST({name} AS {sql_name(shared)})" for name in names]
    form = FORMS.get(call.function, f"{call.function}({', '.join(words)})")
    if call.function in ("EXTRACT", "DATE_TRUNC"):
        assert isinstance(call.arguments[0], Literal)
        form = form.replace("{0}", str(call.arguments[0].value))
    if call.function in ("AND", "OR"):
        form = f" {call.function} ".join(words)
    elif call.function == "IN":
        form = f"{words[0]} IN ({', '.join(words[1:])})"
    sql = f"SELECT CAST(TRY({form.format(*words)}) AS {sql_name(call.type)}) FROM arguments"
    with DUCKDB.cursor() as cursor:
        cursor.register("arguments", pa.table(columns, names=names))
        found = cursor.sql(sql).to_arrow_table().column(0)
    return (
        found.cast(pa.int64() if call.type == INTERVAL else arrow_type(call.type))
        .cast(arrow_type(call.type))
        .to_pylist()
    )


def _sent(values: Values, of: Type) -> pa.Array:
    array = pa.array(values, arrow_type(of))
    return array.cast(pa.int64()) if of == INTERVAL else array


SHARED = ("=", "<>", "<", "<=", ">", ">=", "IN", "IS DISTINCT FROM", "GREATEST", "LEAST", "COALESCE", "NULLIF")
FORMS = {
    **{operator: f"{{}} {operator} {{}}" for operator in ("+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=")},
    "NEGATE": "-{}",
    "NOT": "NOT {}",
    "IS NULL": "{} IS NULL",
    "IS DISTINCT FROM": "{} IS DISTINCT FROM {}",
    "||": "{} || {}",
    "NULLIF": "CASE WHEN {} = {} THEN NULL ELSE c0 END",
    "IF": "CASE WHEN {} THEN {} ELSE {} END",
    "EXTRACT": "extract('{0}' FROM CAST(c1 AS TIMESTAMP))",
    "DATE_TRUNC": "date_trunc('{0}', CAST(c1 AS TIMESTAMP))",
    "DAYOFWEEK": "dayofweek({}) + 1",  # Sunday is 1 in Spark SQL, 0 in DuckDB
    "UNIX_MICROS": "epoch_us({})",
    "TIMESTAMP_MICROS": "make_timestamp({})",
    "TO_DATE": "CAST({} AS DATE)",
    "POSITION": "position({} IN {})",
    "REGEXP_LIKE": "regexp_matches({}, {})",
}


def _common(types: Sequence[Type]) -> Type:
    result: Type = NULL
    for of in types:
        result = common_type(result, of) or result
    return result


def sql_name(of: Type) -> str:
    return {TIMESTAMP: "TIMESTAMPTZ", INTERVAL: "BIGINT", NULL: "BOOLEAN"}.get(of, str(of))


class Reference:
    """A function of one row, for the types it is needed for; `strict`: null when an argument is."""

    def __init__(
        self,
        compute: Callable[..., Any],
        applies: Callable[[Sequence[Type]], bool] = lambda _: True,
        strict: bool = True,
    ) -> None:
        self.compute, self.applies, self.strict = compute, applies, strict


def any_decimal(types: Sequence[Type]) -> bool:
    return any(isinstance(of, DecimalType) for of in types) and not any(of in (DOUBLE, FLOAT, INTERVAL) for of in types)


def temporal(types: Sequence[Type]) -> bool:
    return any(of in (TIMESTAMP, DATE, INTERVAL) for of in types)


def _arithmetic(call: Call, types: Sequence[Type], a: Any, b: Any) -> Any:
    """Decimals: DuckDB divides them as doubles and refuses wide ones. Times: its intervals have months and days."""
    if temporal(types):
        return _time_arithmetic(call, types, a, b)
    if not isinstance(call.type, DecimalType):
        return None if b == 0 else int(math.copysign(1, a)) * (abs(a) % abs(b))
    a, b = Decimal(a), Decimal(b)
    if call.function in "/%" and b == 0:
        return None
    with localcontext() as context:
        context.prec = 200
        exact = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b, "%": lambda: a % b}[
            call.function
        ]()
        return fit(exact, call.type)


def _time_arithmetic(call: Call, types: Sequence[Type], a: Any, b: Any) -> Any:
    if call.function in "+-":
        total = micros(a) + micros(b) * (1 if call.function == "+" else -1)
    else:
        interval, number = (a, b) if types[0] == INTERVAL else (b, a)
        if call.function == "/" and number == 0:
            return None
        if isinstance(number, float):
            product = micros(interval) * number if call.function == "*" else micros(interval) / number
            if not math.isfinite(product) or abs(product) >= 2**63:
                return None
            number, interval = 1, timedelta(microseconds=int(math.copysign(math.floor(abs(product) + 0.5), product)))
        with localcontext() as context:
            context.prec = 100
            exact = (
                Decimal(micros(interval)) * Decimal(number)
                if call.function == "*"
                else Decimal(micros(interval)) / Decimal(number)
            )
            total = int(exact.quantize(Decimal(1), ROUND_HALF_UP))
    if abs(total) > 2**63 - 1:
        return None
    try:
        return EPOCH + timedelta(microseconds=total) if call.type == TIMESTAMP else timedelta(microseconds=total)
    except OverflowError:
        return None


def _rounded(call: Call, types: Sequence[Type], value: Any, digits: int = 0) -> Any:
    """Half away from zero, of doubles by their shortest text; DuckDB goes by the binary value."""
    if isinstance(value, float):
        value = shortest(value, types[0])
        if not math.isfinite(value):
            return value
        with localcontext() as context:
            context.prec = 700
            rounded = float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
            return single(rounded) if call.type == FLOAT else rounded
    if isinstance(value, Decimal):
        assert isinstance(call.type, DecimalType)
        kept = min(digits, call.type.scale)
        with localcontext() as context:
            context.prec = 200
            return fit(value.quantize(Decimal(1).scaleb(-kept), ROUND_HALF_UP), call.type)
    if digits >= 0:
        return value
    rounded = int(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
    return rounded if within(rounded, call.type) else None


def _whole(function: Callable[[Any], int]) -> Callable[..., Any]:
    def compute(call: Call, types: Sequence[Type], value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        whole = function(value)
        if isinstance(call.type, DecimalType):
            return fit(Decimal(whole), call.type)
        return whole if within(whole, call.type) else None

    return compute


def _log(call: Call, types: Sequence[Type], base: Any, value: Any) -> Any:
    base, value = float(base), float(value)
    if base <= 0 or value <= 0:
        return None
    one, other = java_log(value), java_log(base)
    if other == 0:
        return math.nan if one == 0 or one != one else math.copysign(math.inf, one)
    return one / other if not (math.isinf(one) and math.isinf(other)) else math.nan


def java_log(value: float) -> float:
    return math.inf if value == math.inf else math.log(value)


def _power(call: Call, types: Sequence[Type], a: Any, b: Any) -> Any:
    """As Java: 1 to the power of NaN or infinity is NaN; C says 1."""
    a, b = float(a), float(b)
    if b == 0:
        return 1.0
    if a != a or b != b or (abs(a) == 1 and math.isinf(b)):
        return math.nan
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        if a == 0:
            return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
        return math.nan


def _exp(call: Call, types: Sequence[Type], value: Any) -> float:
    try:
        return math.exp(float(value))
    except OverflowError:
        return math.inf


def _sign(call: Call, types: Sequence[Type], value: Any) -> float:
    number = float(value)
    return number if number == 0 or number != number else math.copysign(1.0, number)


def _sqrt(call: Call, types: Sequence[Type], value: Any) -> float:
    return math.sqrt(float(value)) if float(value) >= 0 or math.isnan(float(value)) else math.nan


def _like(call: Call, types: Sequence[Type], text: str, pattern: str) -> Any:
    """A backslash escapes; DuckDB has no escape unless one is written."""
    expression, place = "", 0
    while place < len(pattern):
        sign = pattern[place]
        if sign == "\\":
            place += 1
            if pattern[place : place + 1] not in ("\\", "%", "_"):
                return None
            expression += re.escape(pattern[place])
        else:
            expression += {"%": ".*", "_": "."}.get(sign, re.escape(sign))
        place += 1
    return re.fullmatch(expression, text, re.DOTALL) is not None


def _substring(call: Call, types: Sequence[Type], text: str, start: int, length: int | None = None) -> str:
    """Spark's substringSQL: 0 is 1, and a start before the text uses up the length."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = begin + (2**31 if length is None else length)
    return text[max(begin, 0) : end] if end > max(begin, 0) else ""


def _split_part(call: Call, types: Sequence[Type], text: str, delimiter: str, number: int) -> str | None:
    parts = text.split(delimiter) if delimiter else [text]
    if number == 0:
        return None
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""


def _concat(call: Call, types: Sequence[Type], *values: Any) -> Any:
    if call.type != STRING:
        return b"".join(values)
    return "".join(as_type(value, of, STRING) for value, of in zip(values, types, strict=True))


# Where DuckDB and Spark SQL differ, Spark's meaning as a function of one row.
SPARK: dict[str, Reference] = {
    # Decimals: types and rounding are Spark's. Times: an interval is a number of microseconds.
    **{op: Reference(_arithmetic, lambda types: any_decimal(types) or temporal(types)) for op in "+-*/%"},
    # DuckDB has no -2^63 % -1, which is 0.
    "%": Reference(_arithmetic, lambda types: any_decimal(types) or all(of in INTEGERS for of in types)),
    "NEGATE": Reference(lambda call, types, value: -value, lambda types: types[0] == INTERVAL),
    "ABS": Reference(lambda call, types, value: abs(value), lambda types: types[0] == INTERVAL),
    "ROUND": Reference(_rounded),
    "CEIL": Reference(_whole(math.ceil)),  # gives BIGINT; DuckDB keeps DOUBLE
    "FLOOR": Reference(_whole(math.floor)),
    "SIGN": Reference(_sign),  # gives DOUBLE and knows NaN
    "SQRT": Reference(_sqrt),  # NaN below zero; DuckDB stops
    "EXP": Reference(_exp),  # infinite above 709; DuckDB stops
    "LN": Reference(lambda call, types, value: java_log(float(value)) if value > 0 or value != value else None),
    "LOG10": Reference(lambda call, types, value: math.log10(float(value)) if value > 0 or value != value else None),
    "LOG": Reference(_log),  # base 1 divides by zero
    "POWER": Reference(_power),
    "LIKE": Reference(_like),
    "SUBSTRING": Reference(_substring),
    "LEFT": Reference(lambda call, types, text, count: text[: max(count, 0)]),  # DuckDB counts below zero from the end
    "RIGHT": Reference(
        lambda call, types, text, count: (
            text[len(text) - count :] if 0 < count <= len(text) else text if count > 0 else ""
        )
    ),
    "SPLIT_PART": Reference(_split_part),  # an empty delimiter splits nothing
    "CONCAT": Reference(_concat),  # null when a part is null; DuckDB skips nulls
    "||": Reference(_concat),  # numbers and times have Spark's texts
    "UPPER": Reference(lambda call, types, text: text.upper()),  # whole words: ß becomes SS
    "LOWER": Reference(lambda call, types, text: text.lower()),
    "REPLACE": Reference(lambda call, types, text, search, by: text.replace(search, by) if search else text),
}
