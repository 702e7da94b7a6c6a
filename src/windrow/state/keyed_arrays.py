"""Arrays indexed by the id of a key: counters and accumulators, written as one piece."""

from __future__ import annotations

from collections.abc import Container, Mapping

import numpy as np

from windrow.batch.arrays import Array, Int64s, grown
from windrow.state.snapshot import Piece, Snapshot


class KeyedArrays:
    """Named arrays of one length; entries are zero until they are set."""

    def __init__(self, **dtypes: type[np.generic]) -> None:
        self._arrays: dict[str, Array] = {name: np.zeros(0, dtype) for name, dtype in dtypes.items()}
        self._steps = 0

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __setitem__(self, name: str, array: Array) -> None:
        """Put an array of another shape in place of one, as long as the others."""
        self._arrays[name] = array

    def reserve(self, length: int) -> None:
        """Room for ids below `length`; called once a step, before anything is changed."""
        self._steps += 1
        for name, array in self._arrays.items():
            self._arrays[name] = grown(array, length)

    def clear(self, ids: Int64s) -> None:
        """Back to zero."""
        self._steps += 1
        for array in self._arrays.values():
            array[ids] = 0

    def snapshot(self, known: Container[str]) -> Snapshot:
        name = str(self._steps)
        if name in known:
            return Snapshot((name,))
        return Snapshot((name,), {name: Piece({key: array.copy() for key, array in self._arrays.items()})})

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        for name, piece in pieces.items():
            self._arrays = {key: array.copy() for key, array in piece.arrays.items()}
            self._steps = int(name)
