"""Scalar functions and operators: which arguments they take and what type they give (Spark SQL's meaning).

A function is a name and a typing rule; the kernels that compute it are elsewhere, under the same name.
Operators are functions with a symbol for a name, so that an expression has one form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windrow.plan.expressions import Call, ColumnReference, Expression, Literal
from windrow.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    DecimalType,
    Type,
    arithmetic_type,
    bounded_decimal,
    common_type,
    is_integer,
    is_nested,
    is_numeric,
    literal_type,
)

TypingRule = Callable[[Sequence[Type]], Type]


class SignatureError(Exception):
    """The arguments do not fit; the hint says what the function takes."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Function:
    name: str
    usage: str  # how it is written, for messages
    fewest: int
    most: int | None  # None: any number
    rule: TypingRule


def call(name: str, *arguments: Expression) -> Call:
    """A typed call; SignatureError when the arguments do not fit."""
    function = FUNCTIONS[name]
    try:
        check_count(len(arguments), function.fewest, function.most)
        return Call(name, arguments, function.rule(_types(name, arguments)))
    except SignatureError as error:
        prefix = f"{name}: " if name in scalar_names() or name == "LIKE" else ""
        raise SignatureError(f"{prefix}{error}", error.hint or f"write {function.usage}") from None


def _types(name: str, arguments: Sequence[Expression]) -> list[Type]:
    types = [argument.type for argument in arguments]
    if name not in _ARITHMETIC or not any(isinstance(of, DecimalType) for of in types):
        return types
    return [
        literal_type(argument.value)
        if isinstance(argument, Literal) and is_integer(of) and isinstance(argument.value, int)
        else of
        for argument, of in zip(arguments, types, strict=True)
    ]


def check_count(count: int, fewest: int, most: int | None) -> None:
    """Refuse a wrong number of arguments."""
    given = f"{count} argument is" if count == 1 else f"{count} arguments are"
    _require(count >= fewest, f"{given} too few")
    _require(most is None or count <= most, f"{given} too many")


def conjunction(parts: Sequence[Expression]) -> Expression | None:
    """The parts joined by AND, flat; None when there are none."""
    flat = [piece for part in parts for piece in conjuncts(part)]
    if len(flat) < 2:
        return flat[0] if flat else None
    return Call("AND", tuple(flat), BOOLEAN)


def conjuncts(expression: Expression | None) -> tuple[Expression, ...]:
    if expression is None:
        return ()
    if isinstance(expression, Call) and expression.function == "AND":
        return expression.arguments
    return (expression,)


def equal_columns(expression: Expression) -> tuple[ColumnReference, ColumnReference] | None:
    """The two columns of `a = b`, else None."""
    if isinstance(expression, Call) and expression.function == "=":
        left, right = expression.arguments
        if isinstance(left, ColumnReference) and isinstance(right, ColumnReference):
            return left, right
    return None


def _require(condition: bool, message: str, hint: str | None = None) -> None:
    if not condition:
        raise SignatureError(message, hint)


def _gives(result: Type, *expected: Type) -> TypingRule:
    """Fixed argument types (the last repeats), fixed result."""

    def rule(arguments: Sequence[Type]) -> Type:
        for position, given in enumerate(arguments):
            wanted = expected[min(position, len(expected) - 1)]
            fits = given == NULL or common_type(given, wanted) == wanted
            _require(fits, f"argument {position + 1} is {given}, it should be {wanted}")
        return result

    return rule


def _numeric(result: Type | None) -> TypingRule:
    """Numbers in; the result is `result`, or the type of the first argument."""

    def rule(arguments: Sequence[Type]) -> Type:
        for position, given in enumerate(arguments):
            _require(is_numeric(given), f"argument {position + 1} is {given}, it should be a number")
        return result or arguments[0]

    return rule


def _to_integer(arguments: Sequence[Type]) -> Type:
    """CEIL and FLOOR: one digit more than stand in front of the point."""
    (of,) = arguments
    _numeric(None)(arguments)
    return bounded_decimal(of.precision - of.scale + 1, 0) if isinstance(of, DecimalType) else BIGINT


def _arithmetic(operator: str) -> TypingRule:
    def rule(arguments: Sequence[Type]) -> Type:
        result = arithmetic_type(operator, *arguments)
        hint = "numbers go with numbers, times with intervals: ts + INTERVAL 5 SECONDS"
        _require(result is not None, f"{arguments[0]} {operator} {arguments[1]} has no meaning", hint)
        return result or NULL

    return rule


