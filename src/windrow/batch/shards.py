"""Shards: rows with equal keys belong to the same one, whichever process asks.

The hash is of values, not of dictionary codes, which differ from process to process. Rows that grouping calls equal
have equal hashes (`words`): null with null, NaN with NaN, -0.0 with 0.0, integers of any width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from windrow.batch.arrays import Bools, Int64s, UInt64s
from windrow.batch.batch import Batch
from windrow.batch.column import Column
from windrow.batch.words import words_of
from windrow.types import BIGINT

_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True)
class Shard:
    number: int
    count: int


ONLY_SHARD = Shard(0, 1)


@dataclass(frozen=True)
class OwnShare:
    """A predicate: the rows that belong to a shard."""

    keys: tuple[Callable[[Batch], Column], ...]
    shard: Shard

    def __call__(self, rows: Batch) -> Bools:
        columns = [key(rows) for key in self.keys]
        return np.asarray(shard_of(columns, len(rows), self.shard.count) == self.shard.number)


def shard_of(keys: Sequence[Column], length: int, count: int) -> Int64s:
    """The shard of each of `length` rows; the first one when there are no keys."""
    if count == 1 or not keys:
        return np.zeros(length, np.int64)
    return np.asarray(hashes_of(keys, length) % np.uint64(count), np.int64)


def hashes_of(keys: Sequence[Column], length: int) -> UInt64s:
    """A hash of each row, the same in every process."""
    words = words_of([_by_value(column) for column in keys], length)
    mixed = np.zeros(length, np.uint64)
    for place in range(words.shape[1]):
        mixed = _mixed(mixed ^ words[:, place])
    return mixed


def _by_value(column: Column) -> Column:
    """Strings as hashes of their bytes."""
    if not column.is_coded or column.dictionary is None or not len(column.dictionary):
        return column
    hashes = column.dictionary.hashes()[column.values].view(np.int64)
    if column.valid is not None:
        hashes[~column.valid] = 0  # the code under a null stands for some other string
    return Column(BIGINT, hashes, column.valid)


def _mixed(words: UInt64s) -> UInt64s:
    """Every bit of the input moves every bit of the output (splitmix64)."""
    with np.errstate(over="ignore"):
        words = words + _ODD
        words = (words ^ (words >> np.uint64(30))) * _MIX[0]
        words = (words ^ (words >> np.uint64(27))) * _MIX[1]
    return np.asarray(words ^ (words >> np.uint64(31)))
