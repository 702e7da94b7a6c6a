"""Columns as integers in the order of their values, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.batch.arrays import Bools, Int64s
from windrow.batch.column import Column, column, from_order, order_words
from windrow.numbers.ordered_values import NO_RANKS


def in_order(values: Column) -> list[Int64s]:
    """Integers in the order of values, two for a wide decimal; codes as they are, `ranks_of` has their order."""
    return [values.values.astype(np.int64)] if values.is_coded else order_words(values)


def ranks_of(values: Column) -> Int64s:
    """The order of codes, nothing for other columns."""
    if not values.is_coded or values.dictionary is None:
        return NO_RANKS
    return values.dictionary.ranks()[:, None]


def column_like(like: Column, words: Sequence[Int64s], present: Bools) -> Column:
    """The column whose values in order are these; null where nothing is present."""
    if like.is_coded:
        return column(like.type, words[0].astype(np.int32), present, like.dictionary)
    return from_order(like.type, words, present)
