"""Ranks within a stated error: of the sorted values of a slice, one in the middle of every block is kept.

The n values of a slice, in order, are cut into blocks of s = max(1, ⌊2εn⌋); of a block of m values the one at place
⌊(m-1)/2⌋ is kept, and stands for all m. So the number of values up to any x is off by at most s/2 ≤ εn, for only one
block lies on both sides of x. Slices add up: in a window of N values it is off by at most εN, and so is the rank of the
element at position ⌈φN⌉ of the kept ones. Keeps 1/ε values of a slice at most, of a large one half of that;
one with fewer different values as it is.

Unlike sketches that compact what they have kept again (KLL, and the classic quantile sketch), it tosses no coins and
does not depend on an order of merging, and a slice can be taken away again: what is kept of it is a multiset.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from windrow.aggregates.sketches.slice_counters import CutCounters, SliceCounters
from windrow.batch.arrays import Int64s
from windrow.batch.compiled import compiled


@dataclass(frozen=True)
class RankBlocks:
    error: Fraction

    def __call__(self, counters: SliceCounters) -> CutCounters:
        weights = _weights(counters.count, counters.firsts, 2 * self.error.numerator, self.error.denominator)
        places = np.flatnonzero(weights)
        return CutCounters(places, weights[places], np.zeros(len(places), np.int64), None)


@compiled
def _weights(count: Int64s, firsts: Int64s, numerator: int, denominator: int) -> Int64s:
    """For how many values each counter is kept: those of the blocks whose middle it is."""
    weights = np.zeros(len(count), np.int64)
    for slice in range(len(firsts)):
        first = firsts[slice]
        last = firsts[slice + 1] if slice + 1 < len(firsts) else len(count)
        total = 0
        for i in range(first, last):
            total += count[i]
        size = max(1, numerator * total // denominator)
        if last - first <= -(-total // size):
            weights[first:last] = count[first:last]
            continue
        begin, before = 0, 0  # of the block, and how many values lie before counter i
        for i in range(first, last):
            upto = before + count[i]
            while begin < total:
                length = min(size, total - begin)
                if begin + (length - 1) // 2 >= upto:
                    break
                weights[i] += length
                begin += length
            before = upto
    return weights
