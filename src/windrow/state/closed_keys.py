"""Keys of a stream that punctuations have closed, and the rows that come after all.

A key is closed at a time: no row with a later time has it any more. Rows and punctuations are compared when their time
is final, so that it does not matter which came first: a row is after the punctuation of its key or it is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from windrow.batch.arrays import Bools
from windrow.batch.batch import Batch
from windrow.batch.key_table import ABSENT, KeyTable
from windrow.batch.words import words_of
from windrow.state.batches import PendingRows
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts, Piece
from windrow.units import FOREVER


class ClosedKeys(Parts):
    """`columns` are the ordinals of the key; closings wait as batches of these columns until their time is final."""

    def __init__(self, columns: Sequence[int], none: Batch) -> None:
        self.columns = tuple(columns)
        self._none = none
        self._waiting = PendingRows()
        self._keys = KeyTable()
        self._closed = KeyedArrays(before=np.int64)  # how long before FOREVER a key was closed; 0 is not at all
        self._closed["words"] = np.zeros((0, words_of(none.columns, 0).shape[1]), np.uint64)

    def __len__(self) -> int:
        return len(self._waiting)

    def close(self, closings: Batch) -> None:
        self._waiting.put(closings)

    def waiting(self) -> Batch:
        """The closings whose time is not final."""
        return self._waiting.rows(self._none)

    def until(self, end: int, begin: int) -> Batch:
        """The closings with a time before `end`; those of before `begin` count as of then."""
        due = self._waiting.pop_before(end, self._none)
        if len(due):
            words = words_of(due.columns, len(due))
            ids = self._keys.intern(words)
            self._closed.reserve(self._keys.capacity)
            self._closed["words"][ids] = words
            np.maximum.at(self._closed["before"], ids, FOREVER - due.ts)
        return due.with_lifetimes(np.maximum(due.ts, begin), due.exp).sorted_by_time()

    def contradicted_by(self, rows: Batch) -> Bools:
        """The rows that come after the punctuation of their key."""
        ids = self._keys.find(words_of(rows.select(self.columns), len(rows)))
        after = np.zeros(len(rows), np.bool_)
        found = ids != ABSENT
        after[found] = FOREVER - self._closed["before"][ids[found]] < rows.ts[found]
        return after

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        super().restore(pieces)
        used = np.flatnonzero(self._closed["before"])
        self._keys.restore(used, self._closed["words"][used])

    def parts(self) -> Mapping[str, Part]:
        return {"waiting": self._waiting, "closed": self._closed}
