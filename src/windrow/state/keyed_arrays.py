"""Arrays indexed by the id of a key: counters and accumulators, written as one piece."""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Array, Int64s, grown
from windrow.state.snapshot import OnePiece, Piece, copied


class KeyedArrays(OnePiece):
    """Named arrays of one length; entries are zero until they are set."""

    def __init__(self, **dtypes: type[np.generic]) -> None:
        self._arrays: dict[str, Array] = {name: np.zeros(0, dtype) for name, dtype in dtypes.items()}

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __setitem__(self, name: str, array: Array) -> None:
        """Put an array of another shape in place of one, as long as the others."""
        self._arrays[name] = array

    def reserve(self, length: int) -> None:
        """Room for ids below `length`; called once a step, before anything is changed."""
        self._changes += 1
        for name, array in self._arrays.items():
            self._arrays[name] = grown(array, length)

    def clear(self, ids: Int64s) -> None:
        """Back to zero."""
        self._changes += 1
        for array in self._arrays.values():
            array[ids] = 0

    def _piece(self) -> Piece:
        return Piece(copied(self._arrays))

    def _read(self, piece: Piece) -> None:
        self._arrays = copied(piece.arrays)
