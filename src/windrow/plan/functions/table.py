"""The table of functions and operators, and calls of them with their types.

Operators are functions with a symbol for a name, so that an expression has one form.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.plan.expressions import Call, ColumnReference, Expression, Literal
from windrow.plan.functions.nested import NESTED
from windrow.plan.functions.numbers import NUMBERS
from windrow.plan.functions.operators import ARITHMETIC, OPERATORS
from windrow.plan.functions.signature import Function, SignatureError, check_count, shared
from windrow.plan.functions.texts import TEXTS
from windrow.plan.functions.times import TIMES
from windrow.types import BOOLEAN, DecimalType, Type, is_integer, literal_type


def call(name: str, *arguments: Expression) -> Call:
    """A typed call; SignatureError when the arguments do not fit."""
    function = FUNCTIONS[name]
    try:
        check_count(len(arguments), function.fewest, function.most)
        if function.rule_of_constants is not None:
            return Call(name, arguments, function.rule_of_constants(arguments))
        return Call(name, arguments, function.rule(_types(name, arguments)))
    except SignatureError as error:
        prefix = f"{name}: " if name in scalar_names() or name == "LIKE" else ""
        raise SignatureError(f"{prefix}{error}", error.hint or f"write {function.usage}") from None


def _types(name: str, arguments: Sequence[Expression]) -> list[Type]:
    types = [argument.type for argument in arguments]
    if name not in ARITHMETIC or not any(isinstance(of, DecimalType) for of in types):
        return types
    return [
        literal_type(argument.value)
        if isinstance(argument, Literal) and is_integer(of) and isinstance(argument.value, int)
        else of
        for argument, of in zip(arguments, types, strict=True)
    ]


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


FUNCTIONS: dict[str, Function] = {
    function.name: function for function in (*OPERATORS, *NUMBERS, *TEXTS, *TIMES, *NESTED)
}

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
    "DATE": "TO_DATE",
    "EPOCH_US": "UNIX_MICROS",
    "RLIKE": "REGEXP_LIKE",
    "REGEXP_MATCHES": "REGEXP_LIKE",
    "DATE_PART": "EXTRACT",
    "CHARACTER_LENGTH": "LENGTH",
    "SIGNUM": "SIGN",
    "GETBIT": "BIT_GET",
    "SHA": "SHA1",
    "CHAR": "CHR",
    "PRINTF": "FORMAT_STRING",
    "FORMAT": "FORMAT_STRING",
    "REGEXP": "REGEXP_LIKE",
    "STRING_TO_ARRAY": "STRING_SPLIT",
    "STR_SPLIT": "STRING_SPLIT",
    "STR_SPLIT_REGEX": "SPLIT",
    "REGEXP_SPLIT_TO_ARRAY": "SPLIT",
    "TRY_URL_DECODE": "URL_DECODE",
    "TRY_PARSE_URL": "PARSE_URL",
    "JSON_EXTRACT_STRING": "GET_JSON_OBJECT",
    "JSON_VALUE": "GET_JSON_OBJECT",
    "JSON_EXTRACT": "JSON_QUERY",
    "JSON_KEYS": "JSON_OBJECT_KEYS",
    "TO_CHAR": "DATE_FORMAT",
    "DAYOFMONTH": "DAY",
    "DATEPART": "EXTRACT",
    "DATE_DIFF": "DATEDIFF",
    "DATEADD": "DATE_ADD",
    "TRY_MAKE_TIMESTAMP": "MAKE_TIMESTAMP",
    "MAKE_TIMESTAMP_LTZ": "MAKE_TIMESTAMP",
    "TRY_MAKE_TIMESTAMP_LTZ": "MAKE_TIMESTAMP",
    "TO_UNIX_TIMESTAMP": "UNIX_TIMESTAMP",
    "EPOCH_MS": "UNIX_MILLIS",
    "WEEK": "WEEKOFYEAR",
    "ARRAY_SIZE": "CARDINALITY",
    "SIZE": "CARDINALITY",
    "ARRAY_LENGTH": "CARDINALITY",
    "TRY_ELEMENT_AT": "ELEMENT_AT",
    "LIST_VALUE": "ARRAY",
    "LIST_CONTAINS": "ARRAY_CONTAINS",
    "LIST_DISTINCT": "ARRAY_DISTINCT",
    "LIST_SORT": "ARRAY_SORT",
    "ARRAY_TO_STRING": "ARRAY_JOIN",
    "GENERATE_SERIES": "SEQUENCE",
    "STRUCT_PACK": "NAMED_STRUCT",
    "ROW": "STRUCT",
}

TIME_PARTS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")


def scalar_names() -> list[str]:
    """Names that are written as NAME(...), for hints."""
    operators = ("AND", "OR", "NOT", "IN", "LIKE", "NEGATE", "FIELD", "ELEMENT")
    return [name for name in FUNCTIONS if name.replace("_", "").isalnum() and name not in operators]


def promoted(arguments: Sequence[Expression]) -> DecimalType | Type:
    """The common type of the arguments, which have been checked to have one."""
    return shared([argument.type for argument in arguments])
