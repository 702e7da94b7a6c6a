"""Exact arithmetic of decimals: scaled integers of up to 128 bits, computed through 512, rounded once.

A number is taken apart into its sign and limbs of 32 bits, the lowest first. A product of two numbers of 38 digits, and
a quotient of such numbers with all the digits that are asked for, fit into 16 limbs. Division is Knuth's algorithm D
(The Art of Computer Programming, volume 2, 4.3.1). Costs some hundred nanoseconds a row, and no Python object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Array, Bools, Floats, Int64s, UInt64s
from windrow.batch.column import WIDE
from windrow.batch.compiled import compiled

ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER = range(5)
_OPERATORS = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE, "%": REMAINDER}
HALF_UP, TRUNCATED, FLOOR, CEILING = range(4)  # ways of rounding; half up is away from zero
_LIMBS = 16
_MASK = 0xFFFFFFFF
_BITS = np.uint64(32)
_LOW = np.uint64(_MASK)


def widened(values: Array) -> Array:
    """Integers as 128 bits."""
    if values.dtype == WIDE:
        return values
    whole = values.astype(np.int64)
    return joined(whole >> 63, whole)


def joined(hi: Int64s, lo: Array) -> Array:
    wide = np.zeros(len(hi), WIDE)
    wide["hi"], wide["lo"] = hi, lo.view(np.uint64)
    return wide


def wide_of(numbers: Sequence[int]) -> Array:
    """Python's integers as 128 bits."""
    hi = np.array([number >> 64 for number in numbers], np.int64)
    return joined(hi, np.array([number & 0xFFFFFFFFFFFFFFFF for number in numbers], np.uint64))


def narrowed(values: Array) -> tuple[Int64s, Bools]:
    """Integers as 64 bits, and where they fit."""
    low = np.ascontiguousarray(values["lo"]).view(np.int64)
    return low, values["hi"] == low >> 63


def computed(operator: str, a: Array, b: Array, shifts: tuple[int, int], scale: int, limit: int) -> tuple[Array, Bools]:
    """`a operator b` on scaled integers (one may have length one), and where there is a result below the limit.

    Both sides are first multiplied by the powers of ten in `shifts`. A sum, product or remainder is then divided by the
    power of ten `scale` (multiplied when it is negative); that and a quotient are rounded half away from zero.
    """
    length = max(len(a), len(b)) if len(a) and len(b) else 0
    hi, lo, fits = _computed(_OPERATORS[operator], _parts(a), _parts(b), shifts, scale, _limbs_of(limit), length)
    return joined(hi, lo), fits


def rescaled(values: Array, scale: int, limit: int, rounding: int = HALF_UP) -> tuple[Array, Bools]:
    """Scaled integers divided by a power of ten (multiplied when it is negative), and where they stay below a limit."""
    hi, lo, fits = _rescaled(*_parts(values), scale, rounding, _limbs_of(limit))
    return joined(hi, lo), fits


def opposite(values: Array) -> Array:
    """Minus the number."""
    lo = ~values["lo"] + np.uint64(1)
    return joined(~values["hi"] + (lo == 0), lo)


def as_doubles(values: Array) -> Floats:
    """The nearest doubles, or their neighbours."""
    size = np.where(values["hi"] < 0, opposite(values), values).astype(WIDE)
    doubles: Floats = size["hi"].view(np.uint64) * 2.0**64 + size["lo"]
    return np.where(values["hi"] < 0, -doubles, doubles)


def averaged(limbs: Int64s, counts: Int64s, factor: int, limit: int) -> tuple[Array, Bools]:
    """Sums over counts, times a power of ten, rounded half away from zero; and where they stay below a limit.

    A sum is a row of limbs, the lowest first; only the highest is signed, and may have 64 bits.
    """
    hi, lo, fits = _averaged(limbs, counts, factor, _limbs_of(limit))
    return joined(hi, lo), fits


