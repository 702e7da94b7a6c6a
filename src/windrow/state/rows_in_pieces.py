"""What all structures share: an arena, its pieces, probing and scanning. They differ in `_ended`, and what it needs.

A piece is written once: rows of it that have ended since come back when it is read, and go at once, because the
manifest also tells the time up to which rows had been removed. That is the clock, a piece without rows; it also counts
changes, so that no name of a piece is ever given twice.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch
from windrow.state.arena import RowArena
from windrow.state.snapshot import Piece, Snapshot
from windrow.state.structure import KeyedRows, Matches

SEALED_AT = 4096  # rows after which a piece is left alone
_CLOCK = "clock"
_NEVER = -(2**63)


class RowsInPieces:
    """Rows under keys; subclasses say which rows have ended."""

    def __init__(self) -> None:
        self._arena = RowArena()
        self._open_piece = 0
        self._open_rows = 0
        self._changes = 0
        self._versions: dict[int, int] = {0: 0}  # by piece: the change that made it what it is
        self._expired_until = _NEVER
        self._negatives = 0  # negative tuples that have not met their partners

    def __len__(self) -> int:
        return len(self._arena)

    def insert(self, keys: Int64s, rows: Batch) -> None:
        if not len(rows):
            return
        if self._open_rows >= SEALED_AT:
            self._open_piece += 1
            self._open_rows = 0
        slots = self._arena.insert(keys, rows, self._open_piece)
        self._open_rows += len(rows)
        self._changed(self._open_piece)
        self._negatives += int(np.count_nonzero(rows.sign < 0))
        self._inserted(slots)

    def expire_until(self, time: int) -> KeyedRows:
        slots = self._leaving(time)
        kept = KeyedRows(self._arena.key[slots], self._arena.take(slots))
        self._arena.remove(slots)
        return kept

    def drop_until(self, time: int) -> None:
        self._arena.remove(self._leaving(time))

    def _leaving(self, time: int) -> Int64s:
        """The slots of rows that have ended, or cancel each other; nothing else knows them any more."""
        self._expired_until = time
        ended = self._ended(time)
        cancelled = self._cancelled()
        cancelled = cancelled[self._arena.exp[cancelled] > time]
        if len(cancelled):
            self._unfile(cancelled)
            for piece in np.unique(self._arena.piece[cancelled]):
                self._changed(int(piece))
        slots = np.concatenate([ended, cancelled]) if len(cancelled) else ended
        if self._negatives:
            self._negatives -= int(np.count_nonzero(self._arena.sign[slots] < 0))
        return slots

    def forget(self, keys: Int64s) -> KeyedRows:
        always = np.full(len(keys), _NEVER, np.int64), np.full(len(keys), 2**63 - 1, np.int64)
        slots = self._arena.probe(keys, *always).places
        self._forgotten(slots)
        for piece in np.unique(self._arena.piece[slots]):
            self._changed(int(piece))
        kept = KeyedRows(self._arena.key[slots], self._arena.take(slots))
        self._negatives -= int(np.count_nonzero(kept.rows.sign < 0))
        self._arena.remove(slots)
        return kept

    def probe(self, keys: Int64s, ts: Int64s, exp: Int64s) -> Matches:
        found = self._arena.probe(keys, ts, exp)
        rows = self._arena.take(found.places).with_lifetimes(found.begins, found.ends)
        return Matches(found.positions, rows)

    def scan(self) -> KeyedRows:
        slots = self._arena.slots()
        return KeyedRows(self._arena.key[slots], self._arena.take(slots))

    def keys(self) -> Int64s:
        return self._arena.key[self._arena.slots()]

    def snapshot(self, known: Container[str]) -> Snapshot:
        slots = self._arena.slots()
        # By end within a piece, so that a queue finds its rows in order again.
        order = np.lexsort((self._arena.exp[slots], self._arena.piece[slots]))
        numbers, starts = np.unique(self._arena.piece[slots][order], return_index=True)
        names = [f"{number}.{self._versions[int(number)]}" for number in numbers]
        ends = np.append(starts[1:], len(slots))[: len(numbers)]
        pieces = {
            name: self._piece(slots[order[start:end]])
            for name, start, end in zip(names, starts, ends, strict=True)
            if name not in known
        }
        clock = f"{_CLOCK}.{self._changes}.{self._expired_until}.{self._open_piece}"
        if clock not in known:
            pieces[clock] = Piece({})
        names.append(clock)
        return Snapshot(tuple(names), pieces)

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        for name, piece in pieces.items():
            if name.startswith(_CLOCK):
                self._changes, until, self._open_piece = (int(part) for part in name.split(".")[1:])
                self.drop_until(until)
                continue
            number, version = (int(part) for part in name.split("."))
            assert piece.rows is not None
            slots = self._arena.insert(piece.arrays["keys"], piece.rows, number)
            self._versions[number] = version
            self._open_rows = len(piece.rows)
            self._negatives += int(np.count_nonzero(piece.rows.sign < 0))
            self._inserted(slots)

    def _changed(self, piece: int) -> None:
        self._changes += 1
        self._versions[piece] = self._changes

    def _piece(self, slots: Int64s) -> Piece:
        return Piece({"keys": self._arena.key[slots]}, self._arena.take(slots))

    def _inserted(self, slots: Int64s) -> None:
        """Rows have come in: file them by their ends."""

    def _ended(self, time: int) -> Int64s:
        """The slots whose rows end at `time` or before, taken out of where they were filed."""
        raise NotImplementedError

    def _unfile(self, slots: Int64s) -> None:
        """Rows leave before their ends: take them out of where they were filed."""

    def _forgotten(self, slots: Int64s) -> None:
        """Rows are forgotten: take them out of where they were filed."""
        self._unfile(slots)

    def _cancelled(self) -> Int64s:
        """Pairs that sum to nothing from now on; looked for only when they may be half of what is kept."""
        if 4 * self._negatives <= len(self) or self._negatives == 0:
            return np.zeros(0, np.int64)
        return self._arena.cancelling()
