"""Rows that end at known times, in any order: a calendar queue partitioned by end (thesis 3.5.2, figure 3.6).

The partitions are a ring; a partition holds the rows whose end falls into its days, of this year or of a later one, as
a linked list through the slots. Expiry walks the partitions that time has passed, and looks once more into the one it
stopped in. The number of partitions follows the number of rows, and their width the spread of the ends, so that a
partition holds a few dozen rows; when either has changed by a factor of four, all rows are filed anew.

Rows that never end are in no partition. Inserting costs a constant a row; expiry a constant a row that leaves and a
partition that is passed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Int64s, grown
from windrow.batch.compiled import compiled
from windrow.state.rows_in_pieces import RowsInPieces
from windrow.units import FOREVER

_NONE = -1
_FEWEST = 16
_ROWS_IN_A_PARTITION = 32


class _Days(NamedTuple):
    """What is collected: rows of these days that end by a time."""

    first: int
    last: int
    until: int


class CalendarQueue(RowsInPieces):
    """For weak patterns."""

    def __init__(self) -> None:
        super().__init__()
        self._partitions: Int64s = np.full(_FEWEST, _NONE, np.int64)  # the first slot of each
        self._width = 1
        self._day = 0  # all days before this one are over
        self._filed = 0  # rows in partitions
        self._next: Int64s = np.zeros(0, np.int64)
        self._previous: Int64s = np.zeros(0, np.int64)

    @property
    def partitions(self) -> int:
        return len(self._partitions)

    def _inserted(self, slots: Int64s) -> None:
        ending = slots[self._arena.exp[slots] != FOREVER]
        if not len(ending):
            return
        self._next = grown(self._next, len(self._arena.ts))
        self._previous = grown(self._previous, len(self._arena.ts))
        self._filed += len(ending)
        if self._filed > 4 * _ROWS_IN_A_PARTITION * self.partitions or self._filed == len(ending):
            self._file_anew()
        else:
            self._day = min(self._day, int(self._arena.exp[ending].min()) // self._width)
            self._file(ending)

    def _ended(self, time: int) -> Int64s:
        if not self._filed:
            return np.zeros(0, np.int64)
        last_day = time // self._width
        if last_day - self._day > 4 * self.partitions:
            # Time has jumped over more than the calendar holds: what is left is spread differently.
            gone = self._filed_slots()
            gone = gone[self._arena.exp[gone] <= time]
            _take_out(gone, self._arena.exp, self._width, self._partitions, self._next, self._previous)
        else:
            found = np.empty(self._filed, np.int64)
            days = _Days(self._day, last_day, time)
            count = _collect(days, self._arena.exp, self._partitions, self._next, self._previous, found)
            gone = found[:count]
        self._day = max(self._day, last_day)
        self._filed -= len(gone)
        if self.partitions > _FEWEST and 4 * self._filed < _ROWS_IN_A_PARTITION * self.partitions:
            self._file_anew(without=gone)
        return gone

    def _unfile(self, slots: Int64s) -> None:
        filed = slots[self._arena.exp[slots] != FOREVER]
        _take_out(filed, self._arena.exp, self._width, self._partitions, self._next, self._previous)
        self._filed -= len(filed)

    def _filed_slots(self) -> Int64s:
        found = np.empty(self._filed, np.int64)
        _list_all(self._partitions, self._next, found)
        return found

    def _file(self, slots: Int64s) -> None:
        _file(slots, self._arena.exp, self._width, self._partitions, self._next, self._previous)

    def _file_anew(self, without: Int64s | None = None) -> None:
        slots = self._arena.slots()
        slots = slots[self._arena.exp[slots] != FOREVER]
        if without is not None:
            slots = slots[~np.isin(slots, without)]
        self._filed = len(slots)
        ends = self._arena.exp[slots]
        count = max(_FEWEST, 1 << (len(slots) // _ROWS_IN_A_PARTITION).bit_length())
        self._partitions = np.full(count, _NONE, np.int64)
        if len(slots):
            first, last = int(ends.min()), int(ends.max())
            self._width = max(1, -(-(last - first) // count))
            self._day = first // self._width
            self._file(slots)


@compiled
def _file(slots: Int64s, exp: Int64s, width: int, partitions: Int64s, following: Int64s, previous: Int64s) -> None:
    mask = len(partitions) - 1
    for slot in slots:
        place = (exp[slot] // width) & mask
        head = partitions[place]
        following[slot] = head
        previous[slot] = _NONE
        if head != _NONE:
            previous[head] = slot
        partitions[place] = slot


@compiled
def _take_out(slots: Int64s, exp: Int64s, width: int, partitions: Int64s, following: Int64s, previous: Int64s) -> None:
    # As in `hash_on_row_key`, `chains`: one function for all, called for each slot, costs 3 to 5 times as much.
    mask = len(partitions) - 1
    for slot in slots:
        after, before = following[slot], previous[slot]
        if after != _NONE:
            previous[after] = before
        if before != _NONE:
            following[before] = after
        else:
            partitions[(exp[slot] // width) & mask] = after


@compiled
def _collect(days: _Days, exp: Int64s, partitions: Int64s, following: Int64s, previous: Int64s, found: Int64s) -> int:
    # Slots are taken out here as in `_take_out`: calling a function for each would cost three times as much.
    mask = len(partitions) - 1
    count = 0
    for day in range(days.first, days.last + 1):
        slot = partitions[day & mask]
        while slot != _NONE:
            after = following[slot]
            if exp[slot] <= days.until:
                before = previous[slot]
                if after != _NONE:
                    previous[after] = before
                if before != _NONE:
                    following[before] = after
                else:
                    partitions[day & mask] = after
                found[count] = slot
                count += 1
            slot = after
    return count


@compiled
def _list_all(partitions: Int64s, following: Int64s, found: Int64s) -> None:
    count = 0
    for head in partitions:
        slot = head
        while slot != _NONE:
            found[count] = slot
            count += 1
            slot = following[slot]
