"""Arrays indexed by the id of a key: counters and accumulators, written by the blocks that have changed."""

from __future__ import annotations

import numpy as np

from windrow.batch.array_blocks import entries_of, fingerprints
from windrow.batch.arrays import Array, Int64s, UInt64s, grown
from windrow.state.changed_places import PLACES, ChangedPlaces
from windrow.state.snapshot import Piece, copied

_LENGTHS = "lengths."


class KeyedArrays(ChangedPlaces):
    """Named arrays, as a rule of one length; entries are zero until they are set."""

    def __init__(self, **dtypes: type[np.generic]) -> None:
        super().__init__()
        self._arrays: dict[str, Array] = {name: np.zeros(0, dtype) for name, dtype in dtypes.items()}
        self._is_changed = False
        self._seen: UInt64s = np.zeros(0, np.uint64)  # fingerprints of blocks when they were asked for last
        self._lengths: list[int] = []  # of the arrays at that time

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __setitem__(self, name: str, array: Array) -> None:
        """Put an array in place of one."""
        before = self._arrays.get(name)
        if before is None or _shape(before) != _shape(array):
            self._stored = []  # what has another shape cannot be put into it
        self._arrays[name], self._is_changed = array, True

    def reserve(self, length: int) -> None:
        """Room for ids below `length`; called once a step, before anything is changed."""
        self._is_changed = True
        for name, array in self._arrays.items():
            self._arrays[name] = grown(array, length)

    def clear(self, ids: Int64s) -> None:
        """Back to zero."""
        self._is_changed = True
        for array in self._arrays.values():
            array[ids] = 0

    def _changed(self) -> Int64s:
        if not self._is_changed:
            return np.zeros(0, np.int64)
        before, self._seen = self._seen, fingerprints(self._arrays.values())
        self._is_changed = False
        changed = self._seen.copy()
        changed[: len(before)] ^= before[: len(changed)]
        lengths, self._lengths = self._lengths, [len(array) for array in self._arrays.values()]
        if len(changed) and lengths != self._lengths:
            changed[-1] = 1  # or else nobody would know how long the arrays are
        return np.flatnonzero(changed)

    def _used(self) -> Int64s:
        return (
            np.union1d(np.flatnonzero(self._seen), [len(self._seen) - 1]) if len(self._seen) else np.zeros(0, np.int64)
        )

    def _piece(self, places: Int64s) -> Piece:
        parts = {name: array[entries_of(places, len(array))] for name, array in self._arrays.items()}
        return Piece({PLACES: places, _LENGTHS: np.array(self._lengths, np.int64), **parts})

    def _read(self, piece: Piece) -> Int64s:
        self._is_changed = True
        if PLACES not in piece.arrays:  # all of them, as earlier versions wrote it
            self._arrays = copied(piece.arrays)
            return np.flatnonzero(fingerprints(self._arrays.values()))
        places, lengths, *parts = piece.arrays.values()
        names = list(piece.arrays)[2:]
        for name, part, length in zip(names, parts, lengths.tolist(), strict=True):
            array = self._arrays.get(name)
            if array is None or _shape(array) != _shape(part):
                array = part[:0]
            longer = np.zeros((max(length, len(array)), *part.shape[1:]), part.dtype)
            longer[: len(array)] = array
            longer[entries_of(places, length)] = part
            self._arrays[name] = longer
        return places


def _shape(array: Array) -> tuple[object, ...]:
    """Of an entry."""
    return (array.dtype, *array.shape[1:])