def _negated(arguments: Sequence[Type]) -> Type:
    hint = "only numbers and intervals have a sign"
    _require(is_numeric(arguments[0]) or arguments[0] == INTERVAL, f"{arguments[0]} has no sign", hint)
    return arguments[0]


def _comparison(arguments: Sequence[Type]) -> Type:
    _shared(arguments, "compared with")
    return BOOLEAN


def _shared(arguments: Sequence[Type], verb: str = "combined with") -> Type:
    result: Type = NULL
    for given in arguments:
        common = common_type(result, given)
        hint = "both should have the same type" if is_nested(result) else f"write CAST(... AS {result})"
        _require(common is not None, f"{result} cannot be {verb} {given}", hint)
        result = common or NULL
    return result


def _logic(arguments: Sequence[Type]) -> Type:
    for given in arguments:
        _require(given in (BOOLEAN, NULL), f"{given} is not a condition", "write a comparison, such as x > 0")
    return BOOLEAN


def _rounded(arguments: Sequence[Type]) -> Type:
    _numeric(None)(arguments)
    _require(len(arguments) < 2 or is_integer(arguments[1]), "the number of digits should be an integer")
    return arguments[0]


def _absolute(arguments: Sequence[Type]) -> Type:
    return _negated(arguments)


def _if(arguments: Sequence[Type]) -> Type:
    _logic(arguments[:1])
    return _shared(arguments[1:])


def _text(arguments: Sequence[Type]) -> Type:
    """|| and CONCAT take anything that has a text."""
    if all(given in (BINARY, NULL) for given in arguments):
        return BINARY
    for given in arguments:
        _require(not is_nested(given) and given != BINARY, f"{given} has no text")
    return STRING


def _part_of_time(arguments: Sequence[Type]) -> Type:
    _require(arguments[0] == STRING, "the unit should be a word such as 'HOUR'")
    _require(arguments[1] in (TIMESTAMP, DATE, NULL), f"{arguments[1]} is not a time")
    return BIGINT


def _time_field(arguments: Sequence[Type]) -> Type:
    _require(arguments[0] in (TIMESTAMP, DATE, NULL), f"{arguments[0]} is not a time")
    return INT


def _truncated_time(arguments: Sequence[Type]) -> Type:
    _part_of_time(arguments)
    return TIMESTAMP


def _first_type(arguments: Sequence[Type]) -> Type:
    _shared(arguments)
    return arguments[0]