def totals(limbs: Int64s, limit: int) -> tuple[Array, Bools]:
    """The same sums as numbers."""
    return averaged(limbs, np.ones(len(limbs), np.int64), 0, limit)


class _Halves(NamedTuple):
    """Numbers of 128 bits."""

    hi: Int64s
    lo: UInt64s


def _parts(values: Array) -> _Halves:
    wide = widened(values)
    return _Halves(np.ascontiguousarray(wide["hi"]), np.ascontiguousarray(wide["lo"]))


def _limbs_of(number: int) -> Int64s:
    return np.array([number >> 32 * place & _MASK for place in range(_LIMBS)], np.int64)


@compiled
def _load(hi: int, lo: int, limbs: Int64s) -> bool:
    """Take a number apart; whether it is negative."""
    limbs[:] = 0
    low, high = np.uint64(lo), np.uint64(hi)
    if hi < 0:
        low = ~low + np.uint64(1)
        high = ~high + np.uint64(1 if low == np.uint64(0) else 0)
    limbs[0], limbs[1] = np.int64(low & _LOW), np.int64(low >> _BITS)
    limbs[2], limbs[3] = np.int64(high & _LOW), np.int64(high >> _BITS)
    return hi < 0


@compiled
def _store(negative: bool, limbs: Int64s) -> tuple[int, int]:
    low = np.uint64(limbs[0]) | np.uint64(limbs[1]) << _BITS
    high = np.uint64(limbs[2]) | np.uint64(limbs[3]) << _BITS
    if negative:
        low = ~low + np.uint64(1)
        high = ~high + np.uint64(1 if low == np.uint64(0) else 0)
    return np.int64(high), low


@compiled
def _compare(a: Int64s, b: Int64s) -> int:
    for i in range(_LIMBS - 1, -1, -1):
        if a[i] != b[i]:
            return 1 if a[i] > b[i] else -1
    return 0


@compiled
def _add(a: Int64s, b: Int64s) -> None:
    carry = 0
    for i in range(_LIMBS):
        total = a[i] + b[i] + carry
        a[i] = total & _MASK
        carry = total >> 32


@compiled
def _subtract(a: Int64s, b: Int64s) -> None:
    """a becomes a - b, where b is not larger."""
    borrow = 0
    for i in range(_LIMBS):
        total = a[i] - b[i] + borrow
        a[i] = total & _MASK
        borrow = total >> 32


@compiled
def _times_power_of_ten(a: Int64s, power: int) -> None:
    while power > 0:
        step = min(power, 9)
        factor = np.uint64(10**step)
        carry = np.uint64(0)
        for i in range(_LIMBS):
            total = np.uint64(a[i]) * factor + carry
            a[i] = np.int64(total & _LOW)
            carry = total >> _BITS
        power -= step


@compiled
def _times(a: Int64s, b: Int64s, product: Int64s) -> None:
    product[:] = 0
    for i in range(4):
        carry = np.uint64(0)
        for j in range(5):
            total = np.uint64(a[i]) * np.uint64(b[j]) + np.uint64(product[i + j]) + carry
            product[i + j] = np.int64(total & _LOW)
            carry = total >> _BITS


@compiled
def _significant(a: Int64s) -> int:
    count = _LIMBS
    while count > 0 and a[count - 1] == 0:
        count -= 1
    return count


@compiled
def _add_limbs(u: Int64s, v: Int64s, count: int) -> None:
    """Add limbs to u; the carry goes into its next limb."""
    carry = 0
    for i in range(count):
        total = u[i] + v[i] + carry
        u[i] = total & _MASK
        carry = total >> 32
    u[count] = (u[count] + carry) & _MASK


@compiled
def _shift_left(limbs: Int64s, count: int, shift: int, shifted: Int64s) -> None:
    """By some bits, less than a limb; what leaves the last limb is dropped."""
    for i in range(count - 1, -1, -1):
        shifted[i] = (limbs[i] << shift) & _MASK
        if i > 0:
            shifted[i] |= limbs[i - 1] >> (32 - shift)


