"""Rows that end in the order in which they came: a queue of basic windows (thesis 3.5.2, figure 2.4).

A basic window is what one insert brought, small ones together. Sliding on drops whole basic windows from the front and
cuts the first one that is left; the middle is never touched.

Rows whose end is not known, as in a count window, are not in the queue: negative tuples end them.

Invariant: read from the front, the ends never decrease. Expiry costs a constant a row that leaves.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.state.rows_in_pieces import RowsInPieces
from windrow.units import FOREVER

_SMALL = 512  # rows up to which a basic window takes in the next insert


class FifoOfBasicWindows(RowsInPieces):
    """For weakest patterns, and for count windows."""

    def __init__(self) -> None:
        super().__init__()
        self._windows: deque[Int64s] = deque()  # slots

    def _inserted(self, slots: Int64s) -> None:
        slots = slots[self._arena.exp[slots] != FOREVER]
        if not len(slots):
            return
        ends = self._arena.exp[slots]
        assert bool((ends[1:] >= ends[:-1]).all()), "ends come in order"
        if self._windows:
            last = self._windows[-1]
            assert ends[0] >= self._arena.exp[last[-1]], "ends come in order"
            if len(last) < _SMALL:
                slots = np.concatenate([self._windows.pop(), slots])
        self._windows.append(slots)

    def _ended(self, time: int) -> Int64s:
        gone = [np.zeros(0, np.int64)]
        while self._windows:
            window = self._windows.popleft()
            ends = self._arena.exp[window]
            count = int(np.searchsorted(ends, time, side="right"))
            gone.append(window[:count])
            if count < len(window):
                self._windows.appendleft(window[count:])
                break
        return np.concatenate(gone)

    def _unfile(self, slots: Int64s) -> None:
        left = (window[~np.isin(window, slots)] for window in self._windows)
        self._windows = deque(window for window in left if len(window))
