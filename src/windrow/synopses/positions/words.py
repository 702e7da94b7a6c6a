"""Partial results as rows of 64-bit words: what synopses keep of built-in aggregates, and how two are merged.

A row begins with a count of values, so that the absence of any is seen. What follows is for

- sums: one number in two's complement, the lowest limb first. It is a whole number of units, the unit of floating-point
  numbers being a power of two that all of them are multiples of, so that sums are exact. Sums are kept modulo what the
  limbs hold: a running sum may pass through that bound and the difference of two is still right, as long as the sum of
  the window itself fits, for which 32 bits are spare. Infinities and NaN are counted in words before the number.
- extremes: the value as words in the order of values (`order_words`), or the code of a string.

`Layout` says which words there are. It widens when values come that need more, never the other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Array, Floats, Int64s, UInt64s
from windrow.batch.column import WIDE, Column
from windrow.batch.compiled import compiled, inlined
from windrow.numbers.exact_doubles import exact
from windrow.numbers.in_order import in_order

ADD, LEAST, GREATEST = range(3)
_COUNT = 1  # words before a sum without infinities and NaN
_SPECIAL = 4  # and with counts of infinity, minus infinity and NaN
_SPARE = 32  # bits: a window has less than 2^32 values
_DOUBLE = 53  # bits of a double's mantissa


class Layout(NamedTuple):
    """`plain` words are counts; a sum has `limbs` words, the lowest of which stands for multiples of 2^(64 lowest)."""

    operation: int
    plain: int
    limbs: int
    lowest: int = 0

    @property
    def width(self) -> int:
        return self.plain + self.limbs

    def covering(self, other: Layout) -> Layout:
        """The smallest layout that has room for rows of both."""
        if not other.limbs:
            return self._replace(plain=max(self.plain, other.plain))
        if not self.limbs:
            return other._replace(plain=max(self.plain, other.plain))
        lowest = min(self.lowest, other.lowest)
        highest = max(self.lowest + self.limbs, other.lowest + other.limbs)
        return Layout(self.operation, max(self.plain, other.plain), highest - lowest, lowest)


class Operation(NamedTuple):
    """How rows are merged, for a compiled loop: ADD, LEAST or GREATEST; words that are counts; the order of codes."""

    kind: int
    plain: int
    ranks: Int64s


COUNT_LAYOUT = Layout(ADD, _COUNT, 0)


@dataclass(frozen=True, eq=False)
class Words:
    """Rows of words, and what they mean."""

    layout: Layout
    rows: Int64s


def counts(values: tuple[Column, ...], length: int) -> Words:
    """COUNT(*) without a column, COUNT(x) of one; a second column says for how many values each element stands."""
    rows = np.ones((length, 1), np.int64)
    if values:
        rows[:, 0] = _valid_counts(values)
    return Words(COUNT_LAYOUT, rows)


def partial_counts(values: tuple[Column, ...], length: int) -> Words:
    """Counts that were counted before."""
    return Words(COUNT_LAYOUT, values[0].values.astype(np.int64)[:, None])


def integers(values: tuple[Column, ...], length: int) -> Words:
    """Integers and decimals, or sums of them with their counts."""
    column = values[0]
    if column.values.dtype == WIDE:
        hi = column.values["hi"].astype(np.int64)
        return Words(Layout(ADD, _COUNT, 3), _rows(values, [column.values["lo"].view(np.int64), hi, hi >> 63]))
    whole = column.values.astype(np.int64, copy=False)
    is_small = not length or (int(whole.min()) >= -(2**31) and int(whole.max()) < 2**31)
    words = [whole] if is_small else [whole, whole >> 63]
    return Words(Layout(ADD, _COUNT, len(words)), _rows(values, words))


def doubles(values: tuple[Column, ...], length: int) -> Words:
    """Floating-point numbers, or sums of them as two numbers with their counts."""
    parts = [exact(column.values.astype(np.float64)) for column in (values[:2] if len(values) == 3 else values[:1])]
    lowest, highest = 1 << 30, -(1 << 30)
    for part in parts:
        low, high = _range_of_exponents(part.whole, part.exponent)
        lowest, highest = min(lowest, low), max(highest, high)
    has_special = any(bool(part.special.any()) for part in parts)
    first = lowest // 64
    limbs = (highest + _DOUBLE + _SPARE) // 64 - first + 1 if lowest <= highest else 0
    layout = Layout(ADD, _SPECIAL if has_special else _COUNT, limbs, first if limbs else 0)
    rows = np.zeros((length, layout.width), np.int64)
    rows[:, 0] = _valid_counts(values)
    for part in parts:
        _add_doubles(part.whole, part.exponent, part.special, 64 * layout.lowest, layout.plain, rows)
    return Words(layout, rows)


def extremes(operation: int, values: tuple[Column, ...]) -> Words:
    """Values to be compared, nulls without a count."""
    words = in_order(values[0])
    return Words(Layout(operation, _COUNT, len(words)), _rows(values[:1], words))


def _rows(values: tuple[Column, ...], words: Sequence[Int64s]) -> Int64s:
    """For each element its count, and the words."""
    rows = np.empty((len(values[0]), 1 + len(words)), np.int64)
    rows[:, 0] = _valid_counts(values)
    for place, word in enumerate(words, 1):
        rows[:, place] = word
    return rows


def _valid_counts(values: tuple[Column, ...]) -> Array | int:
    """For how many values each element stands; one number when it is the same for all."""
    if len(values) > 1:
        return values[-1].values
    return 1 if values[0].valid is None else values[0].valid


def widened(rows: Int64s, old: Layout, new: Layout) -> Int64s:
    """The same partial results in a wider layout."""
    if old == new:
        return rows
    wider = np.zeros((len(rows), new.width), np.int64)
    wider[:, : old.plain] = rows[:, : old.plain]
    if old.limbs:
        start = new.plain + old.lowest - new.lowest
        wider[:, start : start + old.limbs] = rows[:, old.plain :]
        wider[:, start + old.limbs :] = rows[:, -1:] >> 63
    return wider


def as_doubles(rows: Int64s, layout: Layout) -> Floats:
    """Sums rounded once, to the nearest double."""
    return np.asarray(_rounded(rows, layout.plain, 64 * layout.lowest))


def as_limbs(rows: Int64s, layout: Layout) -> Int64s:
    """Sums of integers as four limbs of 32 bits, the highest with all that is above (`IntegerTotals`)."""
    number = np.zeros((len(rows), 3), np.int64)
    given = rows[:, layout.plain :]
    number[:, : given.shape[1]] = given
    if 0 < layout.limbs < 3:
        number[:, layout.limbs :] = given[:, -1:] >> 63
    mask = 0xFFFFFFFF
    low, middle, high = number[:, 0], number[:, 1], number[:, 2]
    return np.stack([low & mask, low >> 32 & mask, middle & mask, (middle >> 32 & mask) | (high << 32)], axis=1)


@inlined
def merge(a: Int64s, i: int, b: Int64s, j: int, operation: Operation) -> None:
    """Merge row j of b into row i of a."""
    if are_narrow(a, operation):
        a[i, 0], a[i, 1] = merged(a[i, 0], a[i, 1], b[j, 0], b[j, 1], operation.kind)
    else:
        _merge(a, i, b, j, operation)


@inlined
def are_narrow(rows: Int64s, operation: Operation) -> bool:
    """Whether rows are a count and one word, as most are: these can be merged without looking at memory."""
    return rows.shape[1] == 2 and len(operation.ranks) == 0


@inlined
def merged(count: int, word: int, more: int, other: int, kind: int) -> tuple[int, int]:
    """Two narrow rows in one."""
    if kind == ADD:
        word += other
    elif more != 0 and (count == 0 or (other > word) == (kind == GREATEST)):
        word = other
    return count + more, word


@compiled
def _merge(a: Int64s, i: int, b: Int64s, j: int, operation: Operation) -> None:
    if operation.kind == ADD:
        _add(a, i, b, j, operation.plain)
    elif b[j, 0] != 0:
        if a[i, 0] == 0 or (_compared(b, j, a, i, operation.ranks) > 0) == (operation.kind == GREATEST):
            for word in range(1, a.shape[1]):
                a[i, word] = b[j, word]
        a[i, 0] += b[j, 0]


@inlined
def add(a: Int64s, i: int, b: Int64s, j: int, plain: int) -> None:
    """Add row j of b to row i of a; for sums."""
    if a.shape[1] == 2:
        a[i, 0] += b[j, 0]
        a[i, 1] += b[j, 1]
    else:
        _add(a, i, b, j, plain)


@compiled
def _add(a: Int64s, i: int, b: Int64s, j: int, plain: int) -> None:
    for word in range(plain):
        a[i, word] += b[j, word]
    if a.shape[1] == plain + 1:
        a[i, plain] += b[j, plain]
        return
    carry = np.int64(0)
    for word in range(plain, a.shape[1]):
        total = a[i, word] + b[j, word]
        over = np.int64(np.uint64(total) < np.uint64(b[j, word]))
        total += carry
        over |= np.int64(np.uint64(total) < np.uint64(carry))
        a[i, word] = total
        carry = over


@inlined
def subtract(a: Int64s, i: int, b: Int64s, j: int, plain: int) -> None:
    """Take row j of b away from row i of a; for sums."""
    if a.shape[1] == 2:
        a[i, 0] -= b[j, 0]
        a[i, 1] -= b[j, 1]
    else:
        _subtract(a, i, b, j, plain)


@compiled
def _subtract(a: Int64s, i: int, b: Int64s, j: int, plain: int) -> None:
    for word in range(plain):
        a[i, word] -= b[j, word]
    if a.shape[1] == plain + 1:
        a[i, plain] -= b[j, plain]
        return
    borrow = np.int64(0)
    for word in range(plain, a.shape[1]):
        left = a[i, word]
        difference = left - b[j, word]
        under = np.int64(np.uint64(left) < np.uint64(b[j, word]))
        under |= np.int64(np.uint64(difference) < np.uint64(borrow))
        a[i, word] = difference - borrow
        borrow = under


@compiled
def _compared(a: Int64s, i: int, b: Int64s, j: int, ranks: Int64s) -> int:
    """Below, at or above zero as the value in row i of a is before, equal to or after that in row j of b."""
    if len(ranks) > 0:
        return int(ranks[a[i, 1]] - ranks[b[j, 1]])
    for word in range(1, a.shape[1]):
        if a[i, word] != b[j, word]:
            return 1 if a[i, word] > b[j, word] else -1
    return 0


@compiled
def _range_of_exponents(whole: Int64s, exponent: Int64s) -> tuple[int, int]:
    low, high = 1 << 30, -(1 << 30)
    for i in range(len(whole)):
        if whole[i] != 0:
            low, high = min(low, exponent[i]), max(high, exponent[i])
    return low, high


@compiled
def _add_doubles(whole: Int64s, exponent: Int64s, special: Int64s, lowest: int, plain: int, rows: Int64s) -> None:
    width = rows.shape[1]
    term = np.zeros((1, width), np.int64)
    for i in range(len(whole)):
        if special[i] > 0:
            rows[i, special[i]] += 1
        elif whole[i] != 0:
            place = exponent[i] - lowest
            word, shift = plain + place // 64, place % 64
            term[0, :] = 0
            term[0, word] = whole[i] << shift
            above = whole[i] >> (64 - shift) if shift > 0 else whole[i] >> 63
            for higher in range(word + 1, width):
                term[0, higher] = above if higher == word + 1 else whole[i] >> 63
            _add(rows, i, term, 0, plain)


@compiled
def _rounded(rows: Int64s, plain: int, lowest: int) -> Floats:
    result = np.zeros(len(rows), np.float64)
    number = np.zeros(rows.shape[1], np.uint64)
    for i in range(len(rows)):
        if plain == _SPECIAL and (rows[i, 1] > 0 or rows[i, 2] > 0 or rows[i, 3] > 0):
            result[i] = np.inf if rows[i, 1] > 0 else -np.inf
            if rows[i, 3] > 0 or (rows[i, 1] > 0 and rows[i, 2] > 0):
                result[i] = np.nan
        elif rows.shape[1] > plain:
            is_negative = _absolute(rows, i, plain, number)
            result[i] = _nearest(number, plain, lowest)
            if is_negative:
                result[i] = -result[i]
    return result


@compiled
def _absolute(rows: Int64s, i: int, plain: int, number: UInt64s) -> bool:
    """The limbs of a sum without its sign; whether it is negative."""
    one, zero = np.uint64(1), np.uint64(0)
    is_negative = rows[i, rows.shape[1] - 1] < 0
    carry = one
    for word in range(plain, rows.shape[1]):
        limb = np.uint64(rows[i, word])
        if is_negative:
            limb = ~limb + carry
            carry = one if (carry == one and limb == zero) else zero
        number[word] = limb
    return bool(is_negative)


@compiled
def _nearest(number: UInt64s, plain: int, lowest: int) -> float:
    """The double nearest to a number whose lowest limb, at `plain`, stands for multiples of 2^lowest."""
    one, zero = np.uint64(1), np.uint64(0)
    top = len(number) - 1
    while top > plain and number[top] == zero:
        top -= 1
    head, shift = number[top], 0
    if head == zero:
        return 0.0
    while head >> np.uint64(63) == zero:
        head <<= one
        shift += 1
    rest = zero
    if top > plain:
        below = number[top - 1]
        if shift > 0:
            head |= below >> np.uint64(64 - shift)
            rest = below << np.uint64(shift)
        else:
            rest = below
        for word in range(plain, top - 1):
            rest |= number[word]
    if rest != zero:
        head |= one  # far below the last bit of a double, and decides a tie
    exponent = lowest + 64 * (top - plain) - shift
    # in two steps: 2^64 times the head may be out of range where the number is not
    half = exponent // 2
    return float(np.float64(head) * 2.0**half * 2.0 ** (exponent - half))
