"""Arithmetic: +, -, *, /, %, and functions of numbers. What has no result (overflow, x / 0) is null."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.batch.arrays import Array, Bools
from windrow.batch.column import Column, dtype_of
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions.casts import cast, rescaled
from windrow.physical.expressions.vectors import as_floats, both_valid, from_unscaled, limits_of, unscaled, vector
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


def _temporal(operator: str, left: Column, right: Column, of: Type, valid: Bools | None) -> Column:
    if operator in "+-":
        a, b = _microseconds(left), _microseconds(right)
        return vector(of, a + b if operator == "+" else a - b, valid)
    interval, number = (left, right) if left.type == INTERVAL else (right, left)
    factor = as_floats(number)
    if operator == "/":
        usable = np.broadcast_to(factor != 0, np.broadcast_shapes(factor.shape, interval.values.shape))
        valid = usable if valid is None else usable & valid
        factor = 1.0 / np.where(factor == 0, 1.0, factor)
    return vector(of, np.rint(interval.values * factor).astype(np.int64), valid)


def _microseconds(source: Column) -> Array:
    return source.values.astype(np.int64) * (_DAY if source.type == DATE else 1)


def negate(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    if isinstance(of, DecimalType):
        return from_unscaled(-unscaled(source), source.valid, of)
    return vector(of, -source.values, source.valid)


def absolute(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    if isinstance(of, DecimalType):
        return from_unscaled(np.abs(unscaled(source)), source.valid, of)
    return vector(of, np.abs(source.values), source.valid)


def of_floats(function: Callable[..., Array]) -> Kernel:
    """A function of doubles; where it has no value (LN(0), SQRT(-1)) the result is null, as in Spark SQL's LN."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        floats = [as_floats(argument) for argument in arguments]
        with np.errstate(all="ignore"):
            return vector(of, function(*floats), both_valid(*arguments))

    return kernel


def logarithm(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """LN and LOG10 are null where the argument is not positive."""
    (source,) = arguments
    values = as_floats(source)
    positive = values > 0
    with np.errstate(all="ignore"):
        return vector(of, np.log(np.where(positive, values, 1.0)), _with(source.valid, positive))


def logarithm10(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    values = as_floats(source)
    positive = values > 0
    return vector(of, np.log10(np.where(positive, values, 1.0)), _with(source.valid, positive))


def logarithm_to_base(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    base, source = (as_floats(argument) for argument in arguments)
    usable = (base > 0) & (base != 1) & (source > 0)
    with np.errstate(all="ignore"):
        values = np.log(np.where(usable, source, 1.0)) / np.log(np.where(usable, base, 2.0))
    return vector(of, values, _with(both_valid(*arguments), usable))


def _with(valid: Bools | None, more: Bools) -> Bools:
    return more if valid is None else more & valid


def rounding(direction: Callable[[Array], Array]) -> Kernel:
    """CEIL and FLOOR: to whole numbers."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        (source,) = arguments
        if source.values.dtype.kind == "i" and not isinstance(source.type, DecimalType):
            return source
        if isinstance(source.type, DecimalType):
            unit, values = 10**source.type.scale, unscaled(source).astype(object)
            whole = values // unit if direction is np.floor else -(-values // unit)
            inside = np.asarray(np.abs(whole) < 2**63, np.bool_)
            return vector(of, np.where(inside, whole, 0).astype(np.int64), _with(source.valid, inside))
        return cast(vector(DOUBLE, direction(as_floats(source)), source.valid), of, dictionary)

    return kernel


def round_to_digits(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """ROUND: half away from zero, of doubles by their shortest decimal text as in Spark SQL."""
    source = arguments[0]
    digits = int(arguments[1].values[0]) if len(arguments) > 1 else 0
    if isinstance(of, DecimalType):
        kept = min(digits, of.scale)
        values = rescaled(rescaled(unscaled(source), of.scale, kept), kept, of.scale)
        return from_unscaled(values, source.valid, of)
    if of in (DOUBLE, FLOAT):
        return vector(of, _round_half_up(as_floats(source), digits).astype(dtype_of(of)), source.valid)
    return source if digits >= 0 else vector(of, rescaled(rescaled(source.values, 0, digits), digits, 0), source.valid)


def _round_half_up(values: Array, digits: int) -> Array:
    scale = 10.0**digits
    with np.errstate(all="ignore"):
        shifted = np.abs(values) * scale
        below = np.floor(shifted)
        # 2.675 is stored a little below; its text says half, so a nudge of one part in 2^51 decides.
        up = shifted * (1 + 2.0**-51) - below >= 0.5
        rounded = np.copysign((below + up) / scale, values)
    return np.where(np.isfinite(rounded), rounded, values)
