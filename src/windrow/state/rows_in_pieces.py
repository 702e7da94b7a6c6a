"""What all structures share: an arena, its pieces, probing and scanning. They differ in `_ended`, and what it needs."""

from __future__ import annotations

from collections.abc import Container, Mapping

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch
from windrow.state.arena import RowArena
from windrow.state.snapshot import Piece, Snapshot
from windrow.state.structure import Kept, Matches

SEALED_AT = 4096  # rows after which a piece is left alone


class RowsInPieces:
    """Rows under keys; subclasses say which rows have ended."""

    def __init__(self) -> None:
        self._arena = RowArena()
        self._open_piece = 0
        self._open_rows = 0
        self._versions: dict[int, int] = {0: 0}
        self._negatives = 0  # negative tuples that have not met their partners

    def __len__(self) -> int:
        return len(self._arena)

    def insert(self, keys: Int64s, rows: Batch) -> None:
        if not len(rows):
            return
        if self._open_rows >= SEALED_AT:
            self._open_piece = max(self._versions) + 1
            self._open_rows = 0
            self._versions[self._open_piece] = 0
        slots = self._arena.insert(keys, rows, self._open_piece)
        self._open_rows += len(rows)
        self._versions[self._open_piece] += 1
        self._negatives += int(np.count_nonzero(rows.sign < 0))
        self._inserted(slots)

    def expire_until(self, time: int) -> Kept:
        ended = self._ended(time)
        cancelled = self._cancelled()
        cancelled = cancelled[self._arena.exp[cancelled] > time]
        if len(cancelled):
            self._unfile(cancelled)
            for piece in np.unique(self._arena.piece[cancelled]):
                self._versions[int(piece)] += 1
        slots = np.concatenate([ended, cancelled])
        kept = Kept(self._arena.key[slots], self._arena.take(slots))
        self._negatives -= int(np.count_nonzero(kept.rows.sign < 0))
        self._arena.remove(slots)
        return kept

    def probe(self, keys: Int64s, ts: Int64s, exp: Int64s) -> Matches:
        positions, slots = self._arena.probe(keys, ts, exp)
        return Matches(positions, self._arena.take(slots))

    def scan(self) -> Kept:
        slots = self._arena.slots()
        return Kept(self._arena.key[slots], self._arena.take(slots))

    def snapshot(self, known: Container[str]) -> Snapshot:
        slots = self._arena.slots()
        order = np.argsort(self._arena.piece[slots], kind="stable")
        numbers, starts = np.unique(self._arena.piece[slots][order], return_index=True)
        names = [f"{number}.{self._versions[int(number)]}" for number in numbers]
        ends = [*starts[1:], len(slots)]
        pieces = {
            name: self._piece(slots[order[start:end]])
            for name, start, end in zip(names, starts, ends, strict=True)
            if name not in known
        }
        return Snapshot(tuple(names), pieces)

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        for name, piece in pieces.items():
            number, version = (int(part) for part in name.split("."))
            assert piece.rows is not None
            slots = self._arena.insert(piece.arrays["keys"], piece.rows, number)
            self._versions[number] = version
            self._open_piece, self._open_rows = number, len(piece.rows)
            self._negatives += int(np.count_nonzero(piece.rows.sign < 0))
            self._inserted(slots)

    def _piece(self, slots: Int64s) -> Piece:
        return Piece({"keys": self._arena.key[slots]}, self._arena.take(slots))

    def _inserted(self, slots: Int64s) -> None:
        """Rows have come in: file them by their ends."""

    def _ended(self, time: int) -> Int64s:
        """The slots whose rows end at `time` or before, taken out of where they were filed."""
        raise NotImplementedError

    def _unfile(self, slots: Int64s) -> None:
        """Rows leave before their ends: take them out of where they were filed."""

    def _cancelled(self) -> Int64s:
        """Pairs that sum to nothing from now on; looked for only when they may be half of what is kept."""
        if 4 * self._negatives <= len(self) or self._negatives == 0:
            return np.zeros(0, np.int64)
        return self._arena.cancelling()