@compiled
def _divide(a: Int64s, b: Int64s, quotient: Int64s, scratch: Int64s) -> None:
    """The quotient, with a becoming the remainder; b is not zero. `scratch` has two rows of limbs and one more each.

    Knuth, The Art of Computer Programming, volume 2, section 4.3.1, algorithm D; u, v, n, m and j are Knuth's.
    """
    quotient[:] = 0
    n, m = _significant(b), _significant(a)
    if m < n:
        return
    # D1: both are shifted until the highest bit of the divisor is set. Then a digit that is guessed from the highest
    # limbs is never too small, and too large by two at most.
    shift = 0
    while (b[n - 1] << shift) < 0x80000000:
        shift += 1
    u, v = scratch[0], scratch[1]
    u[:] = 0
    _shift_left(b, n, shift, v)
    u[m] = a[m - 1] >> (32 - shift)
    _shift_left(a, m, shift, u)
    second = v[n - 2] if n > 1 else 0
    for j in range(m - n, -1, -1):
        # D3: guess the digit from two limbs over one, and correct the guess by a third limb.
        head = np.uint64(u[j + n]) << _BITS | np.uint64(u[j + n - 1])
        guess, rest = head // np.uint64(v[n - 1]), head % np.uint64(v[n - 1])
        third = np.uint64(u[j + n - 2]) if n > 1 else np.uint64(0)
        while guess > _LOW or guess * np.uint64(second) > (rest << _BITS | third):
            guess -= np.uint64(1)
            rest += np.uint64(v[n - 1])
            if rest > _LOW:
                break
        # D4: subtract the guessed multiple of the divisor.
        borrow = 0
        for i in range(n):
            product = guess * np.uint64(v[i])
            total = u[i + j] - borrow - np.int64(product & _LOW)
            u[i + j] = total & _MASK
            borrow = np.int64(product >> _BITS) - (total >> 32)
        total = u[j + n] - borrow
        u[j + n] = total & _MASK
        if total < 0:  # D6: the guess was one too large after all, so the divisor is added back
            guess -= np.uint64(1)
            _add_limbs(u[j:], v, n)
        quotient[j] = np.int64(guess)
    a[:] = 0
    for i in range(n):
        a[i] = u[i] >> shift | (u[i + 1] << (32 - shift)) & _MASK


@compiled
def _shift(
    negative: bool, a: Int64s, scale: int, rounding: int, divisor: Int64s, quotient: Int64s, scratch: Int64s
) -> None:
    """Divide a magnitude by a power of ten, multiply when it is negative."""
    if scale <= 0:
        _times_power_of_ten(a, -scale)
        return
    divisor[:] = 0
    divisor[0] = 1
    _times_power_of_ten(divisor, scale)
    _divide(a, divisor, quotient, scratch)
    _finish_quotient(negative, a, divisor, quotient, rounding)


@compiled
def _finish_quotient(negative: bool, rest: Int64s, divisor: Int64s, quotient: Int64s, rounding: int) -> None:
    """`rest` becomes the quotient, rounded by what is left."""
    if rounding == HALF_UP:
        _add(rest, rest)
        up = _compare(rest, divisor) >= 0
    else:
        up = _significant(rest) > 0 and ((rounding == FLOOR and negative) or (rounding == CEILING and not negative))
    rest[:] = quotient
    i = 0
    while up:
        rest[i] = (rest[i] + 1) & _MASK
        up = rest[i] == 0
        i += 1


