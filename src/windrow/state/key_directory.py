"""Keys with their columns: ids for the keys that are in use, and the way back from an id to the key's values.

An owner (a sweep, a group-by) holds a key while it has anything to say about it, and forgets it afterwards; the id is
then used again. Costs one hash a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.batch.arrays import Bools, Int64s, UInt64s
from windrow.batch.batch import inserts
from windrow.batch.column import Column
from windrow.batch.key_table import ABSENT, KeyTable
from windrow.batch.words import words_of
from windrow.state.snapshot import OnePiece, Piece
from windrow.state.stored_columns import StoredColumns


class KeyDirectory(OnePiece):
    def __init__(self) -> None:
        self._table = KeyTable()
        self._columns = StoredColumns()

    def __len__(self) -> int:
        return len(self._table)

    @property
    def capacity(self) -> int:
        """All ids are below this."""
        return self._table.capacity

    def intern(self, columns: Sequence[Column], length: int) -> Int64s:
        """The ids of keys, held from now on."""
        ids, new = self._table.interned(words_of(columns, length))
        if len(new):
            self._columns.put(ids[new], tuple(column.take(new) for column in columns), self._table.capacity)
            self._changes += 1
        return ids

    def find(self, columns: Sequence[Column], length: int) -> Int64s:
        """The ids of those keys that are known."""
        ids = self._table.find(words_of(columns, length))
        return np.asarray(ids[ids != ABSENT])

    def knows(self, words: UInt64s) -> Bools:
        """Which rows of words are known keys."""
        return np.asarray(self._table.find(words) != ABSENT)

    def forget(self, ids: Int64s) -> None:
        """Nothing is to be said about these keys any more."""
        if self._table.forget(ids):
            self._changes += 1

    def columns(self, ids: Int64s) -> tuple[Column, ...]:
        """The values of keys."""
        return self._columns.take(ids)

    def known(self) -> Int64s:
        return self._table.known()

    def _piece(self) -> Piece:
        ids = self._table.known()
        rows = inserts(self._columns.take(ids), np.zeros(len(ids), np.int64))
        return Piece({"ids": ids, "words": self._table.words(ids)}, rows)

    def _read(self, piece: Piece) -> None:
        assert piece.rows is not None
        ids = piece.arrays["ids"]
        if len(ids):
            self._table.restore(ids, piece.arrays["words"].astype(np.uint64))
            self._columns.put(ids, piece.rows.columns, self._table.capacity)
