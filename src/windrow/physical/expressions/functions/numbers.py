"""Functions of numbers; where they have no value the result is NaN, or null where Spark SQL gives null."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import Any

import numpy as np

from windrow.batch.arrays import Array
from windrow.batch.column import Column, dtype_of
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions import arithmetic
from windrow.physical.expressions.arithmetic import Kernel, of_floats
from windrow.physical.expressions.casts import cast
from windrow.physical.expressions.functions.plain_values import of_typed, of_values
from windrow.physical.expressions.vectors import as_floats, booleans, both_valid, limits_of, vector
from windrow.types import BIGINT, DOUBLE, FLOAT, INT, DecimalType, Type

_FACTORIALS = np.array([math.factorial(n) for n in range(21)], np.int64)


def _reciprocal(function: Callable[[Array], Array]) -> Kernel:
    return of_floats(lambda x: 1.0 / function(x))


def _logarithm_of_one_more(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    values = as_floats(source)
    outside = values <= -1
    known = np.asarray(~outside) & source.valid_mask()
    return vector(of, np.log1p(np.where(outside, 0.0, values)), known)


def _factorial(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    inside = (source.values >= 0) & (source.values <= 20)
    return vector(of, _FACTORIALS[np.where(inside, source.values, 0)], inside & source.valid_mask())


def _positive_remainder(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """The remainder with the sign of the divisor, where it is not zero."""
    remainder = arithmetic.arithmetic("%")
    divisor = cast(arguments[1], of, dictionary)
    first = remainder([arguments[0], arguments[1]], of, dictionary)
    moved = remainder([arithmetic.arithmetic("+")([first, divisor], of, dictionary), divisor], of, dictionary)
    negative = as_floats(first) < 0
    values = np.where(negative, moved.values, first.values)
    if values.dtype != first.values.dtype:
        values = values.astype(first.values.dtype)
    return vector(of, values, np.where(negative, moved.valid_mask(), first.valid_mask()))


def _whole_quotient(types: Sequence[Type], of: Type, left: Any, right: Any) -> int | None:
    if right == 0 or not math.isfinite(left) or not math.isfinite(right):
        return None
    with localcontext() as context:
        context.prec = 80
        whole = int(Decimal(left) / Decimal(right))
    return whole if -(2**63) <= whole < 2**63 else None


def _bankers_rounding(types: Sequence[Type], of: Type, value: Any, digits: int = 0) -> Any:
    """Halves go to the even neighbour, of doubles by their shortest text."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    if isinstance(of, DecimalType):
        digits = min(digits, of.scale)
    with localcontext() as context:
        context.prec = 700
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)
        if of in (DOUBLE, FLOAT):
            return float(rounded)
        if isinstance(of, DecimalType):
            return (
                rounded.quantize(Decimal(1).scaleb(-of.scale))
                if abs(rounded) < 10 ** (of.precision - of.scale)
                else None
            )
        least, most = limits_of(of)
        return int(rounded) if least <= rounded <= most else None


def _width_bucket(x: Any, low: Any, high: Any, count: Any) -> int | None:
    x, low, high, count = float(x), float(low), float(high), int(count)
    if count <= 0 or count == 2**63 - 1 or math.isnan(x) or low == high or not math.isfinite(low + high):
        return None
    if low > high:
        return 0 if x > low else count + 1 if x <= high else int(count * (low - x) / (low - high)) + 1
    return 0 if x < low else count + 1 if x >= high else int(count * (x - low) / (high - low)) + 1


