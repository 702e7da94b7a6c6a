"""The aggregates that synopses keep as words: how elements become rows of words, and rows of words a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.column import WIDE, Column, column, dtype_of
from windrow.batch.dictionary import Dictionary
from windrow.numbers.averages import decimal_averages, integer_averages
from windrow.numbers.in_order import column_like
from windrow.numbers.limb_sums import IntegerTotals
from windrow.synopses.positions import words
from windrow.synopses.positions.words import Layout, Operation, Words
from windrow.types import BIGINT, DOUBLE, DecimalType, Type

Values = tuple[Column, ...]


@dataclass(frozen=True)
class WordAggregate:
    """`encode` takes columns and their length, `finish` the rows of windows.

    Elements are values, or partial results of slices (`aggregates.partials`): of a sum of integers the sum
    and the count of values, of doubles the sum in two parts and the count, of a count the count.
    """

    name: str
    empty: Layout
    encode: Callable[[Values, int], Words]
    finish: Callable[[Words], Column]
    dictionary: Dictionary | None = None  # of the strings that are compared

    @property
    def is_subtractable(self) -> bool:
        return self.empty.operation == words.ADD

    @property
    def ranks(self) -> Int64s:
        """The order of codes; nothing for other values."""
        return np.zeros(0, np.int64) if self.dictionary is None else self.dictionary.ranks()

    def operation(self, layout: Layout) -> Operation:
        """How rows of a layout are merged."""
        return Operation(layout.operation, layout.plain, self.ranks)


def count(of_partials: bool = False) -> WordAggregate:
    """COUNT(*) and COUNT(x)."""
    encode = words.partial_counts if of_partials else words.counts
    return WordAggregate("COUNT", words.COUNT_LAYOUT, encode, lambda result: Column(BIGINT, result.rows[:, 0].copy()))


def sum_of_integers(type: Type) -> WordAggregate:
    """SUM of integers or decimals; one that does not fit its type is null, and comes back when values have left."""

    def finish(result: Words) -> Column:
        if result.layout.limbs == 1 and type == BIGINT:
            return column(type, result.rows[:, 1], result.rows[:, 0] > 0)
        sums = _sums(result)
        total, fits = sums.as_type(type)
        return column(type, total, fits & (sums.values > 0))

    return WordAggregate("SUM", Layout(words.ADD, 1, 1), words.integers, finish)


def average_of_integers() -> WordAggregate:
    def finish(result: Words) -> Column:
        if result.layout.limbs == 1:
            values = result.rows[:, 0]
            return column(DOUBLE, result.rows[:, 1] / np.maximum(values, 1), values > 0)
        return integer_averages(_sums(result))

    return WordAggregate("AVG", Layout(words.ADD, 1, 1), words.integers, finish)


def average_of_decimals(argument: DecimalType, type: DecimalType) -> WordAggregate:
    digits = type.scale - argument.scale
    return WordAggregate(
        "AVG", Layout(words.ADD, 1, 1), words.integers, lambda result: decimal_averages(_sums(result), digits, type)
    )


def sum_of_doubles() -> WordAggregate:
    """SUM of FLOAT or DOUBLE: the exact sum, rounded once."""

    def finish(result: Words) -> Column:
        return column(DOUBLE, words.as_doubles(result.rows, result.layout), result.rows[:, 0] > 0)

    return WordAggregate("SUM", Layout(words.ADD, 1, 0), words.doubles, finish)


def average_of_doubles() -> WordAggregate:
    def finish(result: Words) -> Column:
        values = result.rows[:, 0]
        total = words.as_doubles(result.rows, result.layout)
        return column(DOUBLE, total / np.maximum(values, 1), values > 0)

    return WordAggregate("AVG", Layout(words.ADD, 1, 0), words.doubles, finish)


def minimum(type: Type, dictionary: Dictionary | None = None) -> WordAggregate:
    return _extremum("MIN", words.LEAST, type, dictionary)


def maximum(type: Type, dictionary: Dictionary | None = None) -> WordAggregate:
    return _extremum("MAX", words.GREATEST, type, dictionary)


def _extremum(name: str, operation: int, type: Type, dictionary: Dictionary | None) -> WordAggregate:
    """The dictionary is that of the strings, and given for nothing else."""
    like = Column(type, np.zeros(0, dtype_of(type)), None, dictionary)

    def finish(result: Words) -> Column:
        keys = [np.ascontiguousarray(result.rows[:, word]) for word in range(1, result.rows.shape[1])]
        return column_like(like, keys, result.rows[:, 0] > 0)

    limbs = 2 if dtype_of(type) == WIDE else 1
    return WordAggregate(
        name, Layout(operation, 1, limbs), lambda values, _: words.extremes(operation, values), finish, dictionary
    )


def _sums(result: Words) -> IntegerTotals:
    return IntegerTotals(words.as_limbs(result.rows, result.layout), result.rows[:, 0])
