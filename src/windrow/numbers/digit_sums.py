"""Exact sums of floating-point numbers.

A double is an integer times a power of two, so a sum of doubles is a long integer: a row of digits of 32 bits, each
kept in 64. Adding and taking away are exact, and a small value is still there when a large one has come and gone;
rounding happens only when a sum is read. The row of digits covers the exponents that have been seen, three or four
digits for data of similar size, and grows when others come. Infinities and NaN are counted apart.

Adding costs three additions; reading costs a pass over the digits. (The idea is Kulisch's long accumulator.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Array, Bools, Floats, Int64s
from windrow.batch.column import Column
from windrow.batch.compiled import compiled, compiled_in_place, inlined
from windrow.numbers.exact_doubles import Exact, exact
from windrow.numbers.group_events import GroupEvents
from windrow.numbers.running_counts import running_counts
from windrow.state.keyed_arrays import KeyedArrays

_DIGIT = 0xFFFFFFFF
_LOWEST = 2400  # added to exponents, so that the places of digits are never negative, nor those of squares
_NORMAL = 1022  # powers of two up to here, and down to here, are doubles with all their digits
_SPARE = 3  # digits above the highest exponent: the mantissa's own, and carries


class DoubleTotals(NamedTuple):
    """Sums as a double and what it lacks, both times a power of two, and how many values each has."""

    total: Floats
    rest: Floats
    exponent: Int64s
    values: Int64s

    @property
    def doubles(self) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            if bool((np.abs(self.exponent) < _NORMAL).all()):  # the power is a double: cheaper, and rounds as often
                return self.total * ((self.exponent + 1023) << 52).view(np.float64)
            return np.ldexp(self.total, self.exponent.astype(np.int32))


class _Running(NamedTuple):
    """Sums by group, as they are kept."""

    values: Int64s
    digits: Int64s
    special: Int64s
    lowest: int
    scratch: Int64s  # for the digits of one sum


class DigitSums(KeyedArrays):
    """The running sums of groups as digits, and counts of values and of those that are not finite."""

    def __init__(self) -> None:
        super().__init__(count=np.int64, partial_count=np.int64)
        self["digits"] = np.zeros((0, _SPARE), np.int64)
        self["special"] = np.zeros((0, 3), np.int64)  # infinity, minus infinity, NaN
        self["lowest"] = np.full(1, -1, np.int64)  # the place of the first digit; -1 while there is none

    def reserve(self, length: int) -> None:
        lowest = self["lowest"]
        super().reserve(length)
        self["lowest"] = lowest

    def clear(self, ids: Int64s) -> None:
        lowest = self["lowest"].copy()
        self["lowest"] = np.zeros(len(self["count"]), np.int64)
        super().clear(ids)
        self["lowest"] = lowest

    def sums(self, events: GroupEvents, values: Exact, valid: Bools) -> DoubleTotals:
        """The sum after each last event of an instant."""
        self.reserve(events.capacity)
        change = events.change if valid.all() else events.change * valid
        self._cover(*_range_of_places(values.whole, values.exponent))
        lowest = int(self["lowest"][0])
        scratch = np.empty((1, self["digits"].shape[1]), np.int64)
        running = _Running(self["count"], self["digits"], self["special"], lowest, scratch)
        floats = np.empty((2, events.instants), np.float64)
        whole = np.empty((2, events.instants), np.int64)
        totals = DoubleTotals(floats[0], floats[1], whole[0], whole[1])
        _sum(events._replace(change=change), values, running, totals)
        return totals

    def total(self, events: GroupEvents, values: tuple[Column, ...]) -> tuple[Floats, Int64s]:
        """The sum and the count after each last event; of values, or of partial sums with low parts and counts."""
        doubles = values[0].values.astype(np.float64)
        if len(values) == 1:
            sums = self.sums(events, exact(doubles), values[0].valid_mask())
            return sums.doubles, sums.values
        # Both parts of a sum are added; the second one is the last.
        both = np.stack([doubles, values[1].values], axis=1).reshape(-1)
        is_last = np.zeros(len(both), np.bool_)
        is_last[1::2] = events.is_last
        twice = events._replace(group=np.repeat(events.group, 2), change=np.repeat(events.change, 2), is_last=is_last)
        sums = self.sums(twice, exact(both), np.ones(len(both), np.bool_))
        counts = events.change * values[2].values
        return sums.doubles, running_counts(events._replace(change=counts), self["partial_count"])

    def _cover(self, lowest_place: int, highest_place: int) -> None:
        """Make the row of digits long enough for these places; there are none when the lowest is above the highest."""
        if lowest_place > highest_place:
            return
        low, high = lowest_place // 32, highest_place // 32 + _SPARE
        digits, lowest = self["digits"], int(self["lowest"][0])
        if lowest >= 0:
            low, high = min(low, lowest), max(high, lowest + digits.shape[1])
        if lowest == low and high == low + digits.shape[1]:
            return
        wider = np.zeros((len(digits), high - low), np.int64)
        if lowest >= 0:
            _spread(digits, wider, lowest - low)
        self["digits"] = wider
        self["lowest"] = np.full(1, low, np.int64)


def _spread(digits: Array, wider: Array, offset: int) -> None:
    """Put rows of digits into wider ones; the sign of the highest digit goes on above."""
    width = digits.shape[1]
    wider[:, offset : offset + width] = digits


@compiled
def _range_of_places(whole: Int64s, exponent: Int64s) -> tuple[int, int]:
    """The lowest and the highest place of numbers other than zero."""
    low, high = 1 << 30, -1
    for i in range(len(whole)):
        if whole[i] != 0:
            low, high = min(low, exponent[i] + _LOWEST), max(high, exponent[i] + _LOWEST)
    return low, high


@compiled_in_place
def _sum(events: GroupEvents, values: Exact, running: _Running, totals: DoubleTotals) -> None:
    """Write the totals after each last event of an instant."""
    group, change, is_last = events.group, events.change, events.is_last
    whole, exponent, special = values.whole, values.exponent, values.special
    count, digits, specials, lowest = running.values, running.digits, running.special, running.lowest
    emitted, rest, exponents, counts = totals.total, totals.rest, totals.exponent, totals.values
    scratch = running.scratch
    place = 0
    for i in range(len(group)):
        g = group[i]
        if change[i] != 0:
            count[g] += change[i]
            if special[i] > 0:
                specials[g, special[i] - 1] += change[i]
            elif whole[i] != 0:
                first, shift = ((exponent[i] + _LOWEST) >> 5) - lowest, (exponent[i] + _LOWEST) & 31
                low = (whole[i] & _DIGIT) << shift
                high = (whole[i] >> 32) << shift
                digits[g, first] += change[i] * (low & _DIGIT)
                digits[g, first + 1] += change[i] * ((low >> 32) + (high & _DIGIT))
                digits[g, first + 2] += change[i] * (high >> 32)
        if is_last[i]:
            emitted[place], rest[place], exponents[place] = _read(digits, g, scratch, 32 * lowest - _LOWEST)
            if specials[g, 2] > 0 or (specials[g, 0] > 0 and specials[g, 1] > 0):
                emitted[place] = np.nan
            elif specials[g, 0] > 0:
                emitted[place] = np.inf
            elif specials[g, 1] > 0:
                emitted[place] = -np.inf
            counts[place] = count[g]
            place += 1


@inlined
def _read(digits: Int64s, group: int, scratch: Int64s, exponent: int) -> tuple[float, float, int]:
    """The sum as a double, what it lacks, and the power of two that both are times. Carries are made in place."""
    last = digits.shape[1] - 1
    carry = 0
    for i in range(last):
        digit = digits[group, i] + carry
        carry = digit >> 32
        digits[group, i] = digit & _DIGIT
    digits[group, last] += carry
    if digits[group, last] >= 0:
        return _rounded(digits, group, exponent)
    borrow = 0
    for i in range(last + 1):
        digit = -digits[group, i] - borrow
        borrow = 1 if digit < 0 and i < last else 0
        scratch[0, i] = digit + (borrow << 32)
    total, lower, scale = _rounded(scratch, 0, exponent)
    return -total, -lower, scale


@inlined
def _rounded(digits: Int64s, group: int, exponent: int) -> tuple[float, float, int]:
    """The same of digits that are not negative."""
    top = digits.shape[1] - 1
    while top > 0 and digits[group, top] == 0:
        top -= 1
    head = np.float64(digits[group, top])
    second = np.float64(digits[group, top - 1]) if top > 0 else 0.0
    third = np.float64(digits[group, top - 2]) if top > 1 else 0.0
    fourth = np.float64(digits[group, top - 3]) if top > 2 else 0.0
    # Digits have 32 bits: each pair is exact in a double when the upper has less than 21, and else sums exactly in two.
    upper = head * 4294967296.0 + second
    lost = second - (upper - head * 4294967296.0)
    lower = lost * 4294967296.0 * 4294967296.0 + (third * 4294967296.0 + fourth)
    upper *= 4294967296.0 * 4294967296.0
    total = upper + lower
    lower = lower - (total - upper)
    return total, lower, exponent + 32 * (top - 3)
