"""What rows are compared by: for each row id a row of words, made from the values of the row.

Places of strings change when their dictionary grows; then all words are made anew. They follow from the rows, so no
snapshot has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from windrow.batch.arrays import Array, Int64s, grown
from windrow.batch.column import Column, order_words
from windrow.numbers.ordered_values import NO_RANKS
from windrow.state.key_directory import KeyDirectory


class RowRanks:
    """`words` gives the words of columns, as many of them whatever the values."""

    def __init__(self, rows: KeyDirectory, words: Callable[[Sequence[Column]], list[Array]]) -> None:
        self.words: Int64s = NO_RANKS  # by row id
        self._rows, self._words_of = rows, words
        self._strings = 0  # how many strings the dictionary had when the words were made

    def update(self, ids: Int64s, columns: Sequence[Column]) -> None:
        """These rows have come, or were there."""
        strings = max((c.dictionary.strings for c in columns if c.is_coded and c.dictionary is not None), default=0)
        if strings != self._strings or len(self.words) < len(self._rows):
            ids = self._rows.known()
            columns = self._rows.columns(ids)
            self._strings = strings
        if not len(ids):
            return
        words = np.stack(self._words_of(columns), axis=1)
        if self.words.shape[1] != words.shape[1]:
            self.words = np.zeros((0, words.shape[1]), np.int64)
        self.words = grown(self.words, self._rows.capacity)
        self.words[ids] = words


def rank_words(column: Column, descending: bool = False, nulls_first: bool = True) -> list[Array]:
    """Where nulls go, then the values; descending order turns all bits of a value over."""
    valid = column.valid_mask()
    nulls = valid if nulls_first else ~valid
    values = (np.where(valid, ~word if descending else word, 0) for word in order_words(column))
    return [nulls.astype(np.int64), *values]
