"""Keys of a stream that punctuations have closed, and the rows that come after all.

A key is closed at a time: no row with a later time has it any more. Rows and punctuations are compared when their time
is final, so that it does not matter which came first: a row is after the punctuation of its key or it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.batch import Batch, KeyTable, concat, words_of
from windrow.batch.arrays import Bools, Int64s, grown
from windrow.batch.key_table import ABSENT
from windrow.units import FOREVER


class ClosedKeys:
    """`columns` are the ordinals of the key; closings wait as batches of these columns until their time is final."""

    def __init__(self, columns: Sequence[int], none: Batch) -> None:
        self.columns = tuple(columns)
        self._none = none
        self._waiting = [none]
        self._keys = KeyTable()
        self._times: Int64s = np.zeros(0, np.int64)

    def close(self, closings: Batch) -> None:
        self._waiting.append(closings)

    def until(self, end: int, begin: int) -> Batch:
        """The closings with a time before `end`; those of before `begin` are told as of then."""
        waiting = concat(self._waiting)
        due = waiting.ts < end
        self._waiting = [self._none, waiting.take(~due)]
        told = waiting.take(due)
        ids = self._keys.intern(words_of(told.columns, len(told)))
        known = len(self._times)
        self._times = grown(self._times, self._keys.capacity)
        self._times[known:] = FOREVER
        np.minimum.at(self._times, ids, told.ts)
        return told.with_lifetimes(np.maximum(told.ts, begin), told.exp).sorted_by_time()

    def contradicted_by(self, rows: Batch) -> Bools:
        """The rows that come after the punctuation of their key."""
        ids = self._keys.find(words_of(rows.select(self.columns), len(rows)))
        after = np.zeros(len(rows), np.bool_)
        found = ids != ABSENT
        after[found] = self._times[ids[found]] < rows.ts[found]
        return after
