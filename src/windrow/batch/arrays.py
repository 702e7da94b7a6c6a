"""Names for the arrays that kernels work on, and how they grow."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from windrow.units import FOREVER

Array: TypeAlias = NDArray[Any]
Bools: TypeAlias = NDArray[np.bool_]
Int8s: TypeAlias = NDArray[np.int8]
Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]
UInt64s: TypeAlias = NDArray[np.uint64]
Floats: TypeAlias = NDArray[np.float64]

_LONG = 1 << 18

Some = TypeVar("Some", bound=NDArray[Any])


def grown(array: Some, length: int) -> Some:
    """`array` when it is long enough, else a copy at least twice as long with zeros at the end.

    A long one gets four times as long: memory that is not used yet costs nothing, what is copied has to be paid twice.
    """
    if length <= len(array):
        return array
    factor = 2 if len(array) < _LONG else 4
    longer = np.zeros((max(length, factor * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer  # type: ignore[return-value]


def is_same_memory(one: Array, other: Array) -> bool:
    """Whether two arrays are one, or views of one from the same place on."""
    return one is other or (
        one.base is not None
        and one.base is other.base
        and one.dtype == other.dtype
        and len(one) == len(other)
        and one.ctypes.data == other.ctypes.data
    )


def ranges(starts: Int64s, counts: Int64s) -> Int64s:
    """The numbers start, start + 1, ... (count of them) for each pair, in one array."""
    ends = np.cumsum(counts)
    if not len(ends):
        return np.zeros(0, np.int64)
    return np.arange(ends[-1]) + np.repeat(starts - ends + counts, counts)


_ONES: Int8s = np.ones(0, np.int8)


def ones(length: int) -> Int8s:
    """Signs of positive tuples: the beginning of one array that all share, so nobody may write into it."""
    global _ONES
    if length > len(_ONES):
        _ONES = np.ones(max(length, 1 << 20), np.int8)
    return _ONES[:length]


_FOREVERS: Int64s = np.full(0, FOREVER, np.int64)


def forevers(length: int) -> Int64s:
    """Ends that are not known: shared as the signs of positive tuples are."""
    global _FOREVERS
    if length > len(_FOREVERS):
        _FOREVERS = np.full(max(length, 1 << 18), FOREVER, np.int64)
    return _FOREVERS[:length]


def are_shared_forevers(ends: Int64s) -> bool:
    """Whether ends are of `forevers`; others may be FOREVER all the same."""
    return ends.base is _FOREVERS


def are_ones(signs: Int8s) -> bool:
    """Whether signs are all 1; known without a look at those of `ones`."""
    return signs.base is _ONES or not len(signs) or int(signs.min()) > 0
