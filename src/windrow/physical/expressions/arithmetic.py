"""Arithmetic: +, -, *, /, %, and functions of numbers. What has no result (overflow, x / 0) is null."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.arrays import Array, Bools
from windrow.batch.arrow import arrow_type, column_from_arrow, column_to_arrow
from windrow.batch.column import WIDE, Column, dtype_of, nulls
from windrow.batch.dictionary import Dictionary
from windrow.batch.wide import CEILING, FLOOR, computed, narrowed, opposite, rescaled, widened
from windrow.physical.expressions.casts import cast
from windrow.physical.expressions.vectors import (
    among,
    as_floats,
    both_valid,
    decimals,
    limits_of,
    rescaled_to,
    shortest,
    spread,
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
    if operator == "/":
        shift = of.scale + other.scale - one.scale
        shifts, digits = (max(shift, 0), max(-shift, 0)), 0
    elif operator == "*":
        shifts, digits = (0, 0), one.scale + other.scale - of.scale
    else:
        scale = max(one.scale, other.scale)
        shifts, digits = (scale - one.scale, scale - other.scale), scale - of.scale
    result, fits = computed(operator, left.values, right.values, shifts, digits, 10**of.precision)
    return decimals(result, among(valid, fits), of)


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
    shifts, digits = ((0, 0), scale) if operator == "*" else ((scale, 0), 0)
    result, fits = computed(operator, interval, number.values, shifts, digits, 2**63)
    return vector(of, narrowed(result)[0], among(valid, fits))


def _microseconds(source: Column) -> Array:
    return source.values.astype(np.int64) * (_DAY if source.type == DATE else 1)


def negate(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    if isinstance(of, DecimalType):
        return decimals(opposite(widened(source.values)), source.valid, of)
    return vector(of, -source.values, _except(source.valid, _has_no_opposite(source.values)))


def absolute(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    if isinstance(of, DecimalType):
        wide = widened(source.values)
        return decimals(np.where(wide["hi"] < 0, opposite(wide), wide).astype(WIDE), source.valid, of)
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
            return rescaled_to(source, source.type.scale, of, FLOOR if direction is np.floor else CEILING)
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
        values, fits = _rounded_to(source.values, of.scale - kept, 10**of.precision)
        return decimals(values, among(source.valid, fits), of)
    if of in (DOUBLE, FLOAT):
        return vector(of, _round_half_up(shortest(source), digits).astype(dtype_of(of)), source.valid)
    if digits >= 0:
        return source
    least, most = limits_of(of)
    wide, fits = _rounded_to(source.values, min(-digits, 20), 2**64)
    values, narrow = narrowed(wide)
    fits = fits & narrow & (values >= least) & (values <= most)
    return vector(of, np.where(fits, values, 0).astype(dtype_of(of)), among(source.valid, fits))


def _rounded_to(values: Array, digits: int, limit: int) -> tuple[Array, Bools]:
    """Integers with so many zeros at their end, and where they are below a limit."""
    return rescaled(rescaled(values, digits, 2**127)[0], -digits, limit)


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
