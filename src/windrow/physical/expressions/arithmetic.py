"""Arithmetic: +, -, *, /, %, and functions of numbers. What has no result (overflow, x / 0) is null."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.arrays import Array, Bools
from windrow.batch.arrow import arrow_type, column_from_arrow, column_to_arrow
from windrow.batch.column import Column, dtype_of, nulls
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions.casts import cast, rescaled
from windrow.physical.expressions.vectors import (
    as_floats,
    both_valid,
    from_unscaled,
    limits_of,
    shortest,
    spread,
    unscaled,
    vector,
)
from windrow.types import DATE, DOUBLE, FLOAT, INTERVAL, TIMESTAMP, DecimalType, Type, as_decimal

_DAY = 86_400_000_000
Kernel = Callable[[list[Column], Type, Dictionary], Column]


def arithmetic(operator: str) -> Kernel:
    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        left, right = arguments
        valid = both_valid(left, right)
        if of in (TIMESTAMP, INTERVAL):
            return _temporal(operator, left, right, of, valid)
        if of in (DOUBLE, FLOAT):
            return _floating(operator, as_floats(left), as_floats(right), of, valid)
        if isinstance(of, DecimalType):
            return _decimal(operator, left, right, of, valid)
        return _integral(operator, cast(left, of, dictionary), cast(right, of, dictionary), of)

    return kernel


def _floating(operator: str, left: Array, right: Array, of: Type, valid: Bools | None) -> Column:
    with np.errstate(all="ignore"):
        if operator in "/%":
            usable = np.broadcast_to(right != 0, np.broadcast_shapes(left.shape, right.shape))
            valid = usable if valid is None else usable & valid
            right = np.where(right == 0, 1.0, right)
        return vector(of, _FLOAT_OPERATIONS[operator](left, right).astype(dtype_of(of)), valid)


_FLOAT_OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
}


def _integral(operator: str, left: Column, right: Column, of: Type) -> Column:
    """Exact within the type: an overflow shows in the wider or inverse computation, and is null."""
    a, b, valid = left.values.astype(np.int64), right.values.astype(np.int64), both_valid(left, right)
    with np.errstate(all="ignore"):
        if operator == "%":
            usable = np.broadcast_to(b != 0, np.broadcast_shapes(a.shape, b.shape))
            return vector(of, np.fmod(a, np.where(b == 0, 1, b)), usable if valid is None else usable & valid)
        result, overflow = _checked(operator, a, b)
    least, most = limits_of(of)
    bad = overflow | (result < least) | (result > most)
    if bad.any():
        valid = ~bad if valid is None else ~bad & valid
    return vector(of, np.where(bad, 0, result), valid)


def _checked(operator: str, a: Array, b: Array) -> tuple[Array, Bools]:
    """The result in 64 bits and where it has overflowed them."""
    if operator == "+":
        total = a + b
        return total, ((a ^ total) & (b ^ total)) < 0
    if operator == "-":
        total = a - b
        return total, ((a ^ b) & (a ^ total)) < 0
    product = a * b
    approximate = a.astype(np.float64) * b.astype(np.float64)
    return product, np.abs(approximate - product.astype(np.float64)) > 2.0**62


def _decimal(operator: str, left: Column, right: Column, of: DecimalType, valid: Bools | None) -> Column:
    one, other = as_decimal(left.type), as_decimal(right.type)
    assert one is not None and other is not None, (left.type, right.type)
    if operator in _ARROW_OPERATIONS and _fits_arrow(operator, one, other, of):
        return _by_arrow(operator, left, right, of)
    a, b = unscaled(left).astype(object), unscaled(right).astype(object)
    if operator in "+-":
        scale = max(one.scale, other.scale)
        a, b = rescaled(a, one.scale, scale), rescaled(b, other.scale, scale)
        return from_unscaled(rescaled(a + b if operator == "+" else a - b, scale, of.scale), valid, of)
    if operator == "*":
        return from_unscaled(rescaled(a * b, one.scale + other.scale, of.scale), valid, of)
    usable = np.asarray(np.broadcast_to(b != 0, np.broadcast_shapes(a.shape, b.shape)), np.bool_)
    valid = usable if valid is None else usable & valid
    b = np.where(b == 0, 1, b)
    if operator == "%":
        scale = max(one.scale, other.scale)
        a, b = rescaled(a, one.scale, scale), rescaled(b, other.scale, scale)
        remainder = np.abs(a) % np.abs(b)
        return from_unscaled(rescaled(np.where(a < 0, -remainder, remainder), scale, of.scale), valid, of)
    shifted = rescaled(a, one.scale, of.scale + other.scale + 1)
    quotient = np.abs(shifted) // np.abs(b)
    return from_unscaled(rescaled(np.where((a < 0) != (b < 0), -quotient, quotient), of.scale + 1, of.scale), valid, of)


def _fits_arrow(operator: str, one: DecimalType, other: DecimalType, of: DecimalType) -> bool:
    """Whether the result has all its digits: then Arrow's arithmetic is exact and its types are Spark SQL's."""
    if operator == "*":
        return one.precision + other.precision < 38 and of.scale == one.scale + other.scale
    scale = max(one.scale, other.scale)
    return max(one.precision - one.scale, other.precision - other.scale) + scale < 38 and of.scale == scale


def _by_arrow(operator: str, left: Column, right: Column, of: DecimalType) -> Column:
    sides = []
    for side in (left, right):
        own = as_decimal(side.type)
        assert own is not None, side.type
        array = column_to_arrow(cast(side, own, Dictionary()))
        sides.append(array[0] if len(array) == 1 else array)
    result = _ARROW_OPERATIONS[operator](*sides)
    result = pa.array([result.as_py()], result.type) if isinstance(result, pa.Scalar) else result
    return column_from_arrow(result.cast(arrow_type(of)), Dictionary(), of)


_ARROW_OPERATIONS: dict[str, Callable[..., pa.Array]] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def _temporal(operator: str, left: Column, right: Column, of: Type, valid: Bools | None) -> Column:
    if operator in "+-":
        result, overflow = _checked(operator, _microseconds(left), _microseconds(right))
        return vector(of, result, _except(valid, overflow))
    interval, number = (left, right) if left.type == INTERVAL else (right, left)
    if number.type in (DOUBLE, FLOAT):
        return _interval_by_float(operator, interval.values, as_floats(number), of, valid)
    return _interval_by_exact(operator, interval.values, number, of, valid)


def _interval_by_float(operator: str, interval: Array, number: Array, of: Type, valid: Bools | None) -> Column:
    """Rounded half away from zero, as Spark SQL does."""
    with np.errstate(all="ignore"):
        exact = interval * number if operator == "*" else interval / number
        rounded = np.copysign(np.floor(np.abs(exact) + 0.5), exact)
        outside = ~(np.abs(rounded) < 2.0**63)
    return vector(of, np.where(outside, 0.0, rounded).astype(np.int64), _except(valid, outside))


def _interval_by_exact(operator: str, interval: Array, number: Column, of: Type, valid: Bools | None) -> Column:
    scale = number.type.scale if isinstance(number.type, DecimalType) else 0
    a, b = interval.astype(object), unscaled(number).astype(object)
    if operator == "*":
        result = rescaled(a * b, scale, 0)
    else:
        valid = _except(valid, np.asarray(np.broadcast_to(b == 0, np.broadcast_shapes(a.shape, b.shape)), np.bool_))
        divisor = np.abs(np.where(b == 0, 1, b))
        half_up = (2 * np.abs(a) * 10**scale + divisor) // (2 * divisor)
        result = np.where((a < 0) != (b < 0), -half_up, half_up)
    outside = np.asarray(np.abs(result) >= 2**63, np.bool_)
    return vector(of, np.where(outside, 0, result).astype(np.int64), _except(valid, outside))


def _microseconds(source: Column) -> Array:
    return source.values.astype(np.int64) * (_DAY if source.type == DATE else 1)


def negate(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    if isinstance(of, DecimalType):
        return from_unscaled(-unscaled(source), source.valid, of)
    return vector(of, -source.values, _except(source.valid, _has_no_opposite(source.values)))


def absolute(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    if isinstance(of, DecimalType):
        return from_unscaled(np.abs(unscaled(source)), source.valid, of)
    return vector(of, np.abs(source.values), _except(source.valid, _has_no_opposite(source.values)))


def _has_no_opposite(values: Array) -> Bools:
    """The smallest integer of a type is one further from zero than the largest."""
    if values.dtype.kind == "f":
        return np.zeros(len(values), np.bool_)
    return np.asarray(values == np.iinfo(values.dtype).min, np.bool_)


def of_floats(function: Callable[..., Array]) -> Kernel:
    """A function of doubles; where it has no value (SQRT(-1)) the result is NaN, as in Spark SQL."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        floats = [as_floats(argument) for argument in arguments]
        with np.errstate(all="ignore"):
            return vector(of, function(*floats), both_valid(*arguments))

    return kernel