@compiled
def _rescaled(hi: Int64s, lo: UInt64s, scale: int, rounding: int, limit: Int64s) -> tuple[Int64s, UInt64s, Bools]:
    out_hi, out_lo, fits = np.zeros(len(hi), np.int64), np.zeros(len(hi), np.uint64), np.zeros(len(hi), np.bool_)
    a, divisor, quotient = np.empty(_LIMBS, np.int64), np.empty(_LIMBS, np.int64), np.empty(_LIMBS, np.int64)
    scratch = np.empty((2, _LIMBS + 1), np.int64)
    for i in range(len(hi)):
        negative = _load(hi[i], lo[i], a)
        _shift(negative, a, scale, rounding, divisor, quotient, scratch)
        fits[i] = _compare(a, limit) < 0
        if fits[i]:
            out_hi[i], out_lo[i] = _store(negative, a)
    return out_hi, out_lo, fits


@compiled
def _computed(
    operator: int, lefts: _Halves, rights: _Halves, shifts: tuple[int, int], scale: int, limit: Int64s, length: int
) -> tuple[Int64s, UInt64s, Bools]:
    a_hi, a_lo, b_hi, b_lo = lefts.hi, lefts.lo, rights.hi, rights.lo
    out_hi, out_lo, fits = np.zeros(length, np.int64), np.zeros(length, np.uint64), np.zeros(length, np.bool_)
    a, b, result = np.empty(_LIMBS, np.int64), np.empty(_LIMBS, np.int64), np.empty(_LIMBS, np.int64)
    divisor, scratch = np.empty(_LIMBS, np.int64), np.empty((2, _LIMBS + 1), np.int64)
    for i in range(length):
        left, right = min(i, len(a_hi) - 1), min(i, len(b_hi) - 1)
        negative, other = _load(a_hi[left], a_lo[left], a), _load(b_hi[right], b_lo[right], b)
        _times_power_of_ten(a, shifts[0])
        _times_power_of_ten(b, shifts[1])
        if operator in (DIVIDE, REMAINDER) and _significant(b) == 0:
            continue
        if operator in (ADD, SUBTRACT):
            other = other != (operator == SUBTRACT)
            if negative == other:
                _add(a, b)
            elif _compare(a, b) >= 0:
                _subtract(a, b)
            else:
                _subtract(b, a)
                a[:] = b
                negative = other
        elif operator == MULTIPLY:
            _times(a, b, result)
            a[:] = result
            negative = negative != other
        else:
            _divide(a, b, result, scratch)
            if operator == DIVIDE:
                negative = negative != other
                _finish_quotient(negative, a, b, result, HALF_UP)
        if operator != DIVIDE:
            _shift(negative, a, scale, HALF_UP, divisor, result, scratch)
        fits[i] = _compare(a, limit) < 0
        if fits[i]:
            out_hi[i], out_lo[i] = _store(negative, a)
    return out_hi, out_lo, fits


@compiled
def _averaged(sums: Int64s, counts: Int64s, power: int, limit: Int64s) -> tuple[Int64s, UInt64s, Bools]:
    length = len(counts)
    out_hi, out_lo, fits = np.zeros(length, np.int64), np.zeros(length, np.uint64), np.zeros(length, np.bool_)
    a, b, quotient = np.empty(_LIMBS, np.int64), np.empty(_LIMBS, np.int64), np.empty(_LIMBS, np.int64)
    scratch = np.empty((2, _LIMBS + 1), np.int64)
    for i in range(length):
        negative = sums[i, sums.shape[1] - 1] < 0
        carry = 0
        a[:] = 0
        for limb in range(sums.shape[1]):
            total = (-sums[i, limb] if negative else sums[i, limb]) + carry
            a[limb] = total & _MASK
            carry = total >> 32
        a[sums.shape[1]] = carry
        _times_power_of_ten(a, power)
        if counts[i] > 1:
            b[:] = 0
            b[0], b[1] = counts[i] & _MASK, counts[i] >> 32
            _divide(a, b, quotient, scratch)
            _finish_quotient(negative, a, b, quotient, HALF_UP)
        fits[i] = _compare(a, limit) < 0
        if fits[i]:
            out_hi[i], out_lo[i] = _store(negative, a)
    return out_hi, out_lo, fits
