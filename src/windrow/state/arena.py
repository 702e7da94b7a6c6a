"""Rows in slots: the store under every structure but the FIFO, which then differ only in how rows end.

A row takes a slot when it is inserted and gives it back when it is removed. Rows with the same key hang in one doubly
linked chain, so that a probe touches only rows that match; the chains are built at the first probe, and kept from then
on. Columns, ts, exp, sign and key are arrays indexed by slot.

Every row also belongs to a *piece*, the rows that arrived in one stretch: the unit of a snapshot. A piece that lost a
row other than by its end is *torn* and has to be written again; ends need no writing, the clock removes them again.
Inserting, removing and probing cost a constant a row or match.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Bools, Int8s, Int64s, grown
from windrow.batch.batch import Batch
from windrow.batch.compiled import compiled
from windrow.batch.key_table import KeyTable
from windrow.batch.words import words_of
from windrow.state.chains import EXP, KEY, TS, Chains, Probe, ProbedPairs, link, overlapping, unlink
from windrow.state.stored_columns import StoredColumns

_SMALLEST = 64
_FIELDS = 5  # of a row, see `chains`


class RowArena:
    """Slots of rows; `alive` marks those in use."""

    def __init__(self) -> None:
        self._columns = StoredColumns()
        self._rows: Int64s = np.zeros((_SMALLEST, _FIELDS), np.int64)
        self.sign: Int8s = np.zeros(_SMALLEST, np.int8)
        self.piece: Int64s = np.zeros(_SMALLEST, np.int64)
        self.alive: Bools = np.zeros(_SMALLEST, np.bool_)
        self._free: Int64s = np.zeros(_SMALLEST, np.int64)
        self._free_count = 0
        self._used = 0  # slots ever taken
        self._heads: Int64s | None = None  # from the first probe on

    def __len__(self) -> int:
        return self._used - self._free_count

    @property
    def ts(self) -> Int64s:
        return self._rows[:, TS]

    @property
    def exp(self) -> Int64s:
        return self._rows[:, EXP]

    @property
    def key(self) -> Int64s:
        return self._rows[:, KEY]

    @property
    def used(self) -> int:
        """All slots are below this."""
        return self._used

    def insert(self, keys: Int64s, rows: Batch, piece: int) -> Int64s:
        """Put rows into slots; the slots they took."""
        slots = self._take_slots(len(rows))
        self._columns.put(slots, rows.columns, len(self._rows))
        self.ts[slots] = rows.ts
        self.exp[slots] = rows.exp
        self.sign[slots] = rows.sign
        self.key[slots] = keys
        self.piece[slots] = piece
        self.alive[slots] = True
        if self._heads is not None:
            self._link(slots)
        return slots

    def remove(self, slots: Int64s) -> None:
        """Give slots back; what they held stays readable until the next insert."""
        if self._heads is not None:
            unlink(slots, self._rows, self._heads)
        self.alive[slots] = False
        self._free[self._free_count : self._free_count + len(slots)] = slots
        self._free_count += len(slots)

    def take(self, slots: Int64s) -> Batch:
        return Batch(self._columns.take(slots), self.ts[slots], self.exp[slots], self.sign[slots])

    def slots(self) -> Int64s:
        """All slots in use."""
        return np.flatnonzero(self.alive[: self._used])

    def probe(self, keys: Int64s, ts: Int64s, exp: Int64s) -> ProbedPairs:
        """Pairs with equal keys and lifetimes that overlap."""
        if self._heads is None:
            self._heads = np.zeros(_SMALLEST, np.int64)
            self._link(self.slots())
        return overlapping(Probe(keys, ts, exp), Chains(self._heads, self._rows))

    def cancelling(self) -> Int64s:
        """Slots of rows that sum to nothing from now on: same key, row and end, opposite signs. Scans all."""
        slots = self.slots()
        rows = self.take(slots)
        ids = KeyTable().intern(words_of(rows.columns, len(rows), rows.exp, self.key[slots]))
        order = np.argsort(ids, kind="stable")
        return slots[order][_opposites(ids[order], rows.sign[order])]

    def _take_slots(self, count: int) -> Int64s:
        again = min(count, self._free_count)
        self._free_count -= again
        fresh = np.arange(self._used, self._used + count - again)
        self._used += count - again
        self._grow(self._used)
        return np.concatenate([self._free[self._free_count : self._free_count + again], fresh])

    def _grow(self, length: int) -> None:
        if length <= len(self._rows):
            return
        for name in ("_rows", "sign", "piece", "alive", "_free"):
            setattr(self, name, grown(getattr(self, name), length))

    def _link(self, slots: Int64s) -> None:
        if len(slots):
            assert self._heads is not None
            self._heads = grown(self._heads, int(self.key[slots].max()) + 1)
            link(slots, self._rows, self._heads)


@compiled
def _opposites(ids: Int64s, sign: Int8s) -> Bools:
    """In runs of equal ids, mark as many of one sign as there are of the other."""
    marked = np.zeros(len(ids), np.bool_)
    start = 0
    while start < len(ids):
        end, positive = start, 0
        while end < len(ids) and ids[end] == ids[start]:
            positive += sign[end] > 0
            end += 1
        left = right = min(positive, end - start - positive)
        for i in range(start, end):
            if sign[i] > 0 and left > 0:
                marked[i] = True
                left -= 1
            elif sign[i] < 0 and right > 0:
                marked[i] = True
                right -= 1
        start = end
    return marked
