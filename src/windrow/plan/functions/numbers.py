"""Functions of numbers: roots, angles, bits, digits, hashes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windrow.plan.functions.signature import Function, function, gives, numeric, require, rounded, shared
from windrow.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TINYINT,
    Type,
    arithmetic_type,
    common_type,
    is_integer,
)

_OF_ONE = """ACOS ACOSH ASIN ASINH ATAN ATANH CBRT COS COSH COT CSC DEGREES EXPM1 LOG1P LOG2 RADIANS RINT SEC SIN SINH
    TAN TANH""".split()


def _remainder(arguments: Sequence[Type]) -> Type:
    result = arithmetic_type("%", *arguments)
    numeric(None)(arguments)
    return result or NULL


def _quotient(arguments: Sequence[Type]) -> Type:
    numeric(BIGINT)(arguments)
    return BIGINT


def _bits(arguments: Sequence[Type]) -> Type:
    """The wider of integer types."""
    for given in arguments:
        require(is_integer(given) or given == NULL, f"{given} is not a whole number")
    return shared(arguments)


def _shifted(arguments: Sequence[Type]) -> Type:
    _bits(arguments)
    return BIGINT if arguments[0] == BIGINT else INT


def _number_or_truth(arguments: Sequence[Type]) -> Type:
    require(is_integer(arguments[0]) or arguments[0] in (BOOLEAN, NULL), f"{arguments[0]} has no bits")
    return INT


def _hexadecimal(arguments: Sequence[Type]) -> Type:
    given = arguments[0]
    require(is_integer(given) or given in (STRING, BINARY, NULL), f"{given} has no hex digits")
    return STRING


def _text_or_bytes(result: Type) -> Callable[[Sequence[Type]], Type]:
    def rule(arguments: Sequence[Type]) -> Type:
        require(arguments[0] in (STRING, BINARY, NULL), f"argument 1 is {arguments[0]}, it should be STRING or BINARY")
        require(all(is_integer(of) or of == NULL for of in arguments[1:]), "the number of bits should be an integer")
        return result

    return rule


def _other_than_nan(arguments: Sequence[Type]) -> Type:
    numeric(DOUBLE)(arguments)
    return common_type(*arguments) or DOUBLE


def _floating(arguments: Sequence[Type]) -> Type:
    numeric(BOOLEAN)(arguments)
    return BOOLEAN


def _bankers(arguments: Sequence[Type]) -> Type:
    return rounded(arguments)


NUMBERS: tuple[Function, ...] = (
    *(function(f"{name}(x)", 1, 1, numeric(DOUBLE)) for name in _OF_ONE),
    function("ATAN2(y, x)", 2, 2, numeric(DOUBLE)),
    function("HYPOT(x, y)", 2, 2, numeric(DOUBLE)),
    function("PMOD(a, b)", 2, 2, _remainder),
    function("DIV(a, b)", 2, 2, _quotient),
    function("BROUND(x [, digits])", 1, 2, _bankers),
    function("FACTORIAL(n)", 1, 1, gives(BIGINT, INT)),
    function("WIDTH_BUCKET(x, low, high, count)", 4, 4, numeric(BIGINT)),
    function("NANVL(x, y)", 2, 2, _other_than_nan),
    function("ISNAN(x)", 1, 1, _floating),
    function("BIN(n)", 1, 1, gives(STRING, BIGINT)),
    function("HEX(x)", 1, 1, _hexadecimal),
    function("UNHEX(text)", 1, 1, gives(BINARY, STRING)),
    function("CONV(text, from, to)", 3, 3, gives(STRING, STRING, INT)),
    *(Function(symbol, f"a {symbol} b", 2, 2, _bits) for symbol in "&|^"),
    Function("~", "~a", 1, 1, _bits),
    function("BIT_COUNT(n)", 1, 1, _number_or_truth),
    function("BIT_GET(n, place)", 2, 2, gives(TINYINT, BIGINT, INT)),
    function("SHIFTLEFT(n, places)", 2, 2, _shifted),
    function("SHIFTRIGHT(n, places)", 2, 2, _shifted),
    function("SHIFTRIGHTUNSIGNED(n, places)", 2, 2, _shifted),
    function("CRC32(x)", 1, 1, _text_or_bytes(BIGINT)),
    function("MD5(x)", 1, 1, _text_or_bytes(STRING)),
    function("SHA1(x)", 1, 1, _text_or_bytes(STRING)),
    function("SHA2(x, bits)", 2, 2, _text_or_bytes(STRING)),
)
