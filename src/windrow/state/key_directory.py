"""Keys with their columns: ids for the keys that are in use, and the way back from an id to the key's values.

An owner (a sweep, a group-by) holds a key while it has anything to say about it, and forgets it afterwards; the id is
then used again. Costs one hash a row.

A key that is one string has a code of the dictionary: when codes are not much larger than there are keys, the ids are
looked up in an array of them. It may lack keys, which are then looked for in the table, but has no wrong ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.batch.arrays import Bools, Int32s, Int64s, UInt64s, grown
from windrow.batch.batch import inserts
from windrow.batch.column import Column
from windrow.batch.compiled import compiled
from windrow.batch.key_table import ABSENT, KeyTable
from windrow.batch.words import words_of
from windrow.state.changed_places import PLACES, ChangedPlaces
from windrow.state.snapshot import Piece
from windrow.state.stored_columns import StoredColumns

_CODES_A_KEY = 4  # up to so many places by code are worth it
_FEW = 1024


class KeyDirectory(ChangedPlaces):
    def __init__(self) -> None:
        super().__init__()
        self._table = KeyTable()
        self._columns = StoredColumns()
        self._touched: Bools = np.zeros(0, np.bool_)  # ids that came or went since the last snapshot
        self._by_code: Int32s = np.zeros(0, np.int32)  # id + 1 of strings whose ids are known

    def __len__(self) -> int:
        return len(self._table)

    @property
    def capacity(self) -> int:
        """All ids are below this."""
        return self._table.capacity

    def intern(self, columns: Sequence[Column], length: int) -> Int64s:
        """The ids of keys, held from now on."""
        if len(columns) != 1 or not self._has_small_codes(columns[0]):
            return self._interned(columns, length)
        codes = columns[0].values
        ids, unknown = _ids_by_code(codes, self._by_code)
        if len(unknown):
            ids[unknown] = self._interned((columns[0].take(unknown),), len(unknown))
            self._by_code[codes[unknown]] = ids[unknown] + 1
        return ids

    def _has_small_codes(self, column: Column) -> bool:
        """Whether ids can be looked up by code; there is a place for each of these then."""
        if not column.is_coded or column.valid is not None or not len(column):
            return False
        places = int(column.values.max()) + 1
        if places > _CODES_A_KEY * len(self) + _FEW:
            return False
        self._by_code = grown(self._by_code, places)
        return True

    def _interned(self, columns: Sequence[Column], length: int) -> Int64s:
        ids, new = self._table.interned(words_of(columns, length))
        if len(new):
            self._columns.put(ids[new], tuple(column.take(new) for column in columns), self._table.capacity)
            self._touch(ids[new])
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
        if len(self._by_code) and len(ids):
            (strings,) = self._columns.take(ids)
            self._by_code[strings.values[strings.values < len(self._by_code)]] = 0
        if self._table.forget(ids):
            self._touch(ids)

    def columns(self, ids: Int64s) -> tuple[Column, ...]:
        """The values of keys."""
        return self._columns.take(ids)

    def known(self) -> Int64s:
        return self._table.known()

    def _touch(self, ids: Int64s) -> None:
        self._touched = grown(self._touched, self._table.capacity)
        self._touched[ids] = True

    def _changed(self) -> Int64s:
        places = np.flatnonzero(self._touched)
        self._touched[places] = False
        return places

    def _used(self) -> Int64s:
        return self._table.known()

    def _piece(self, places: Int64s) -> Piece:
        """The keys that are known of some ids; the others are free."""
        ids = places[self._table.find(self._table.words(places)) == places]
        rows = inserts(self._columns.take(ids), np.zeros(len(ids), np.int64))
        return Piece({PLACES: places, "ids": ids, "words": self._table.words(ids)}, rows)

    def _read(self, piece: Piece) -> Int64s:
        assert piece.rows is not None
        ids, words = piece.arrays["ids"], piece.arrays["words"].astype(np.uint64)
        places = piece.arrays.get(PLACES, ids)  # earlier versions wrote all of them
        before = np.setdiff1d(self._table.known(), places)
        if len(before):
            ids, words = np.concatenate([before, ids]), np.concatenate([self._table.words(before), words])
        self._table.restore(ids, words)
        self._by_code = self._by_code[:0]
        if len(piece.rows):
            self._columns.put(piece.arrays["ids"], piece.rows.columns, self._table.capacity)
        return places


@compiled
def _ids_by_code(codes: Int32s, by_code: Int32s) -> tuple[Int64s, Int64s]:
    """The ids of codes, and the rows whose ids are not known."""
    ids, unknown = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
    count = 0
    for row in range(len(codes)):
        ids[row] = by_code[codes[row]] - 1
        unknown[count] = row
        count += ids[row] < 0
    return ids, unknown[:count]