def _is_nan(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """Of a null it is false."""
    (source,) = arguments
    return booleans(np.isnan(as_floats(source)) & source.valid_mask(), None)


def _other_than_nan(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    one, other = (cast(argument, of, dictionary) for argument in arguments)
    missing = np.isnan(as_floats(one)) & one.valid_mask()
    valid = np.where(missing, other.valid_mask(), one.valid_mask())
    return vector(of, np.where(missing, other.values, one.values), valid)


def _bitwise(operation: Callable[..., Array]) -> Kernel:
    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        values = [argument.values.astype(dtype_of(of)) for argument in arguments]
        return vector(of, operation(*values), both_valid(*arguments))

    return kernel


def _shifted(operation: Callable[[Array, Array], Array]) -> Kernel:
    """The number of places is taken modulo the bits of the type, as Java does."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        values = arguments[0].values.astype(dtype_of(of))
        places = (arguments[1].values.astype(np.int64) & (8 * values.dtype.itemsize - 1)).astype(values.dtype)
        return vector(of, operation(values, places), both_valid(*arguments))

    return kernel


def _shifted_unsigned(values: Array, places: Array) -> Array:
    unsigned = np.dtype(f"u{values.dtype.itemsize}")
    return np.asarray((values.view(unsigned) >> places.astype(unsigned)).view(values.dtype))


def _bit_count(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    return vector(of, np.bitwise_count(source.values.astype(np.int64).view(np.uint64)), source.valid)


def _bit_at(types: Sequence[Type], of: Type, number: int, place: int) -> int | None:
    widths = {BIGINT: 64, INT: 32}
    width = widths.get(types[0], 8 if types[0].name == "TINYINT" else 16)
    return (number >> place) & 1 if 0 <= place < width else None


def _hexadecimal(value: int | str | bytes) -> str:
    if isinstance(value, int):
        return f"{value & (2**64 - 1):X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def _bytes_of_digits(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}") if text.isalnum() or not text else None
    except ValueError:
        return None


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _converted(text: str, base: int, target: int) -> str | None:
    """Digits up to the first that is none; a negative target base gives signed numbers; of 64 bits."""
    if not (2 <= base <= 36 and 2 <= abs(target) <= 36) or not text.strip(" "):
        return None
    text = text.strip(" ")
    negative, value = text.startswith("-"), 0
    for letter in text[negative:]:
        digit = _DIGITS.find(letter.upper()) if letter.isascii() else -1
        if not 0 <= digit < base:
            break
        value = value * base + digit
    if value >= 2**64:
        value, negative = 2**64 - 1, False
    if negative and target > 0:
        value = (-value) % 2**64 if value < 2**63 else 2**64 - 1
    if target < 0 and not negative and value >= 2**63:
        value, negative = 2**64 - value, True
    digits = ""
    while value:
        value, digit = divmod(value, abs(target))
        digits = _DIGITS[digit] + digits
    return ("-" if negative and target < 0 and digits else "") + (digits or "0")


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _sha2(value: str | bytes, bits: int) -> str | None:
    names = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}
    return hashlib.new(names[bits], _bytes(value)).hexdigest() if bits in names else None


KERNELS: dict[str, Kernel] = {
    "ACOS": of_floats(np.arccos),
    "ACOSH": of_floats(np.arccosh),
    "ASIN": of_floats(np.arcsin),
    "ASINH": of_floats(np.arcsinh),
    "ATAN": of_floats(np.arctan),
    "ATANH": of_floats(np.arctanh),
    "ATAN2": of_floats(np.arctan2),
    "CBRT": of_floats(np.cbrt),
    "COS": of_floats(np.cos),
    "COSH": of_floats(np.cosh),
    "COT": _reciprocal(np.tan),
    "CSC": _reciprocal(np.sin),
    "SEC": _reciprocal(np.cos),
    "DEGREES": of_floats(np.degrees),
    "EXPM1": of_floats(np.expm1),
    "LOG1P": _logarithm_of_one_more,
    "LOG2": arithmetic.logarithm(np.log2),
    "RADIANS": of_floats(np.radians),
    "RINT": of_floats(np.rint),
    "SIN": of_floats(np.sin),
    "SINH": of_floats(np.sinh),
    "TAN": of_floats(np.tan),
    "TANH": of_floats(np.tanh),
    "HYPOT": of_floats(np.hypot),
    "PMOD": _positive_remainder,
    "DIV": of_typed(_whole_quotient),
    "BROUND": of_typed(_bankers_rounding),
    "FACTORIAL": _factorial,
    "WIDTH_BUCKET": of_values(_width_bucket),
    "NANVL": _other_than_nan,
    "ISNAN": _is_nan,
    "BIN": of_values(lambda value: f"{value & (2**64 - 1):b}"),
    "HEX": of_values(_hexadecimal),
    "UNHEX": of_values(_bytes_of_digits),
    "CONV": of_values(_converted),
    "&": _bitwise(np.bitwise_and),
    "|": _bitwise(np.bitwise_or),
    "^": _bitwise(np.bitwise_xor),
    "~": _bitwise(np.bitwise_not),
    "BIT_COUNT": _bit_count,
    "BIT_GET": of_typed(_bit_at),
    "SHIFTLEFT": _shifted(np.left_shift),
    "SHIFTRIGHT": _shifted(np.right_shift),
    "SHIFTRIGHTUNSIGNED": _shifted(_shifted_unsigned),
    "CRC32": of_values(lambda value: zlib.crc32(_bytes(value))),
    "MD5": of_values(lambda value: hashlib.md5(_bytes(value)).hexdigest()),
    "SHA1": of_values(lambda value: hashlib.sha1(_bytes(value)).hexdigest()),
    "SHA2": of_values(_sha2),
}
