"""Random numbers by counter: the n-th number of a stream is a hash of n, so any of them can be had without the others.

The hash is the output function of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
2014); the use of counters is that of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.

Distributions are tables, built once and looked up: a table is the same array however many numbers are drawn, whereas
NumPy's exp, log and sin may differ in the last bit between arrays of different lengths and between processors.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from windrow.batch.arrays import Array, Floats, Int64s, UInt64s

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_TABLE_BITS = 14
_ENTITIES = np.int64(1 << 40)  # room for the lattice of each walker in one stream of counters


@dataclass(frozen=True)
class CounterRandom:
    """One stream of random words; its key is a seed or made from one."""

    key: int

    def named(self, name: str) -> CounterRandom:
        """A stream of its own for one purpose."""
        digest = hashlib.blake2b(f"{self.key}/{name}".encode(), digest_size=8).digest()
        return CounterRandom(int.from_bytes(digest, "little"))

    def bits(self, counters: Int64s) -> UInt64s:
        """64 random bits for each counter."""
        words = counters.astype(np.uint64)
        words *= _GOLDEN
        words += np.uint64(self.key)
        words ^= words >> np.uint64(30)
        words *= _FIRST
        words ^= words >> np.uint64(27)
        words *= _SECOND
        words ^= words >> np.uint64(31)
        return words

    def uniform(self, counters: Int64s) -> Floats:
        """In [0, 1)."""
        return (self.bits(counters) >> np.uint64(11)) * 2.0**-53  # type: ignore[no-any-return]

    def below(self, counters: Int64s, limit: int) -> Int64s:
        """Whole numbers in [0, limit), for limits up to 2**32."""
        high = self.bits(counters) >> np.uint64(32)
        return (high * np.uint64(limit) >> np.uint64(32)).view(np.int64)  # type: ignore[no-any-return]

    def happens(self, counters: Int64s, probability: float) -> Array:
        return self.bits(counters) < np.uint64(probability * 2.0**64)  # type: ignore[no-any-return]

    def drawn(self, counters: Int64s, quantiles: Array) -> Array:
        """Values of a distribution given as a table of quantiles (below)."""
        return quantiles[(self.bits(counters) >> np.uint64(64 - _TABLE_BITS)).view(np.int64)]  # type: ignore[no-any-return]

    def picked(self, counters: Int64s, cumulative: Floats) -> Int64s:
        """Positions, each as likely as its step in `cumulative`, whose last value is 1."""
        return np.searchsorted(cumulative, self.uniform(counters), side="right")

    def walked(self, walkers: Int64s, moments: Floats, octaves: int) -> Floats:
        """Where each walker stands at its moment: a walk that can be entered anywhere.

        Straight lines between random points 1, 2, 4, ... apart, added up with amplitudes that grow by √2: over
        moments up to 2**octaves apart it wanders like a random walk, and it never leaves ±(√2**octaves / 0.41).
        """
        total = np.zeros(len(moments))
        for octave in range(octaves):
            scaled = moments * 0.5**octave
            whole = np.floor(scaled)
            before = self._lattice(walkers, whole.astype(np.int64), octave)
            after = self._lattice(walkers, whole.astype(np.int64) + 1, octave)
            total += (before + (after - before) * (scaled - whole)) * 2.0 ** (octave / 2)
        return total

    def _lattice(self, walkers: Int64s, points: Int64s, octave: int) -> Floats:
        counters = walkers * _ENTITIES + points * np.int64(64) + np.int64(octave)
        return self.uniform(counters) * 2.0 - 1.0


def zipf(count: int) -> Floats:
    """The cumulative shares of `count` ranks, the r-th being 1/r as popular as the first."""
    return shares(1.0 / np.arange(1, count + 1))


def shares(weights: Floats) -> Floats:
    """Cumulative shares of things with these weights."""
    cumulative = np.cumsum(weights)
    return cumulative / cumulative[-1]  # type: ignore[no-any-return]


def _middles() -> Floats:
    return (np.arange(1 << _TABLE_BITS) + 0.5) / (1 << _TABLE_BITS)


@cache
def pareto(exponent: float) -> Floats:
    """Quantiles of a Pareto distribution whose smallest value is 1: the smaller the exponent, the heavier the tail."""
    return (1.0 - _middles()) ** (-1.0 / exponent)


@cache
def lognormal(sigma: float) -> Floats:
    """Quantiles of a lognormal distribution whose median is 1."""
    return np.exp(sigma * _normal())


@cache
def _normal() -> Floats:
    return np.array([NormalDist().inv_cdf(middle) for middle in _middles()])
