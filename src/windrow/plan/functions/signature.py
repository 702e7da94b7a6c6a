"""What a function is: a name, how it is written, how many arguments it takes, and a rule for its type.

The rules are Spark SQL's; the kernels that compute functions are elsewhere, under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windrow.plan.expressions import Expression
from windrow.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    Type,
    arithmetic_type,
    array,
    bounded_decimal,
    common_type,
    is_integer,
    is_nested,
    is_numeric,
)

TypingRule = Callable[[Sequence[Type]], Type]
ConstantRule = Callable[[Sequence[Expression]], Type]


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
    rule_of_constants: ConstantRule | None = None  # instead of `rule`, where constants decide the type


def check_count(count: int, fewest: int, most: int | None) -> None:
    """Refuse a wrong number of arguments."""
    given = f"{count} argument is" if count == 1 else f"{count} arguments are"
    require(count >= fewest, f"{given} too few")
    require(most is None or count <= most, f"{given} too many")


def require(condition: bool, message: str, hint: str | None = None) -> None:
    if not condition:
        raise SignatureError(message, hint)


def gives(result: Type, *expected: Type) -> TypingRule:
    """Fixed argument types (the last repeats), fixed result."""

    def rule(arguments: Sequence[Type]) -> Type:
        for position, given in enumerate(arguments):
            wanted = expected[min(position, len(expected) - 1)]
            fits = given == NULL or common_type(given, wanted) == wanted
            require(fits, f"argument {position + 1} is {given}, it should be {wanted}")
        return result

    return rule


def numeric(result: Type | None) -> TypingRule:
    """Numbers in; the result is `result`, or the type of the first argument."""

    def rule(arguments: Sequence[Type]) -> Type:
        for position, given in enumerate(arguments):
            require(is_numeric(given), f"argument {position + 1} is {given}, it should be a number")
        return result or arguments[0]

    return rule


def to_integer(arguments: Sequence[Type]) -> Type:
    """CEIL and FLOOR: one digit more than stand in front of the point."""
    (of,) = arguments
    numeric(None)(arguments)
    return bounded_decimal(of.precision - of.scale + 1, 0) if isinstance(of, DecimalType) else BIGINT


def arithmetic(operator: str) -> TypingRule:
    def rule(arguments: Sequence[Type]) -> Type:
        result = arithmetic_type(operator, *arguments)
        hint = "numbers go with numbers, times with intervals: ts + INTERVAL 5 SECONDS"
        require(result is not None, f"{arguments[0]} {operator} {arguments[1]} has no meaning", hint)
        return result or NULL

    return rule


def negated(arguments: Sequence[Type]) -> Type:
    hint = "only numbers and intervals have a sign"
    require(is_numeric(arguments[0]) or arguments[0] == INTERVAL, f"{arguments[0]} has no sign", hint)
    return arguments[0]


def comparison(arguments: Sequence[Type]) -> Type:
    shared(arguments, "compared with")
    return BOOLEAN


def shared(arguments: Sequence[Type], verb: str = "combined with") -> Type:
    result: Type = NULL
    for given in arguments:
        common = common_type(result, given)
        hint = "both should have the same type" if is_nested(result) else f"write CAST(... AS {result})"
        require(common is not None, f"{result} cannot be {verb} {given}", hint)
        result = common or NULL
    return result


def logic(arguments: Sequence[Type]) -> Type:
    for given in arguments:
        require(given in (BOOLEAN, NULL), f"{given} is not a condition", "write a comparison, such as x > 0")
    return BOOLEAN


def rounded(arguments: Sequence[Type]) -> Type:
    numeric(None)(arguments)
    require(len(arguments) < 2 or is_integer(arguments[1]), "the number of digits should be an integer")
    given = arguments[0]
    if isinstance(given, DecimalType):  # 9.9 becomes 10
        return bounded_decimal(given.precision + 1, given.scale)
    return given


def absolute(arguments: Sequence[Type]) -> Type:
    return negated(arguments)


def if_type(arguments: Sequence[Type]) -> Type:
    logic(arguments[:1])
    return shared(arguments[1:])


def text(arguments: Sequence[Type]) -> Type:
    """|| and CONCAT take anything that has a text."""
    if all(given in (BINARY, NULL) for given in arguments):
        return BINARY
    for given in arguments:
        require(not is_nested(given) and given != BINARY, f"{given} has no text")
    return STRING


def part_of_time(arguments: Sequence[Type]) -> Type:
    require(arguments[0] == STRING, "the unit should be a word such as 'HOUR'")
    require(arguments[1] in (TIMESTAMP, DATE, NULL), f"{arguments[1]} is not a time")
    return BIGINT


def time_field(arguments: Sequence[Type]) -> Type:
    require(arguments[0] in (TIMESTAMP, DATE, NULL), f"{arguments[0]} is not a time")
    return INT


def truncated_time(arguments: Sequence[Type]) -> Type:
    part_of_time(arguments)
    return TIMESTAMP


def first_type(arguments: Sequence[Type]) -> Type:
    shared(arguments)
    return arguments[0]


def function(usage: str, fewest: int, most: int | None, rule: TypingRule) -> Function:
    """A row of a table: the name is what stands before the parenthesis."""
    return Function(usage.partition("(")[0], usage, fewest, most, rule)


def array_of(given: Type) -> ArrayType:
    """The array that an argument is; a bare NULL is an array of nulls."""
    if given == NULL:
        return array(NULL)
    require(isinstance(given, ArrayType) and not isinstance(given, MapType), f"{given} is no array")
    assert isinstance(given, ArrayType), given
    return given


def any_type(result: Type) -> TypingRule:
    """Arguments of any types."""
    return lambda arguments: result


def moment(arguments: Sequence[Type], place: int = 0) -> None:
    given = arguments[place]
    require(given in (TIMESTAMP, DATE, NULL), f"{given} is not a time")
