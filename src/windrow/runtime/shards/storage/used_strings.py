"""Which strings of a shard's dictionary its state can still refer to.

Rows say by their columns' types which of their numbers are codes. Arrays of operators do not, so every 32-bit word of
theirs that could be a code counts as one. A string that is kept for nothing does no harm, and there are at most as many
as there are different numbers in the state; a string that is used is never missed.
"""

from __future__ import annotations

import numpy as np

from windrow.batch import Batch
from windrow.batch.arrays import Array, Bools
from windrow.runtime.shards.storage.bundles import piece_content
from windrow.state.snapshot import Piece


class UsedStrings:
    def __init__(self, codes: int) -> None:
        self.codes: Bools = np.zeros(codes, np.bool_)

    def see_piece(self, piece: Piece) -> None:
        for array in piece.arrays.values():
            self._see_words(np.ascontiguousarray(array).view(np.uint8).reshape(-1))
        if piece.rows is not None:
            self._see_rows(piece.rows)

    def see_anything(self, value: object) -> None:
        """What is pickled: all its arrays, also where one stands in the middle of something else."""
        for part in piece_content(value):
            content = np.frombuffer(part, np.uint8)
            for place in range(4):
                self._see_words(content[place:])

    def _see_rows(self, rows: Batch) -> None:
        for column in rows.columns:
            if column.is_coded:
                self._see(column.values)

    def _see_words(self, content: Array) -> None:
        """A code is written as four bytes, or as eight of which the upper four are zero."""
        self._see(content[: len(content) // 4 * 4].view(np.int32))

    def _see(self, codes: Array) -> None:
        self.codes[codes[(codes >= 0) & (codes < len(self.codes))]] = True
