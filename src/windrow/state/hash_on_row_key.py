"""Rows that are taken back by negative tuples: a hash table on the row itself (thesis 2.3.3 and 3.5.2).

By its row, key and end a negative tuple finds the tuple that it takes back; both leave at the next
`expire_until`. Rows that end by the clock as well are found by a scan, made only when the smallest end has come: this
structure is for edges on which most rows are taken back.

Invariant: after `expire_until`, tuples of the same row and end have the same sign. Everything but the scan costs a
constant a row.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Int8s, Int64s, grown
from windrow.batch.compiled import compiled
from windrow.batch.key_table import KeyTable
from windrow.batch.words import words_of
from windrow.state.rows_in_pieces import RowsInPieces
from windrow.units import FOREVER

_NONE = -1


class HashOnRowKey(RowsInPieces):
    """For strict patterns, and for everything under the negative tuple approach."""

    def __init__(self) -> None:
        super().__init__()
        self._table = KeyTable()
        self._row: Int64s = np.zeros(0, np.int64)  # the id of the row in each slot
        self._heads: Int64s = np.zeros(0, np.int64)  # by row id: slot + 1 of the first tuple, 0 for none
        self._next: Int64s = np.zeros(0, np.int64)
        self._previous: Int64s = np.zeros(0, np.int64)
        self._unsettled: list[Int64s] = []
        self._met: Int64s = np.zeros(0, np.int64)  # slots that have met their partners and wait to leave
        self._first_end = int(FOREVER)

    def _inserted(self, slots: Int64s) -> None:
        rows = self._arena.take(slots)
        ids = self._table.intern(words_of(rows.columns, len(rows), rows.exp, self._arena.key[slots]))
        self._row = grown(self._row, len(self._arena.ts))
        self._next = grown(self._next, len(self._arena.ts))
        self._previous = grown(self._previous, len(self._arena.ts))
        self._row[slots] = ids
        self._heads = grown(self._heads, self._table.capacity)
        self._unsettled.append(slots)
        self._first_end = min(self._first_end, int(rows.exp.min()))

    def _ended(self, time: int) -> Int64s:
        self._settle()
        if self._first_end > time:
            return np.zeros(0, np.int64)
        arena = self._arena
        slots = arena.slots()
        over = arena.exp[slots] <= time
        ended, left = slots[over], slots[~over]
        self._first_end = int(arena.exp[left].min()) if len(left) else int(FOREVER)
        self._leave(ended)
        return ended

    def _cancelled(self) -> Int64s:
        met, self._met = self._met, np.zeros(0, np.int64)
        self._forget(self._row[met])
        return met

    def _forgotten(self, slots: Int64s) -> None:
        assert not self._unsettled, "forget comes after expire_until"
        self._leave(slots)

    def _settle(self) -> None:
        """Let new tuples meet the ones they take back; those that met are out of the chains."""
        slots = np.concatenate([np.zeros(0, np.int64), *self._unsettled])
        self._unsettled = []
        met = np.empty(2 * len(slots), np.int64)
        count = _meet(slots, self._row, self._arena.sign, self._heads, self._next, self._previous, met)
        self._met = met[:count]

    def _leave(self, slots: Int64s) -> None:
        slots = slots[~np.isin(slots, self._met)]
        _unchain(slots, self._row, self._heads, self._next, self._previous)
        self._forget(self._row[slots])

    def _forget(self, rows: Int64s) -> None:
        """Rows without a tuple in their chains."""
        self._table.forget(rows[self._heads[rows] == 0])


@compiled
def _meet(
    slots: Int64s, row: Int64s, sign: Int8s, heads: Int64s, following: Int64s, previous: Int64s, met: Int64s
) -> int:
    count = 0
    for slot in slots:
        head = heads[row[slot]] - 1
        if head != _NONE and sign[head] != sign[slot]:
            heads[row[slot]] = following[head] + 1
            if following[head] != _NONE:
                previous[following[head]] = _NONE
            met[count], met[count + 1] = head, slot
            count += 2
            continue
        following[slot] = head
        previous[slot] = _NONE
        if head != _NONE:
            previous[head] = slot
        heads[row[slot]] = slot + 1
    return count


@compiled
def _unchain(slots: Int64s, row: Int64s, heads: Int64s, following: Int64s, previous: Int64s) -> None:
    # As in `calendar_queue`, `chains`: one function for all, called for each slot, costs 3 to 5 times as much.
    for slot in slots:
        after, before = following[slot], previous[slot]
        if after != _NONE:
            previous[after] = before
        if before != _NONE:
            following[before] = after
        else:
            heads[row[slot]] = after + 1
