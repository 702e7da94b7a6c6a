"""Ids for the keys of stored rows: equal keys of different structures have the same id.

Nobody counts how many rows a key still has. When more than half of the known keys may have lost all their rows, the
ones that are still used are found by one pass over the rows: a constant a row that has left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.batch.arrays import Int64s, UInt64s
from windrow.batch.batch import Batch
from windrow.batch.key_table import ABSENT, KeyTable
from windrow.batch.words import any_null, key_words, words_of
from windrow.state.structure import Structure

_FEW = 64


class RowKeys:
    """Of structures whose rows have their keys in the columns that come with them; null is a value, or in no key."""

    def __init__(self, sides: Sequence[tuple[Structure, tuple[int, ...]]], nulls: bool) -> None:
        self._sides = sides
        self._nulls = nulls
        self._table = KeyTable()

    @property
    def capacity(self) -> int:
        """All ids are below this."""
        return self._table.capacity

    def intern(self, rows: Batch, ordinals: tuple[int, ...]) -> Int64s:
        """The ids of the keys of rows that are going to be stored."""
        return self._table.intern(self._key(rows, ordinals))

    def find(self, rows: Batch, ordinals: tuple[int, ...]) -> Int64s:
        """The ids of keys, ABSENT where no row has had the key, or can have it."""
        ids = self._table.find(self._key(rows, ordinals))
        if not self._nulls:
            ids[any_null(rows.select(ordinals), len(rows))] = ABSENT
        return ids

    def tidy(self) -> None:
        """To be called when rows have left."""
        if len(self._table) > 2 * sum(len(side) for side, _ in self._sides) + _FEW:
            self._table.keep(*(side.keys() for side, _ in self._sides))

    def restore(self) -> None:
        """The table that restored rows need: the rows know their ids and, in the key columns, their keys."""
        kept = [(side.scan(), ordinals) for side, ordinals in self._sides]
        held = [(k.keys, self._key(k.rows, ordinals)) for k, ordinals in kept if len(k.keys)]
        if held:
            ids, first = np.unique(np.concatenate([keys for keys, _ in held]), return_index=True)
            self._table.restore(ids, np.concatenate([words for _, words in held])[first])

    def _key(self, rows: Batch, ordinals: tuple[int, ...]) -> UInt64s:
        return (words_of if self._nulls else key_words)(rows.select(ordinals), len(rows))