def power(base: Array, exponent: Array) -> Array:
    """As Java has it: 1 or -1 to an infinite power, and 1 to NaN, is NaN."""
    strange = (np.isinf(exponent) & (np.abs(base) == 1)) | (np.isnan(exponent) & (base == 1))
    return np.where(strange, np.nan, np.power(base, exponent))


def logarithm(function: Callable[[Array], Array]) -> Kernel:
    """LN and LOG10 are null where the argument is zero or below."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        (source,) = arguments
        values = as_floats(source)
        outside = values <= 0
        return vector(of, function(np.where(outside, 1.0, values)), _except(source.valid, outside))

    return kernel


def logarithm_to_base(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    base, source = (as_floats(argument) for argument in arguments)
    outside = (base <= 0) | (source <= 0)
    with np.errstate(all="ignore"):
        values = np.log(np.where(outside, 1.0, source)) / np.log(np.where(outside, 2.0, base))
    return vector(of, values, _except(both_valid(*arguments), outside))


def _except(valid: Bools | None, bad: Bools) -> Bools | None:
    """The rows that were valid and are not bad."""
    if not bad.any():
        return valid
    return ~bad if valid is None else ~bad & valid


def rounding(direction: Callable[[Array], Array]) -> Kernel:
    """CEIL and FLOOR: to whole numbers."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        (source,) = arguments
        if isinstance(source.type, DecimalType) and isinstance(of, DecimalType):
            unit, values = 10**source.type.scale, unscaled(source)
            return from_unscaled(values // unit if direction is np.floor else -(-values // unit), source.valid, of)
        if source.values.dtype.kind == "f":
            source = vector(DOUBLE, direction(as_floats(source)), source.valid)
        return cast(source, of, dictionary)

    return kernel


def round_to_digits(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """ROUND: half away from zero, of doubles by their shortest decimal text as in Spark SQL."""
    source = arguments[0]
    if len(arguments) == 1:
        return _rounded(source, 0, of)
    digits = arguments[1]
    length = max(len(source), len(digits))
    answer = nulls(of, length)
    for number in np.unique(digits.values[digits.valid_mask()]).tolist():
        chosen = np.broadcast_to((digits.values == number) & digits.valid_mask(), length)
        rounded = spread(_rounded(source, number, of), length)
        values = np.where(chosen, rounded.values, answer.values)
        answer = vector(of, values, np.where(chosen, rounded.valid_mask(), answer.valid_mask()))
    return answer


def _rounded(source: Column, digits: int, of: Type) -> Column:
    if isinstance(of, DecimalType):
        kept = max(min(digits, of.scale), of.scale - of.precision - 1)
        values = rescaled(rescaled(unscaled(source), of.scale, kept), kept, of.scale)
        return from_unscaled(values, source.valid, of)
    if of in (DOUBLE, FLOAT):
        return vector(of, _round_half_up(shortest(source), digits).astype(dtype_of(of)), source.valid)
    if digits >= 0:
        return source
    least, most = limits_of(of)
    values = rescaled(rescaled(source.values, 0, max(digits, -20)), max(digits, -20), 0)
    outside = np.asarray((values < least) | (values > most), np.bool_)
    return vector(of, np.where(outside, 0, values).astype(dtype_of(of)), _except(source.valid, outside))


def _round_half_up(values: Array, digits: int) -> Array:
    """Vectorised where the binary value decides, digit by digit where it is near a half or has too many digits."""
    if not -300 < digits < 300:
        return values.copy() if digits > 0 else np.where(np.isfinite(values), np.copysign(0.0, values), values)
    unit = 10.0 ** abs(digits)
    with np.errstate(all="ignore"):
        shifted = np.abs(values) * unit if digits >= 0 else np.abs(values) / unit
        below = np.floor(shifted)
        whole = below + (shifted - below >= 0.5)
        rounded = np.copysign(whole / unit if digits >= 0 else whole * unit, values)
        unsure = (np.abs(shifted - below - 0.5) < 1e-6) | (shifted >= 2.0**46) | (abs(digits) > 22)
    for place in np.flatnonzero(unsure & np.isfinite(values)):
        rounded[place] = _round_text(float(values[place]), digits)
    return np.where(np.isfinite(values), rounded, values)


def _round_text(value: float, digits: int) -> float:
    with localcontext() as context:
        context.prec = 700  # a double has at most 309 digits before the point and fewer after it in its text
        return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