_ANY = None
_ARITHMETIC = ("+", "-", "*", "/", "%")
_ALL: tuple[Function, ...] = (
    *(Function(op, f"a {op} b", 2, 2, _arithmetic(op)) for op in _ARITHMETIC),
    *(Function(op, f"a {op} b", 2, 2, _comparison) for op in ("=", "<>", "<", "<=", ">", ">=")),
    Function("NEGATE", "-a", 1, 1, _negated),
    Function("AND", "a AND b", 2, _ANY, _logic),
    Function("OR", "a OR b", 2, _ANY, _logic),
    Function("NOT", "NOT a", 1, 1, _logic),
    Function("IS NULL", "a IS NULL", 1, 1, lambda _: BOOLEAN),
    Function("IS DISTINCT FROM", "a IS DISTINCT FROM b", 2, 2, _comparison),
    Function("IN", "a IN (b, ...)", 2, _ANY, _comparison),
    Function("LIKE", "a LIKE pattern", 2, 2, _gives(BOOLEAN, STRING)),
    Function("||", "a || b", 2, 2, _text),
    Function("ABS", "ABS(x)", 1, 1, _absolute),
    Function("SIGN", "SIGN(x)", 1, 1, _numeric(DOUBLE)),
    Function("CEIL", "CEIL(x)", 1, 1, _to_integer),
    Function("FLOOR", "FLOOR(x)", 1, 1, _to_integer),
    Function("ROUND", "ROUND(x [, digits])", 1, 2, _rounded),
    Function("SQRT", "SQRT(x)", 1, 1, _numeric(DOUBLE)),
    Function("EXP", "EXP(x)", 1, 1, _numeric(DOUBLE)),
    Function("LN", "LN(x)", 1, 1, _numeric(DOUBLE)),
    Function("LOG", "LOG(base, x)", 2, 2, _numeric(DOUBLE)),
    Function("LOG10", "LOG10(x)", 1, 1, _numeric(DOUBLE)),
    Function("POWER", "POWER(x, y)", 2, 2, _numeric(DOUBLE)),
    Function("GREATEST", "GREATEST(a, b, ...)", 2, _ANY, _shared),
    Function("LEAST", "LEAST(a, b, ...)", 2, _ANY, _shared),
    Function("UPPER", "UPPER(text)", 1, 1, _gives(STRING, STRING)),
    Function("LOWER", "LOWER(text)", 1, 1, _gives(STRING, STRING)),
    Function("LENGTH", "LENGTH(text)", 1, 1, _gives(INT, STRING)),
    Function("TRIM", "TRIM(text)", 1, 1, _gives(STRING, STRING)),
    Function("LTRIM", "LTRIM(text)", 1, 1, _gives(STRING, STRING)),
    Function("RTRIM", "RTRIM(text)", 1, 1, _gives(STRING, STRING)),
    Function("SUBSTRING", "SUBSTRING(text, from [, length])", 2, 3, _gives(STRING, STRING, INT)),
    Function("LEFT", "LEFT(text, length)", 2, 2, _gives(STRING, STRING, INT)),
    Function("RIGHT", "RIGHT(text, length)", 2, 2, _gives(STRING, STRING, INT)),
    Function("CONCAT", "CONCAT(a, b, ...)", 1, _ANY, _text),
    Function("REPLACE", "REPLACE(text, search, replacement)", 3, 3, _gives(STRING, STRING)),
    Function("POSITION", "POSITION(search, text)", 2, 2, _gives(INT, STRING)),
    Function("STARTS_WITH", "STARTS_WITH(text, prefix)", 2, 2, _gives(BOOLEAN, STRING)),
    Function("ENDS_WITH", "ENDS_WITH(text, suffix)", 2, 2, _gives(BOOLEAN, STRING)),
    Function("CONTAINS", "CONTAINS(text, part)", 2, 2, _gives(BOOLEAN, STRING)),
    Function("SPLIT_PART", "SPLIT_PART(text, delimiter, n)", 3, 3, _gives(STRING, STRING, STRING, INT)),
    Function("REGEXP_LIKE", "REGEXP_LIKE(text, pattern)", 2, 2, _gives(BOOLEAN, STRING)),
    Function("COALESCE", "COALESCE(a, b, ...)", 1, _ANY, _shared),
    Function("NULLIF", "NULLIF(a, b)", 2, 2, _first_type),
    Function("IF", "IF(condition, a, b)", 3, 3, _if),
    Function("EXTRACT", "EXTRACT(HOUR FROM time)", 2, 2, _part_of_time),
    Function("DATE_TRUNC", "DATE_TRUNC('hour', time)", 2, 2, _truncated_time),
    *(
        Function(name, f"{name}(time)", 1, 1, _time_field)
        for name in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "DAYOFWEEK")
    ),
    Function("TO_DATE", "TO_DATE(time)", 1, 1, _gives(DATE, TIMESTAMP)),
    Function("UNIX_MICROS", "UNIX_MICROS(time)", 1, 1, _gives(BIGINT, TIMESTAMP)),
    Function("TIMESTAMP_MICROS", "TIMESTAMP_MICROS(microseconds)", 1, 1, _gives(TIMESTAMP, BIGINT)),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _ALL}

# Other spellings that people know from Spark SQL, DuckDB and PostgreSQL.
ALIASES: dict[str, str] = {
    "CEILING": "CEIL",
    "POW": "POWER",
    "UCASE": "UPPER",
    "LCASE": "LOWER",
    "CHAR_LENGTH": "LENGTH",
    "LEN": "LENGTH",
    "SUBSTR": "SUBSTRING",
    "NVL": "COALESCE",
    "IFNULL": "COALESCE",
    "STARTSWITH": "STARTS_WITH",
    "ENDSWITH": "ENDS_WITH",
    "STRPOS": "POSITION",
    "DATE": "TO_DATE",
    "EPOCH_US": "UNIX_MICROS",
    "RLIKE": "REGEXP_LIKE",
    "REGEXP_MATCHES": "REGEXP_LIKE",
    "DATE_PART": "EXTRACT",
}

TIME_PARTS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")


def scalar_names() -> list[str]:
    """Names that are written as NAME(...), for hints."""
    operators = ("AND", "OR", "NOT", "IN", "LIKE", "NEGATE")
    return [name for name in FUNCTIONS if name.replace("_", "").isalnum() and name not in operators]


def promoted(arguments: Sequence[Expression]) -> DecimalType | Type:
    """The common type of the arguments, which have been checked to have one."""
    return _shared([argument.type for argument in arguments])
