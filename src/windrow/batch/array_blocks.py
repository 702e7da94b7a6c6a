"""Arrays in blocks of entries, and fingerprints by which it is seen which blocks have changed.

A fingerprint is zero for a block of zeros, and another one whenever a single word of its block is; that two contents
which differ in more have the same is as likely as that a guess of 64 bits is right. Costs one pass over memory.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from windrow.batch.arrays import Array, Int64s, UInt64s, ranges
from windrow.batch.compiled import compiled

BLOCK = 16  # entries: a block of anything is a whole number of words


def fingerprints(arrays: Collection[Array]) -> UInt64s:
    """Of every block; one for the same block of all arrays, of which some may be shorter."""
    found = np.zeros(-(-max(map(len, arrays), default=0) // BLOCK), np.uint64)
    for array in arrays:
        whole, rest = divmod(len(array), BLOCK)
        _mix(_words(array[: whole * BLOCK], whole), found[:whole])
        if rest:
            last = np.zeros((BLOCK, *array.shape[1:]), array.dtype)
            last[:rest] = array[whole * BLOCK :]
            _mix(_words(last, 1), found[whole : whole + 1])
    return found


def entries_of(blocks: Int64s, length: int) -> Int64s:
    """The places of entries in blocks of an array; the last ones may be beyond its end."""
    starts = blocks[blocks * BLOCK < length] * BLOCK
    return ranges(starts, np.minimum(BLOCK, length - starts))


def _words(array: Array, blocks: int) -> UInt64s:
    content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return content.view(np.uint64).reshape(blocks, -1) if len(content) else np.zeros((blocks, 0), np.uint64)


@compiled
def _mix(words: UInt64s, found: UInt64s) -> None:
    for block in range(len(found)):
        code = found[block]
        for i in range(words.shape[1]):
            code = (code ^ words[block, i]) * np.uint64(0xBF58476D1CE4E5B9)
            code ^= code >> np.uint64(29)
        found[block] = code
